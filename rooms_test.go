package skidway_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms lists what each package may import of ours, beside the root, whose DB is
// in public signatures, internal/rdb and internal/handle. A package that is not listed may not
// exist. (It is text, because gofmt would align a map anew at each change.)
const rooms = `
skidway:
internal/rdb: internal/hyperloglog
internal/handle:
internal/doctor:
internal/redistest:
internal/browsertest:
internal/processtest: internal/redistest
internal/samplelog:
internal/filter:
internal/hyperloglog:
internal/escape:
internal/yamltext:
internal/pinned:
internal/look:
internal/chart:
queue:
delayed: queue
workers/stats: queue
workers: queue delayed workers/stats
workers/workerstest: workers queue delayed
workers/kinds: queue workers/kinds/command workers/kinds/email workers/kinds/logs workers/kinds/request workers/kinds/internal/fields
workers/kinds/command: queue workers workers/kinds/internal/fields
workers/kinds/email: queue workers workers/kinds/internal/fields
workers/kinds/internal/fields: queue workers
workers/kinds/logs: queue workers workers/kinds/internal/fields distribute distribute/stream distribute/accesslog distribute/geo distribute/cuts
workers/kinds/request: queue workers workers/kinds/internal/fields
workers/metrics: workers queue
workers/otel: workers queue
distribute/chat:
distribute/chat/group: distribute/chat distribute/chat/internal/store
distribute/chat/mailbox: distribute/chat distribute/chat/internal/store
distribute/chat/conversation: distribute/chat distribute/chat/internal/store
distribute/chat/room: distribute/chat distribute/chat/internal/store
distribute/chat/internal/store: distribute/chat
distribute/chat/internal/chattest: distribute/chat internal/redistest
distribute/internal/reserved:
distribute/accesslog: distribute/internal/reserved distribute/accesslog/formats distribute/accesslog/wrappers distribute/accesslog/internal/lex
distribute/accesslog/formats:
distribute/accesslog/wrappers: distribute/accesslog/internal/lex
distribute/accesslog/internal/lex:
distribute/accesslog/agents:
distribute/accesslog/agents/generate: internal/pinned
distribute/worldmap:
distribute/worldmap/generate: internal/pinned
distribute/geo: distribute/internal/reserved
distribute/geo/generate: internal/pinned
distribute/stream/inflate:
distribute/stream: distribute/stream/inflate
distribute/s3: distribute/stream
distribute: internal/hyperloglog distribute/cuts distribute/stream distribute/chat distribute/chat/group distribute/accesslog distribute/accesslog/agents distribute/geo
distribute/cuts: internal/filter internal/hyperloglog distribute/accesslog distribute/accesslog/agents distribute/geo
distribute/htmlreport: distribute distribute/cuts distribute/worldmap distribute/accesslog/agents internal/look internal/chart internal/escape
ops/access: internal/yamltext queue
ops/api: internal/escape ops ops/access queue delayed workers/stats distribute distribute/cuts distribute/chat distribute/chat/group
ops: internal/doctor internal/filter internal/yamltext queue delayed workers workers/stats distribute distribute/cuts distribute/geo
ops/dash: internal/escape internal/filter internal/look ops ops/access ops/dash/internal/chart ops/dash/internal/stream ops/dash/internal/words queue delayed workers/stats distribute distribute/chat distribute/chat/group distribute/cuts distribute/worldmap
ops/dash/internal/chart: internal/chart ops/dash/internal/words
ops/dash/internal/stream:
ops/dash/internal/words:
cmd/skidway: internal/doctor cmd/skidway/internal/cli cmd/skidway/internal/jobs cmd/skidway/internal/worker cmd/skidway/internal/logs cmd/skidway/internal/messages cmd/skidway/internal/serve cmd/skidway/internal/bench distribute/geo distribute workers
cmd/skidway/internal/cli: internal/escape ops ops/access queue distribute distribute/accesslog distribute/chat distribute/stream
cmd/skidway/internal/jobs: internal/doctor cmd/skidway/internal/cli cmd/skidway/internal/telemetry ops ops/access ops/api queue delayed workers workers/stats workers/kinds cmd/skidway/internal/remote
cmd/skidway/internal/remote: cmd/skidway/internal/cli ops ops/api queue workers/stats
cmd/skidway/internal/telemetry: cmd/skidway/internal/cli queue workers workers/otel
cmd/skidway/internal/worker: internal/yamltext cmd/skidway/internal/cli cmd/skidway/internal/telemetry cmd/skidway/internal/jobs cmd/skidway/internal/serve ops queue delayed workers workers/stats workers/kinds workers/kinds/command workers/kinds/email workers/kinds/logs workers/kinds/request workers/metrics distribute distribute/geo
cmd/skidway/internal/logs: cmd/skidway/internal/cli distribute distribute/htmlreport distribute/s3 distribute/stream distribute/accesslog distribute/geo internal/samplelog distribute/cuts
cmd/skidway/internal/messages: cmd/skidway/internal/cli distribute/chat distribute/chat/group distribute/chat/mailbox distribute/chat/conversation distribute/chat/room
cmd/skidway/internal/serve: cmd/skidway/internal/cli cmd/skidway/internal/telemetry distribute internal/samplelog ops ops/access ops/dash queue delayed workers ops/api workers/metrics
cmd/skidway/internal/bench: cmd/skidway/internal/cli queue workers workers/otel workers/stats distribute distribute/chat distribute/chat/group distribute/chat/mailbox distribute/chat/conversation distribute/chat/room internal/samplelog
scripts/benchcompare:
scripts/mutate:
`

// onlyInTests may be imported by tests of any room, beside what the room may
// import.
var onlyInTests = []string{"skidway", "skidway/queue", "skidway/workers/stats", "skidway/ops", "skidway/ops/access", "skidway/ops/dash", "skidway/workers/workerstest", "skidway/distribute/chat", "skidway/distribute/chat/group", "skidway/distribute/chat/mailbox", "skidway/distribute/chat/conversation", "skidway/distribute/chat/room", "skidway/distribute/chat/internal/chattest", "skidway/distribute/accesslog/formats", "skidway/internal/redistest", "skidway/internal/browsertest", "skidway/internal/processtest", "skidway/internal/samplelog"}

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	table := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(rooms)) {
		room, imports, _ := strings.Cut(line, ":")
		table[ourPath(room)] = []string{"skidway/internal/rdb", "skidway", "skidway/internal/handle"}
		for _, name := range strings.Fields(imports) {
			table[ourPath(room)] = append(table[ourPath(room)], ourPath(name))
		}
	}
	for _, p := range listPackages(t) {
		allowed, listed := table[p.ImportPath]
		if !listed {
			t.Errorf("%s is no room of this house: add it to the table, with what it may import", p.ImportPath)
			continue
		}
		allowed = append(allowed, p.ImportPath)
		refuse(t, p.ImportPath, p.Imports, allowed)
		inTests := append(allowed, onlyInTests...)
		refuse(t, p.ImportPath+" (tests)", append(p.TestImports, p.XTestImports...), inTests)
	}
}

// ourPath returns the import path of a room of the table.
func ourPath(room string) string {
	if room == "skidway" {
		return room
	}
	return "skidway/" + room
}

func refuse(t *testing.T, room string, imports, allowed []string) {
	t.Helper()
	for _, path := range imports {
		ours := path == "skidway" || strings.HasPrefix(path, "skidway/")
		if ours && !slices.Contains(allowed, path) {
			t.Errorf("%s may not import %s", room, path)
		}
	}
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	output, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
