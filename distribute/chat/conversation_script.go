package chat

import (
	_ "embed"

	"skidway/internal/rdb"
)

var (
	//go:embed lua/conversation.lua
	conversationSource string // put before the others: what they share
	//go:embed lua/conversation_send.lua
	conversationSendSource string
	//go:embed lua/conversation_read.lua
	conversationReadSource string
	//go:embed lua/conversation_peek.lua
	conversationPeekSource string
	//go:embed lua/conversation_ack.lua
	conversationAckSource string
	//go:embed lua/conversation_history.lua
	conversationHistorySource string
	//go:embed lua/conversation_look.lua
	conversationLookSource string
	//go:embed lua/conversation_present.lua
	conversationPresentSource string
	//go:embed lua/conversation_delete.lua
	conversationDeleteSource string
)

var (
	withConversation = valuesSource + logSource + conversationSource

	conversationSendScript    = newScript(rdb.NewScript, "send a message", withConversation+conversationSendSource)
	conversationReadScript    = newScript(rdb.NewIdempotentScript, "read messages", withConversation+conversationReadSource)
	conversationPeekScript    = newScript(rdb.NewIdempotentScript, "read unread messages", withConversation+conversationPeekSource)
	conversationAckScript     = newScript(rdb.NewIdempotentScript, "acknowledge messages", withConversation+conversationAckSource)
	conversationHistoryScript = newScript(rdb.NewIdempotentScript, "read the history", withConversation+conversationHistorySource)
	conversationLookScript    = newScript(rdb.NewIdempotentScript, "look at the conversation", withConversation+conversationLookSource)
	conversationPresentScript = newScript(rdb.NewIdempotentScript, "note who is present", withConversation+conversationPresentSource)
	conversationDeleteScript  = newScript(rdb.NewIdempotentScript, "delete the conversation", withConversation+conversationDeleteSource)
)
