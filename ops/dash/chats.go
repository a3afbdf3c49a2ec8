package dash

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
)

// chatsData is the data of the page of chats: a chat, or the chats of a member.
type chatsData struct {
	Chat, Member string // what was asked for
	Missing      string // why there is none
	Info         *group.Info
	Members      []ChatMember
	More         Value // members that are not listed
	Backlog      uint64
	Chats        []group.Membership
	Why          string // no member can be dropped
}

// A ChatMember is a member of a chat, with the id of the question whether to drop it.
type ChatMember struct {
	group.Member
	ID   string
	Lost Value // messages that it has missed
	When Stamp // it was seen last
}

// membersShown is the number of members that the page lists, those with most unread messages.
const membersShown = 200

// chatsPage is the page of a chat with its members, or of the chats of a member. There is no list
// of all chats: they are found by their ids and by their members.
func chatsPage(p *page) error {
	get := func(name string) string { return strings.TrimSpace(p.request.FormValue(name)) }
	data := chatsData{Chat: get("chat"), Member: get("member"), Why: p.WhyNot(string(access.Admin), access.All)}
	p.Title = words.T("chats.title")
	chats := group.NewClient(p.dash.db)
	var err error
	switch {
	case data.Chat != "":
		p.Title = words.T("chats.title_of", data.Chat)
		err = readChat(p, chats, &data)
	case data.Member != "":
		if data.Chats, err = chats.Unread(p.ctx(), data.Member); err == nil {
			slices.SortStableFunc(data.Chats, func(a, b group.Membership) int { return cmp.Compare(b.Unread, a.Unread) })
			for _, in := range data.Chats {
				p.recorder.row("chats", in.Chat)
			}
		}
	}
	var wrong *chat.InvalidError
	switch {
	case errors.Is(err, chat.ErrNoChat):
		data.Missing = words.T("chats.no_chat")
	case errors.As(err, &wrong):
		data.Missing = wrong.Error()
	case err != nil:
		return err
	}
	p.Data = data
	return nil
}

// readChat reads a chat and its members, those with most unread messages first.
func readChat(p *page, chats *group.Client, data *chatsData) error {
	info, err := chats.Info(p.ctx(), data.Chat)
	if err != nil {
		return err
	}
	members, err := chats.Members(p.ctx(), data.Chat)
	if err != nil {
		return err
	}
	slices.SortStableFunc(members, func(a, b group.Member) int { return cmp.Compare(b.Unread, a.Unread) })
	data.Info = &info
	for i, member := range members {
		data.Backlog = max(data.Backlog, member.Unread)
		if i < membersShown {
			data.Members = append(data.Members, ChatMember{member, "drop-" + words.Text(i), p.Bad("missed "+member.Name, member.Missed, member.Missed > 0), p.LiveTime("seen "+member.Name, p.Ago(member.Seen, p.Now()))})
			p.recorder.row("members", "member "+member.Name)
		}
	}
	data.More = p.Val("more", "")
	if more := len(members) - len(data.Members); more > 0 {
		data.More = p.Val("more", words.T("chats.more", more))
	}
	return nil
}

// dropMember is the action that ends the membership of a member for whom a chat keeps messages.
func dropMember(p *page) (string, message, error) {
	id, member := p.request.PostForm.Get("chat"), p.request.PostForm.Get("member")
	to := "/chats?" + url.Values{"chat": {id}}.Encode()
	chats := group.NewClient(p.dash.db)
	if _, err := chats.Pending(p.ctx(), id, member, 0, 1); err != nil { // for the client, dropping one who is no member is no error
		return to, message{}, err
	}
	err := p.audited("drop member", access.All, id+" "+member, 1, func() error { return chats.Leave(p.ctx(), id, member) })
	return to, done("chats.did_drop", member), err
}
