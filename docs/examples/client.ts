// Adds jobs over the HTTP API of Skidway, and retries dead ones. It needs Node.js only, from
// version 22.18 on, or Deno or Bun; older releases of Node.js run it without its types.
//
//     client.ts run QUEUE KIND ARGS      adds a job, waits for its end and prints the result
//     client.ts retry QUEUE MATCH        lists the dead jobs that match, and retries them
//
// SKIDWAY_SERVER is the address of "skidway serve", SKIDWAY_TOKEN a token with the scopes
// view, enqueue and operate.

import { randomUUID } from "node:crypto";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const server = process.env.SKIDWAY_SERVER ?? "http://127.0.0.1:8470";
const tries = 5;

interface Job {
  id: string;
  state: string;
  outcome?: string;
  reason?: string;
  result?: unknown;
  errors: { error: string }[];
}

interface List<T> {
  items: T[];
  next?: string;
}

interface Operation {
  id: string;
  status: string;
  changed: number;
}

/** A problem that the server has answered with, as in RFC 9457. */
class Problem extends Error {
  status: number;
  kind: string;

  constructor(status: number, answer: { type?: string; title?: string; detail?: string }) {
    super(`${answer.title}: ${answer.detail}`);
    this.status = status;
    this.kind = (answer.type ?? "").split(":").at(-1) ?? "";
  }
}

interface Options {
  body?: unknown;
  query?: Record<string, string>;
  key?: string;
}

/**
 * Sends a request and returns the answer. A request that changes something is repeated only with
 * a key, because the change may have happened although its answer was lost.
 */
async function call<T>(method: string, path: string, { body, query, key }: Options = {}): Promise<T> {
  const address = `${server}/api/v1${path}${query ? `?${new URLSearchParams(query)}` : ""}`;
  const headers: Record<string, string> = { Authorization: `Bearer ${process.env.SKIDWAY_TOKEN}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  for (let attempt = 1; ; attempt++) {
    const last = attempt === tries || !(key || method === "GET");
    let pause = 100 * 2 ** attempt;
    try {
      const response = await fetch(address, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(90_000) });
      const answer = await response.json();
      if (response.ok) return answer as T;
      const after = response.headers.get("Retry-After");
      if (last || after === null) throw new Problem(response.status, answer);
      pause = 1000 * Number(after);
    } catch (error) {
      if (last || error instanceof Problem) throw error; // else there is no answer
    }
    await sleep(pause);
  }
}

/** Adds a job and returns its id. Its result is kept if the option retain is a time. */
async function enqueue(queue: string, kind: string, args: unknown, options: Record<string, unknown> = {}): Promise<string> {
  const added = await call<{ id: string }>("POST", `/queues/${encodeURIComponent(queue)}/jobs`, { body: { kind, args, ...options }, key: randomUUID() });
  return added.id;
}

/** Returns the job when it has ended. */
async function wait(id: string): Promise<Job> {
  for (;;) {
    const job = await call<Job>("GET", `/jobs/${encodeURIComponent(id)}`, { query: { wait: "60s" } });
    if (job.state === "finished" || job.state === "dead") return job;
  }
}

/** Yields the jobs of a queue, from all pages of the list. */
async function* jobs(queue: string, query: Record<string, string>): AsyncGenerator<Job> {
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: List<Job> = await call("GET", `/queues/${encodeURIComponent(queue)}/jobs`, { query: cursor ? { ...query, cursor } : query });
    yield* page.items;
    cursor = page.next || undefined;
  }
}

/** Retries the dead jobs that match now, and returns how many were retried. */
async function retry(queue: string, match: string): Promise<number> {
  const path = `/queues/${encodeURIComponent(queue)}/operations`;
  const change = { action: "retry", state: "dead", match };
  const { count, at_least, as_of } = await call<Record<string, unknown>>("POST", path, { body: { ...change, dry_run: true } });
  let operation = await call<Operation>("POST", path, { body: { ...change, count, at_least, as_of }, key: randomUUID() });
  while (operation.status === "running") {
    await sleep(200);
    operation = await call<Operation>("GET", `/operations/${encodeURIComponent(operation.id)}`);
  }
  return operation.changed;
}

const [command, queue, ...rest] = process.argv.slice(2);
try {
  if (command === "run") {
    const job = await wait(await enqueue(queue, rest[0], JSON.parse(rest[1]), { retain: "1h" }));
    console.log(job.outcome, JSON.stringify(job.result ?? null));
  } else if (command === "retry") {
    for await (const job of jobs(queue, { state: "dead", match: rest[0] })) {
      console.log(job.id, job.errors.at(-1)?.error ?? job.reason);
    }
    console.log("retried", await retry(queue, rest[0]));
  } else {
    throw new Error("give run or retry, and a queue");
  }
} catch (error) {
  console.error(error instanceof Problem ? `${error.kind}: ${error.message}` : error);
  process.exitCode = 1;
}
