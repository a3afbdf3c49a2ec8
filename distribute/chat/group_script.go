package chat

import (
	_ "embed"

	"skidway/internal/rdb"
)

var (
	//go:embed lua/group_limits.lua
	groupLimitsSource string
	//go:embed lua/group.lua
	groupSource string // these two are put before the others: what they share
	//go:embed lua/group_pending.lua
	groupPendingSource string
	//go:embed lua/group_create.lua
	groupCreateSource string
	//go:embed lua/group_join.lua
	groupJoinSource string
	//go:embed lua/group_leave.lua
	groupLeaveSource string
	//go:embed lua/group_send.lua
	groupSendSource string
	//go:embed lua/group_cursor.lua
	groupCursorSource string
	//go:embed lua/group_ack.lua
	groupAckSource string
	//go:embed lua/group_members.lua
	groupMembersSource string
	//go:embed lua/group_info.lua
	groupInfoSource string
	//go:embed lua/group_limit.lua
	groupLimitSource string
	//go:embed lua/group_delete.lua
	groupDeleteSource string
)

var (
	withGroup = valuesSource + logSource + groupLimitsSource + groupSource

	groupCreateScript  = newScript(rdb.NewIdempotentScript, "create the chat", withGroup+groupCreateSource)
	groupJoinScript    = newScript(rdb.NewIdempotentScript, "join", withGroup+groupJoinSource)
	groupLeaveScript   = newScript(rdb.NewIdempotentScript, "leave", withGroup+groupLeaveSource)
	groupSendScript    = newScript(rdb.NewScript, "send a message", withGroup+groupSendSource)
	groupCursorScript  = newScript(rdb.NewIdempotentScript, "read the cursor", withGroup+groupCursorSource)
	groupPendingScript = newScript(rdb.NewIdempotentScript, "read pending messages", withGroup+groupPendingSource)
	groupAckScript     = newScript(rdb.NewIdempotentScript, "acknowledge messages", withGroup+groupAckSource)
	groupMembersScript = newScript(rdb.NewIdempotentScript, "list the members", withGroup+groupMembersSource)
	groupInfoScript    = newScript(rdb.NewIdempotentScript, "read the chat", withGroup+groupInfoSource)
	groupLimitScript   = newScript(rdb.NewIdempotentScript, "limit the chat", withGroup+groupLimitSource)
	groupDeleteScript  = newScript(rdb.NewIdempotentScript, "delete the chat", withGroup+groupDeleteSource)
)
