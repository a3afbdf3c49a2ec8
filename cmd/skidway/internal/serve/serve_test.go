package serve

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/bcrypt"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/ops/access"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture runs command lines on one Redis, in a folder.
type fixture struct {
	testing.TB
	url    string
	folder string
}

func newFixture(t testing.TB) *fixture {
	return &fixture{t, redistest.URL(t), t.TempDir()}
}

// run runs a command line with a standard input, and returns standard output, standard error and the
// exit code.
func (f *fixture) run(input string, args ...string) (stdout, stderr string, code int) {
	f.Helper()
	file := filepath.Join(f.folder, "stderr")
	console, err := os.Create(file)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = console.Close() }()
	var out bytes.Buffer
	a := &cli.App{Out: &out, Console: &cli.Console{Out: console}, Redis: f.url}
	root := cli.Group(&cobra.Command{Use: "skidway", SilenceErrors: true, SilenceUsage: true})
	root.PersistentPreRun = cli.AuditChanges
	queues := &cobra.Command{Use: "queues"}
	purge := &cobra.Command{Use: "purge"}
	purge.Flags().StringArray("header", nil, "")
	purge.Flags().String("match", "", "")
	queues.AddCommand(cli.Run(a, purge, func(db *skidway.DB) (*skidway.DB, error) { return db, nil }, f.purge))
	root.AddCommand(Token(a), (&userCommand{a, cheapHash}).command(), Audit(a), queues)
	root.SetArgs(args)
	root.SetIn(strings.NewReader(input))
	err = root.ExecuteContext(f.Context())
	text, _ := os.ReadFile(file)
	if err != nil {
		text = append(text, err.Error()...)
	}
	return out.String(), string(text), cli.ExitCode(err)
}

// cheapHash hashes a password in a millisecond.
func cheapHash(password string) (string, error) {
	if len(password) < 8 {
		return access.HashPassword(password)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	return string(hash), err
}

// purge changes something only if the audit has an entry.
func (f *fixture) purge(ctx context.Context, db *skidway.DB, _ []string) error {
	if err := cli.BeginChange(ctx, 20); err != nil {
		return err
	}
	cli.SetCount(ctx, 12)
	return db.Redis().Set(ctx, "purged", "1", 0).Err()
}

func (f *fixture) must(stdout, stderr string, code int) string {
	f.Helper()
	if code != cli.ExitDone {
		f.Fatalf("exit code %d: %s", code, stderr)
	}
	return stdout
}

// audit returns the rows of the audit.
func (f *fixture) audit() [][]string {
	f.Helper()
	rows, err := csv.NewReader(strings.NewReader(f.must(f.run("", "audit", "-o", "csv")))).ReadAll()
	if err != nil {
		f.Fatal(err)
	}
	return rows[1:]
}

func TestTokenIsPrintedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var created struct{ ID, Token string }
	if err := json.Unmarshal([]byte(f.must(f.run("", "token", "create", "--scope", "enqueue:mail:email.send", "--name", "shop", "-o", "json"))), &created); err != nil {
		t.Fatal(err)
	}
	db := handle.New(redistest.Open(t, f.url))
	if p, err := access.NewTokens(db).Authenticate(t.Context(), created.Token); err != nil || !p.MayAdd("mail", "email.send") {
		t.Errorf("the token is of %+v, %v", p, err)
	}
	listed := f.must(f.run("", "token", "list", "-o", "json"))
	if strings.Contains(listed, created.Token) || !strings.Contains(listed, created.ID) || !strings.Contains(listed, cli.Caller()) {
		t.Errorf("listed is %s", listed)
	}
	if _, stderr, code := f.run("", "token", "revoke", created.ID, created.Token); code != cli.ExitUsage || !strings.Contains(stderr, "not the token") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := f.run("", "token", "revoke", "nope", created.ID, "none"); code != cli.ExitFailed || !strings.Contains(stderr, "nope") || !strings.Contains(stderr, "none") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	redis := redistest.Open(t, f.url)
	if err := redis.HSet(t.Context(), redis.Prefix()+":{dash}:tokens", "new", `{"format":2}`).Err(); err != nil {
		t.Fatal(err)
	}
	if listed = f.must(f.run("", "token", "list", "-o", "json")); !strings.Contains(listed, "token new has format 2") {
		t.Errorf("with a token of another release listed is %s", listed)
	}
	if _, err := access.NewTokens(db).Authenticate(t.Context(), created.Token); err == nil {
		t.Error("the revoked token is accepted")
	}
	rows := f.audit()
	if len(rows) != 4 || strings.Contains(fmt.Sprint(rows), created.Token) {
		t.Errorf("the audit is %v", rows)
	}
}

func TestUsersOfAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(f.folder, "users.yaml")
	f.must(f.run("correct horse\nbattery\n", "user", "add", "ada", "--role", "admin", "--queues", "shop-*,mail", "--kinds", "email.*", "--reveal", "--users", file))
	users, err := access.ReadUsers(file)
	if err != nil || len(users) != 1 {
		t.Fatalf("users %v, %v", users, err)
	}
	if p := users[0].Principal(); !p.May(access.Admin, "shop-1") || p.May(access.View, "x") || !p.MayAdd("mail", "email.send") || !p.May(access.Reveal, "mail") {
		t.Errorf("ada is %+v", p)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	before := users[0].Password
	f.must(f.run("another password", "user", "password", "ada", "--users", file))
	if users, err = access.ReadUsers(file); err != nil || users[0].Password == before || users[0].Role != access.AdminRole {
		t.Errorf("users %v, %v", users, err)
	}
	for name, c := range map[string]struct {
		input, args string
		code        int
	}{
		"there already":     {"correct horse", "user add ada --role view --users " + file, cli.ExitFailed},
		"no password":       {"", "user add bob --role view --users " + file, cli.ExitUsage},
		"wrong name":        {"correct horse", "user add local --role view --users " + file, cli.ExitUsage},
		"wrong pattern":     {"correct horse", "user add bob --role view --queues [ --users " + file, cli.ExitUsage},
		"no such user":      {"correct horse", "user password bob --users " + file, cli.ExitFailed},
		"no file":           {"correct horse", "user add bob --role view", cli.ExitUsage},
		"file without user": {"", "user remove bob --users " + file, cli.ExitFailed},
	} {
		if _, stderr, code := f.run(c.input, strings.Fields(c.args)...); code != c.code {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
	}
	if list := f.must(f.run("", "user", "list", "--users", file)); list != "name,role,queues,kinds,reveal,scale\nada,admin,shop-* mail,email.*,true,false\n" {
		t.Errorf("the list is %s", list)
	}
	f.must(f.run("", "user", "remove", "ada", "--users", file))
	if users, err = access.ReadUsers(file); err != nil || len(users) != 0 {
		t.Errorf("users %v, %v", users, err)
	}
}

func TestChangesOfTheCommandLineAreAudited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.run("", "queues", "purge", "mail", "--match", "a == 1", "--header", "token=secret"))
	rows := f.audit()
	if len(rows) != 2 {
		t.Fatalf("the audit is %v", rows)
	}
	for i, row := range rows {
		text := strings.Join(row, "|")
		if row[3] != cli.Caller() || row[4] != "false" || row[5] != "command line" || row[6] != "purge" || !strings.Contains(text, "--match=a == 1") {
			t.Errorf("entry %v", row)
		}
		if strings.Contains(text, "secret") {
			t.Errorf("the entry has secrets: %s", text)
		}
		if want := []string{"", "done"}[i]; row[9] != want || row[1] != rows[0][1] {
			t.Errorf("entry %v", row)
		}
	}
	if rows[0][8] != "20" || rows[1][8] != "12" {
		t.Errorf("the counts are %v", rows)
	}
}

func TestAuditIsFiltered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := &redis.XAddArgs{Stream: "skidway:{dash}:audit", ID: "1000-1", Values: []any{"entry", `{"format":1,"who":"ada","action":"purge of old"}`}}
	if err := redistest.Open(t, f.url).XAdd(t.Context(), old).Err(); err != nil {
		t.Fatal(err)
	}
	f.must(f.run("", "queues", "purge", "mail"))
	f.must(f.run("correct horse", "user", "add", "ada", "--role", "view", "--users", filepath.Join(f.folder, "users.yaml")))
	f.must(f.run("", "queues", "purge", "docs"))
	for flags, lines := range map[string]int{"--limit 50": 7, "--newer-than 1h": 6, "--action purge": 5, "--action purge --newer-than 1h": 4, "--queue mail": 2, "--action purge --queue docs --limit 1": 1, "--action user --limit 1": 1, "--who nobody@nowhere": 0} {
		stdout, _, code := f.run("", append([]string{"audit", "-o", "csv"}, strings.Fields(flags)...)...)
		if n := strings.Count(stdout, "\n") - 1; n != lines || code != cli.ExitDone {
			t.Errorf("%s: exit code %d, %d entries: %s", flags, code, n, stdout)
		}
	}
}

func TestUserIsNotChangedWithoutRedis(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(f.folder, "users.yaml")
	f.must(f.run("correct horse", "user", "add", "ada", "--role", "view", "--users", file))
	f.url = "unix://" + filepath.Join(f.folder, "none.sock")
	for _, args := range [][]string{{"add", "bob", "--role", "view"}, {"password", "ada"}, {"remove", "ada"}} {
		_, stderr, code := f.run("correct horse", append(append([]string{"user"}, args...), "--users", file)...)
		if code != cli.ExitUnreachable || !strings.Contains(stderr, "users.yaml is unchanged, because a change must be in the audit first (without Redis, edit the file") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	if users, err := access.ReadUsers(file); err != nil || len(users) != 1 || users[0].Name != "ada" {
		t.Errorf("the users are %+v, %v", users, err)
	}
}

func TestChangeWithoutAnEntryIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := redistest.Open(t, f.url)
	key := db.Prefix() + ":{dash}:audit"
	if err := db.Set(t.Context(), key, "no stream", 0).Err(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(f.folder, "users.yaml")
	for _, args := range [][]string{{"queues", "purge", "mail"}, {"token", "create", "--scope", "view:*"}, {"user", "add", "ada", "--role", "view", "--users", file}} {
		if _, stderr, code := f.run("correct horse", args...); code != cli.ExitFailed || !strings.Contains(stderr, "write the audit") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(file); err == nil || db.Exists(t.Context(), "purged", db.Prefix()+":{dash}:tokens").Val() != 0 {
		t.Error("a change was made")
	}
}
