package chat

import (
	_ "embed"

	"skidway/internal/rdb"
)

var (
	//go:embed lua/mailbox.lua
	mailboxSource string // put before the others: what they share
	//go:embed lua/mailbox_send.lua
	mailboxSendSource string
	//go:embed lua/mailbox_visit.lua
	mailboxVisitSource string
	//go:embed lua/mailbox_ack.lua
	mailboxAckSource string
	//go:embed lua/mailbox_status.lua
	mailboxStatusSource string
	//go:embed lua/mailbox_info.lua
	mailboxInfoSource string
	//go:embed lua/mailbox_limit.lua
	mailboxLimitSource string
	//go:embed lua/mailbox_keep.lua
	mailboxKeepSource string
	//go:embed lua/mailbox_delete.lua
	mailboxDeleteSource string
)

var (
	withMailbox = valuesSource + logSource + mailboxSource

	mailboxSendScript   = newScript(rdb.NewScript, "send a message", withMailbox+mailboxSendSource)
	mailboxVisitScript  = newScript(rdb.NewIdempotentScript, "look into the mailbox", withMailbox+mailboxVisitSource)
	mailboxAckScript    = newScript(rdb.NewIdempotentScript, "acknowledge messages", withMailbox+mailboxAckSource)
	mailboxTakeScript   = newScript(rdb.NewScript, "take messages", withMailbox+mailboxAckSource)
	mailboxStatusScript = newScript(rdb.NewIdempotentScript, "look for the message", withMailbox+mailboxStatusSource)
	mailboxInfoScript   = newScript(rdb.NewIdempotentScript, "read the mailbox", withMailbox+mailboxInfoSource)
	mailboxLimitScript  = newScript(rdb.NewIdempotentScript, "limit the mailbox", withMailbox+mailboxLimitSource)
	mailboxKeepScript   = newScript(rdb.NewIdempotentScript, "drop messages", withMailbox+mailboxKeepSource)
	mailboxDeleteScript = newScript(rdb.NewIdempotentScript, "delete the mailbox", withMailbox+mailboxDeleteSource)
)
