package chat

import (
	"context"
	"slices"
)

// A HistoryPage says which messages of a history to give. The zero value means
// the newest.
type HistoryPage struct {
	Before uint64 // only messages before this id; zero: no such bound
	After  uint64 // only messages after this id, from the first of them on
	Oldest bool   // from the oldest message that is kept on, where After is zero
	Limit  int    // at most [MaxMessages]; zero means [DefaultMessages]
}

// History gives a page of what both have sent, oldest first, read or not. It
// changes nothing. The first id of a page is the Before of the page before it,
// the last one the After of the next. A page of big messages is shorter (it
// ends soon after 64 KiB), and only an empty one says that there is nothing
// more.
func (c *Conversation) History(ctx context.Context, me, peer string, which HistoryPage) (ConversationPage, error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return ConversationPage{}, err
	}
	end, before := "newest", uint64(lastExact)
	if which.Oldest || which.After > 0 {
		end = "oldest"
	}
	if which.Before > 0 {
		before = which.Before
	}
	a, err := c.run(ctx, conversationHistoryScript, me, peer, end, idText(which.After), idText(before), pageLimit(which.Limit))
	if err != nil {
		return ConversationPage{}, orEmpty(err)
	}
	page := conversationPage(me, peer, a, 2)
	if end == "newest" {
		slices.Reverse(page.Messages)
	}
	return page, nil
}
