package distribute

import (
	"embed"

	"skidway/internal/rdb"
)

//go:embed lua
var lua embed.FS

// All scripts of this room can be repeated: each checks who asks, and for what
// shipment or claim, before it changes anything.
var (
	nowScript         = script("now", "ask for the time")
	subscribeScript   = script("subscribe", "subscribe to the channel")
	unsubscribeScript = script("unsubscribe", "remove the subscriber")
	beginScript       = script("begin", "register the shipper")
	beatScript        = script("beat", "renew the shipper's lease")
	endScript         = script("end", "end the shipper")
	admitScript       = script("admit", "admit the file")
	completeScript    = script("complete", "complete the upload")
	abandonScript     = script("abandon", "abandon the upload")
	settleScript      = script("settle", "settle the file")
	freeScript        = script("free", "free the file's segments")
	forgetScript      = script("forget", "forget an old file")
	claimScript       = script("claim", "claim a file")
	renewScript       = script("renew", "renew the claims")
	releaseScript     = script("release", "release the claim")
	stageScript       = script("stage", "stage counts")
	sealScript        = script("seal", "seal the counts")
	foldScript        = script("fold", "fold sealed counts into the totals")
)

func script(file, does string) *rdb.Script {
	text, err := lua.ReadFile("lua/" + file + ".lua")
	if err != nil {
		panic(err) // the file is compiled in: only a wrong name above comes here
	}
	return rdb.NewIdempotentScript(does, string(text))
}
