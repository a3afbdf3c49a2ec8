package access

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"skidway/queue"
)

func TestRolesOfUsers(t *testing.T) {
	t.Parallel()
	granted := map[string]string{ViewRole: "view", OperateRole: "view operate enqueue", AdminRole: "view operate enqueue admin"}
	for role, want := range granted {
		u := user(t, "ada", role)
		u.Queues = []string{"mail", "tenant-*"}
		for _, action := range actions {
			if got := u.Principal().May(action, "tenant-1"); got != strings.Contains(want, string(action)) {
				t.Errorf("role %s, action %s: %v", role, action, got)
			}
			if u.Principal().May(action, "other") || u.Principal().May(action, All) {
				t.Errorf("role %s may %s another queue", role, action)
			}
		}
	}
	u := user(t, "ada", OperateRole)
	u.Reveal, u.Kinds = true, []string{"report", "email.*"}
	p := u.Principal()
	if !p.May(Reveal, All) || p.May(Scale, All) || !p.MayAdd("x", "email.send") || !p.MayAdd("x", "report") || p.MayAdd("x", "other") {
		t.Errorf("%+v", p)
	}
}

func TestUsersFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	f := &fixture{TB: t}
	users, path := f.usersOf(user(t, "ada", ViewRole))
	if u, found := users.Lookup("ada"); !found || u.Role != ViewRole {
		t.Fatalf("ada is %+v", u)
	}
	f.edit(path, user(t, "ada", AdminRole), user(t, "bob", ViewRole))
	if u, _ := users.Lookup("ada"); u.Role != AdminRole {
		t.Errorf("ada has the role %s", u.Role)
	}
	writeFile(t, path, "users: [", 0o600)
	if _, found := users.Lookup("bob"); !found {
		t.Error("a file that is broken removed a user")
	}
	f.must(os.Remove(path))
	if _, found := users.Lookup("bob"); !found {
		t.Error("a file that is missing removed a user")
	}
	writeFile(t, path, "users: []", 0o600)
	if _, found := users.Lookup("bob"); found {
		t.Error("bob was removed from the file")
	}
}

func TestUsersFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	hash := cheapHash(t, "x")
	entry := func(text string) string { return "users:\n- " + strings.ReplaceAll(text, "HASH", hash) }
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable for all":        {"users: []", 0o604, "chmod 600"},
		"writable for the group":  {"users: []", 0o620, "chmod 600"},
		"unknown field":           {entry("{name: ada, password: HASH, role: view, admin: true}"), 0o600, "admin"},
		"field in capitals":       {entry("{name: ada, password: HASH, role: view, ROLE: admin}"), 0o600, "ROLE"},
		"field twice":             {entry("{name: ada, password: HASH, role: view, role: admin}"), 0o600, "role"},
		"unknown role":            {entry("{name: ada, password: HASH, role: root}"), 0o600, "root"},
		"no role":                 {entry("{name: ada, password: HASH}"), 0o600, "role"},
		"password in plain text":  {entry("{name: ada, password: secret, role: view}"), 0o600, "bcrypt"},
		"no password":             {entry("{name: ada, role: view}"), 0o600, "bcrypt"},
		"password of great cost":  {entry("{name: ada, password: $2a$30" + hash[6:] + ", role: view}"), 0o600, "cost"},
		"name of the local one":   {entry("{name: local, password: HASH, role: view}"), 0o600, "local"},
		"control character":       {entry(`{name: "a\x1b[2J", password: HASH, role: view}`), 0o600, "name"},
		"user twice":              {entry("{name: ada, password: HASH, role: view}\n- {name: ada, password: HASH, role: admin}"), 0o600, "twice"},
		"wrong pattern of queues": {entry("{name: ada, password: HASH, role: view, queues: ['[']}"), 0o600, "queues"},
		"wrong pattern of kinds":  {entry("{name: ada, password: HASH, role: view, kinds: ['']}"), 0o600, "kinds"},
		"large":                   {"#" + strings.Repeat("x", maxUsersFile), 0o600, "at most"},
	} {
		path := filepath.Join(t.TempDir(), "users.yaml")
		writeFile(t, path, c.text, c.mode)
		if _, err := ReadUsers(path); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one of %q", name, err, c.want)
		}
		if strings.Contains(name, "plain text") {
			if _, err := ReadUsers(path); strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the password: %v", err)
			}
		}
	}
	if _, err := ReadUsers(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func TestEditKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "users.yaml"), filepath.Join(folder, "link")
	writeFile(t, path, "", 0o640)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	add := func([]User) ([]User, error) { return []User{user(t, "ada", ViewRole)}, nil }
	if err := EditUsers(link, add); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	users, readErr := ReadUsers(path)
	if err != nil || readErr != nil || info.Mode() != 0o640 || len(users) != 1 {
		t.Errorf("the file has mode %v and %v: %v, %v", info.Mode(), users, err, readErr)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	writeFile(t, path+".new", "", 0o600)
	if err := EditUsers(path, add); err == nil || !strings.Contains(err.Error(), "another command") {
		t.Errorf("while another command writes: %v", err)
	}
}

