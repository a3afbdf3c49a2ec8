"""Adds jobs over the HTTP API of Skidway, and retries dead ones. It needs Python only.

    client.py run QUEUE KIND ARGS      adds a job, waits for its end and prints the result
    client.py retry QUEUE MATCH        lists the dead jobs that match, and retries them

SKIDWAY_SERVER is the address of "skidway serve", SKIDWAY_TOKEN a token with the scopes
view, enqueue and operate.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

SERVER = os.environ.get("SKIDWAY_SERVER", "http://127.0.0.1:8470")
TRIES = 5


class Problem(Exception):
    """A problem that the server has answered with, as in RFC 9457."""

    def __init__(self, status, answer):
        super().__init__(f"{answer.get('title')}: {answer.get('detail')}")
        self.status = status
        self.name = answer.get("type", "").rpartition(":")[2]
        self.answer = answer


def call(method, path, body=None, query=None, key=None):
    """Sends a request and returns the answer. A request that changes something is repeated
    only with a key, because the change may have happened although its answer was lost."""
    address = SERVER + "/api/v1" + path
    if query:
        address += "?" + urllib.parse.urlencode(query)
    headers = {"Authorization": "Bearer " + os.environ["SKIDWAY_TOKEN"]}
    data = None
    if body is not None:
        data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    if key:
        headers["Idempotency-Key"] = key
    for attempt in range(1, TRIES + 1):
        pause = 0.1 * 2**attempt
        try:
            request = urllib.request.Request(address, data, headers, method=method)
            with urllib.request.urlopen(request, timeout=90) as response:
                return json.load(response)
        except urllib.error.HTTPError as answer:
            problem = Problem(answer.code, json.load(answer))
            if attempt == TRIES or "Retry-After" not in answer.headers or not (key or method == "GET"):
                raise problem from None
            pause = float(answer.headers["Retry-After"])
        except OSError:  # there is no answer
            if attempt == TRIES or not (key or method == "GET"):
                raise
        time.sleep(pause)


def segment(text):
    return urllib.parse.quote(text, safe="")


def enqueue(queue, kind, args, **options):
    """Adds a job and returns its id. Its result is kept if the option retain is a time."""
    body = {"kind": kind, "args": args, **options}
    return call("POST", f"/queues/{segment(queue)}/jobs", body, key=str(uuid.uuid4()))["id"]


def wait(job):
    """Returns the job when it has ended."""
    while True:
        found = call("GET", f"/jobs/{segment(job)}", query={"wait": "60s"})
        if found["state"] in ("finished", "dead"):
            return found


def jobs(queue, **query):
    """Yields the jobs of a queue, from all pages of the list."""
    while True:
        page = call("GET", f"/queues/{segment(queue)}/jobs", query=query)
        yield from page["items"]
        if not page.get("next"):
            return
        query["cursor"] = page["next"]


def retry(queue, match):
    """Retries the dead jobs that match now, and returns how many were retried."""
    path, change = f"/queues/{segment(queue)}/operations", {"action": "retry", "state": "dead", "match": match}
    asked = call("POST", path, {**change, "dry_run": True})
    change.update({name: asked[name] for name in ("count", "at_least", "as_of") if name in asked})
    operation = call("POST", path, change, key=str(uuid.uuid4()))
    while operation["status"] == "running":
        time.sleep(0.2)
        operation = call("GET", f"/operations/{segment(operation['id'])}")
    return operation["changed"]


def main(command, queue, *rest):
    if command == "run":
        kind, args = rest
        job = wait(enqueue(queue, kind, json.loads(args), retain="1h"))
        print(job["outcome"], json.dumps(job.get("result")))
    elif command == "retry":
        for job in jobs(queue, state="dead", match=rest[0]):
            print(job["id"], job["errors"][-1]["error"] if job["errors"] else job.get("reason"))
        print("retried", retry(queue, rest[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Problem as problem:
        sys.exit(f"{problem.name}: {problem}")
