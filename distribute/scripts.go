package distribute

import (
	"embed"

	"skidway/distribute/cuts"
	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

var scripts = rdb.LoadScripts("distribute", luaFiles, nil, nil)

// All scripts of this package can be repeated: each checks the caller's token and
// the shipment or claim before it changes anything. Each is declared with its
// file, its purpose for errors, and the keys that it receives.
var (
	nowScript         = newScript("now", "ask for the time", "channel")
	subscribeScript   = newScript("subscribe", "subscribe to the channel", "subscribers", "subscriber", "removed", "wake")
	unsubscribeScript = newScript("unsubscribe", "remove the subscriber", "channel", "subscribers", "subscriber", "claims", "owners", "removed", "wake")
	discardScript     = newScript("discard", "delete what a removed or reset subscriber left", "removed", "file")
	removedScript     = newScript("removed", "note that a removal or reset is complete", "removed")
	resetScript       = newScript("reset", "reset the subscriber", "channel", "subscribers", "subscriber", "claims", "owners", "removed", "open", "wake")
	beginScript       = newScript("begin", "register the shipper", "channel", "shippers", "leases", "wake")
	beatScript        = newScript("beat", "renew the shipper's lease", "leases", "uploads", "file", "channel")
	endScript         = newScript("end", "end the shipper", "channel", "shippers", "leases", "line", "wake")
	admitScript       = newScript("admit", "admit the file", "channel", "open", "line", "leases", "heads", "files", "file", "abandoned", "uploads", "held", "reserves", "spent")
	bookScript        = newScript("book", "book a segment", "channel", "open", "line", "leases", "file", "file wake", "held", "reserves", "spent")
	trimScript        = newScript("trim", "free the first segments", "channel", "held", "file", "subscribers", "wake")
	completeScript    = newScript("complete", "complete the upload", "file", "file wake", "uploads", "subscribers", "spent", "reserves")
	abandonScript     = newScript("abandon", "abandon the upload", "file", "file wake", "abandoned", "wake", "uploads", "spent", "subscribers", "channel", "reserves")
	markDoneScript    = newScript("markdone", "mark the file as done", "file", "subscribers", "spent")
	freeScript        = newScript("free", "free the file's segments", "channel", "open", "file", "file wake", "wake", "spent", "held", "reserves")
	forgetScript      = newScript("forget", "forget an old file", "files", "heads", "file", "open", "abandoned")
	claimScript       = newScript("claim", "claim a file", "subscribers", "subscriber", "claims", "owners")
	renewScript       = newScript("renew", "renew the claims", "subscribers", "subscriber", "claims", "owners", "channel")
	releaseScript     = newScript("release", "release the claim", "claims", "owners", "staged", "wake")
	stageScript       = newScript("stage", "stage counts", "owners", "file", "staged", "days", "subscriber")
	sealScript        = newScript("seal", "seal the counts", "subscribers", "subscriber", "claims", "owners", "file",
		"staged", "sealed cells", "sealed", "files", "wake", "spent", "problems", "checkpoint")
	snapshotScript = newScript("snapshot", "begin the report", "subscribers", "subscriber", "sealed", "readers", "removed", "sources")
	foldScript     = newScript("fold", "fold sealed counts into the totals", "subscriber", "sealed", "sealed cells", "groups", "subscribers", "readers", "crowded")
	expireScript   = newScript("expire", "expire old days", "subscriber", "days", "accounts")
	dropScript     = newScript("drop", "delete the cells of old days", "subscriber", "readers", "groups", "crowded")
	mergeScript    = newScript("merge", "move the smallest cells together", "subscriber", "groups", "subscribers", "readers", "crowded")

	mergeVisitorsScript = newScript("mergevisitors", "merge sealed visitors", "subscriber", "sealed", "sealed cells", "subscribers", "readers", "visitors", "incoming")
	importScript        = newScript("import", "begin the import", "subscribers", "subscriber", "sources", "imports", "import")
	importCellsScript   = newScript("importcells", "import counts", "subscribers", "subscriber", "imports", "import groups", "import days")
	importSwitchScript  = newScript("importswitch", "complete the import", "subscribers", "subscriber", "sources", "imports")
	importDropScript    = newScript("importdrop", "delete an import", "imports")

	dropVisitorsScript = newScript("dropvisitors", "drop visitors of countries", "subscriber", "visitors")
)

// A script has the names of its keys, in the order of KEYS.
type script struct {
	*rdb.Script
	keys []string
}

func newScript(file, op string, keys ...string) script {
	return script{scripts.Idempotent(file, op, keys...), keys}
}

// A target selects the keys of one script call.
type target struct {
	subscriber string
	file       string
	shipment   int64
	sealed     string   // name of the commit whose cells are sealed
	imported   string   // name of the import
	more       []string // keys after those that the script names
}

// named returns the key with the name that scripts use.
func (k keys) named(name string, t target) string {
	subscriber := k.subscriber(t.subscriber)
	switch name {
	case "channel":
		return k.channel()
	case "file":
		if t.file == "" {
			return k.channel() // any key of the channel
		}
		return k.file(t.file)
	case "file wake":
		return k.fileWake(t.file, t.shipment)
	case "subscriber":
		return subscriber.record()
	case "readers":
		return subscriber.readers()
	case "claims", "owners", "sealed", "problems", "groups", "crowded", "days", "visitors", "sources", "imports":
		return subscriber.record() + ":" + name
	case "import":
		return k.subscriber(importName(t.subscriber, t.imported)).record()
	case "import groups":
		return k.subscriber(importName(t.subscriber, t.imported)).groups()
	case "import days":
		return k.subscriber(importName(t.subscriber, t.imported)).days()
	case "incoming":
		return subscriber.visitorsOf("incoming")
	case "accounts":
		return subscriber.totals(cuts.AccountGroup)
	case "staged":
		return subscriber.staged(t.file)
	case "checkpoint":
		return subscriber.checkpoint(t.file)
	case "sealed cells":
		return subscriber.sealedCells(t.sealed)
	}
	return k.root + ":" + name
}