func TestPasswordsOfUnknownNamesTakeAsLong(t *testing.T) {
	if err := bcrypt.CompareHashAndPassword([]byte(dummyHash(4)), []byte("x")); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
		t.Errorf("the hash for unknown names is not computed: %v", err)
	}
	if cost, err := bcrypt.Cost([]byte(dummyHash(0))); cost != passwordCost || err != nil {
		t.Errorf("its cost is %d, %v", cost, err)
	}
	for _, password := range []string{"short", strings.Repeat("x", 73)} {
		if _, err := HashPassword(password); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("a password of %d bytes: %v", len(password), err)
		}
	}
}

func FuzzUsersFile(f *testing.F) {
	f.Add("users:\n- {name: ada, password: $2a$04$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, role: view, queues: [a*]}")
	f.Add("users: &a [*a]")
	f.Add("users: !a ")
	f.Fuzz(func(t *testing.T, text string) {
		users, err := parseUsers([]byte(text))
		if err != nil {
			return
		}
		for _, u := range users {
			if p := u.Principal(); u.Name == "" || p.Name != u.Name || u.Role != AdminRole && p.May(Admin, "a") {
				t.Errorf("%q is the user %+v", text, u)
			}
		}
	})
}

func TestEditsDoNotUndoEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users.yaml")
	err := EditUsers(path, func([]User) ([]User, error) {
		other := EditUsers(path, func([]User) ([]User, error) { return []User{user(t, "bob", ViewRole)}, nil })
		if other == nil || !strings.Contains(other.Error(), "another command") {
			t.Errorf("an edit during another one: %v", other)
		}
		return []User{user(t, "ada", ViewRole)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := EditUsers(path, func([]User) ([]User, error) { return nil, errors.New("no") }); err == nil {
		t.Error("an edit that is refused returns no error")
	}
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("the new file stays after an edit that was refused")
	}
	if users, err := ReadUsers(path); err != nil || len(users) != 1 || users[0].Name != "ada" {
		t.Errorf("users %v, %v", users, err)
	}
}

func TestRefusedFileIsLoggedEachMinute(t *testing.T) {
	t.Parallel()
	f := &fixture{TB: t}
	users, path := f.usersOf(user(t, "ada", ViewRole))
	var log bytes.Buffer
	users.logger = slog.New(slog.NewTextHandler(&log, nil))
	f.edit(path, user(t, "ada", AdminRole))
	if users.Lookup("ada"); !strings.Contains(log.String(), "quick to try") { // its cost is that of a test
		t.Errorf("the log is %q", log.String())
	}
	writeFile(t, path, "users: [", 0o600)
	for range 150 { // seconds
		users.Lookup("ada")
	}
	if n := strings.Count(log.String(), "the users stay as they were"); n != 3 {
		t.Errorf("it was logged %d times in 150 s", n)
	}
	f.must(os.Remove(path))
	f.edit(path)
	for range 150 {
		users.Lookup("ada")
	}
	if n := strings.Count(log.String(), "the users stay as they were"); n != 3 {
		t.Errorf("it was logged %d times, with the file mended", n)
	}
}
