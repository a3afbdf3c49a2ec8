package distribute

import (
	"testing"

	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// A process that completes a removal late does not touch a new subscriber of the name.
func TestRemovalThatIsCompleteSparesTheNextSubscriber(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, err := Open(ctx, handle.New(redistest.DB(t)), "web")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(ctx, "s", "words"); err != nil {
		t.Fatal(err)
	}
	removal, err := c.files.beginRemoval(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(ctx, "s", "words"); err != nil { // completes it first
		t.Fatal(err)
	}
	if err := c.files.completeRemoval(ctx, removal); err != nil {
		t.Fatal(err)
	}
	if _, err := c.chat.Pending(ctx, c.chatID(), memberName("s"), 0, 1); err != nil {
		t.Error(err)
	}
}
