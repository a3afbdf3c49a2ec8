package chat

import (
	_ "embed"

	"skidway/internal/rdb"
)

var (
	//go:embed lua/room.lua
	roomSource string // put before the others: what they share
	//go:embed lua/room_create.lua
	roomCreateSource string
	//go:embed lua/room_enter.lua
	roomEnterSource string
	//go:embed lua/room_leave.lua
	roomLeaveSource string
	//go:embed lua/room_send.lua
	roomSendSource string
	//go:embed lua/room_read.lua
	roomReadSource string
	//go:embed lua/room_info.lua
	roomInfoSource string
	//go:embed lua/room_people.lua
	roomPeopleSource string
	//go:embed lua/room_set.lua
	roomSetSource string
	//go:embed lua/room_mute.lua
	roomMuteSource string
	//go:embed lua/room_retract.lua
	roomRetractSource string
	//go:embed lua/room_delete.lua
	roomDeleteSource string
)

var (
	withRoom = valuesSource + logSource + roomSource

	roomCreateScript  = newScript(rdb.NewIdempotentScript, "create the room", withRoom+roomCreateSource)
	roomEnterScript   = newScript(rdb.NewIdempotentScript, "enter", withRoom+roomEnterSource)
	roomLeaveScript   = newScript(rdb.NewIdempotentScript, "leave", withRoom+roomLeaveSource)
	roomSendScript    = newScript(rdb.NewScript, "send a message", withRoom+roomSendSource)
	roomReadScript    = newScript(rdb.NewIdempotentScript, "read messages", withRoom+roomReadSource)
	roomInfoScript    = newScript(rdb.NewIdempotentScript, "read the room", withRoom+roomInfoSource)
	roomPeopleScript  = newScript(rdb.NewIdempotentScript, "list the people", withRoom+roomPeopleSource)
	roomSetScript     = newScript(rdb.NewIdempotentScript, "change the room", withRoom+roomSetSource)
	roomMuteScript    = newScript(rdb.NewIdempotentScript, "mute", withRoom+roomMuteSource)
	roomRetractScript = newScript(rdb.NewIdempotentScript, "take a message back", withRoom+roomRetractSource)
	roomDeleteScript  = newScript(rdb.NewIdempotentScript, "delete the room", withRoom+roomDeleteSource)
)
