package rdb

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sharedLua is Lua that the scripts of every package may include.
//
//go:embed lua
var sharedLua embed.FS

// Keys are the names of the keys that a script gets, in the order of KEYS. In
// the Lua a key has its name in capitals, with '_' for other characters:
// "delayed:jobs" is DELAYED_JOBS. A script declares only the names that it uses.
type Keys []string

// Words are the words with which the replies of a package's scripts begin,
// beside "ok", and the errors that they mean. A nil function leaves the word to
// the caller of [Script.Run], in [Reply.Word].
type Words map[string]func(Reply) error

// Refusal returns the function for a word that always means the same error. The
// error begins with what the script does.
func Refusal(err error) func(Reply) error {
	return func(r Reply) error { return fmt.Errorf("%s: %w", r.Op, err) }
}

// Scripts are the scripts of one package.
type Scripts struct {
	name    string
	folders []fs.FS
	keys    Keys
	words   Words
}

// LoadScripts declares the scripts of a package, which are the files of the
// folder lua in files. name stands before their own names in [ScriptText]. Files
// of shared, and those of the folder lua of this package, may be included too.
//
// With words nil, replies have no word: all is in [Reply.Values].
func LoadScripts(name string, files fs.FS, keys Keys, words Words, shared ...fs.FS) *Scripts {
	folders := append([]fs.FS{files}, shared...)
	return &Scripts{name: name, folders: append(folders, sharedLua), keys: keys, words: words}
}

// Script declares the script lua/FILE.lua. It is tried again only while it is
// certain that it was not run. op names the operation in errors, as in "send a
// message". keys replace those of the package, if there are any.
//
// The text is assembled when it is first needed, so that the start of the
// program does not pay for scripts that it never runs. That panics where the Lua
// can't be assembled: the files are compiled in.
func (s *Scripts) Script(file, op string, keys ...string) *Script {
	if len(keys) == 0 {
		keys = s.keys
	}
	name := s.name + "/" + file
	text := sync.OnceValue(func() string {
		text, err := s.assemble(file, keys)
		if err != nil {
			panic(fmt.Errorf("script %s: %w", name, err))
		}
		return text
	})
	lua := sync.OnceValue(func() *redis.Script { return redis.NewScript(text()) })
	plain := sync.OnceValue(func() *redis.Script { return redis.NewScript(WithoutFlags(text())) })
	registry.Lock()
	defer registry.Unlock()
	registry.texts[name] = text
	return &Script{op: op, words: s.words, lua: func(embedded bool) *redis.Script {
		if embedded {
			return plain()
		}
		return lua()
	}}
}

// Idempotent is Script for one that can be repeated after a lost reply: a second
// run does not repeat the change of the first. Its reply may differ.
func (s *Scripts) Idempotent(file, op string, keys ...string) *Script {
	script := s.Script(file, op, keys...)
	script.idempotent = true
	return script
}

// IdempotentChange is Idempotent for a change whose caller must know whether it was made: if a
// reply was lost and no later try had one, the error is an [OutcomeUnknownError].
func (s *Scripts) IdempotentChange(file, op string, keys ...string) *Script {
	script := s.Idempotent(file, op, keys...)
	script.known = true
	return script
}

// registry has what assembles the text of each script of the program, by name.
var registry = struct {
	sync.Mutex
	texts map[string]func() string
}{texts: map[string]func() string{}}

// ScriptNames returns the names of all scripts, as in "queue/fetch", in order.
func ScriptNames() []string {
	registry.Lock()
	defer registry.Unlock()
	return slices.Sorted(maps.Keys(registry.texts))
}

// WithoutFlags returns the text of a script without the line of its flags, which the
// embedded server does not know.
func WithoutFlags(text string) string {
	if !strings.HasPrefix(text, flagsMarker) {
		return text
	}
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

// ScriptText returns a script as it is sent to Redis.
func ScriptText(name string) (text string, known bool) {
	registry.Lock()
	defer registry.Unlock()
	if text, ok := registry.texts[name]; ok {
		return text(), true
	}
	return "", false
}

func (s *Scripts) assemble(file string, keys []string) (string, error) {
	var a assembly
	a.folders = s.folders
	if err := a.add(file, map[string]bool{}); err != nil {
		return "", err
	}
	return a.flags + keyPrelude(a.text.String(), keys) + a.text.String(), nil
}

// flagsMarker begins the first line of a script that has flags.
const flagsMarker = "#!"

// An assembly is a script in the making.
type assembly struct {
	folders []fs.FS
	text    strings.Builder
	flags   string   // first line of a script with flags
	chain   []string // the files that include each other, down to this one
}

// add appends a file. included has the files whose names are visible there.
func (a *assembly) add(file string, included map[string]bool) error {
	a.chain = append(a.chain, file)
	defer func() { a.chain = a.chain[:len(a.chain)-1] }()
	if slices.Contains(a.chain[:len(a.chain)-1], file) {
		return fmt.Errorf("%s: the files include each other", strings.Join(a.chain, " > "))
	}
	if included[file] {
		return nil
	}
	source, err := a.read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(a.chain, " > "), err)
	}
	included[file] = true
	if body := WithoutFlags(source); len(a.chain) == 1 {
		a.flags, source = source[:len(source)-len(body)], body
	}
	marker := "-- from " + file + ".lua\n"
	a.text.WriteString(marker)
	for line := range strings.Lines(source) {
		directive, ok := strings.CutPrefix(line, "-- @")
		if !ok {
			a.text.WriteString(line)
			continue
		}
		if err := a.follow(strings.Fields(directive), included); err != nil {
			return err
		}
		a.text.WriteString(marker)
	}
	return nil
}

// follow executes a directive: its name and arguments.
func (a *assembly) follow(directive []string, included map[string]bool) error {
	switch {
	case len(directive) >= 2 && directive[0] == "include":
		for _, file := range directive[1:] {
			if err := a.library(file, included); err != nil {
				return err
			}
		}
		return nil
	case len(directive) >= 3 && directive[0] == "lazy":
		// What the function includes is visible only in it.
		inside := maps.Clone(included)
		a.text.WriteString("local function " + directive[1] + "()\n")
		last := len(directive) - 1
		for _, file := range directive[2:last] {
			if err := a.library(file, inside); err != nil {
				return err
			}
		}
		err := a.add(directive[last], inside)
		a.text.WriteString("end\n")
		return err
	}
	return fmt.Errorf("%s: unknown directive %q", strings.Join(a.chain, " > "), directive)
}

// library appends a file of which a script need not use all functions.
func (a *assembly) library(file string, included map[string]bool) error {
	if !included[file] {
		a.text.WriteString("-- luacheck: push ignore 211\n")
		defer a.text.WriteString("-- luacheck: pop\n")
	}
	return a.add(file, included)
}

// read returns the text of a file, which must be in one folder only.
func (a *assembly) read(file string) (string, error) {
	var found []string
	for _, folder := range a.folders {
		text, err := fs.ReadFile(folder, "lua/"+file+".lua")
		if err == nil {
			found = append(found, string(text))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no file lua/%s.lua", file)
	case 1:
		return strings.TrimRight(found[0], "\n") + "\n", nil
	}
	return "", fmt.Errorf("lua/%s.lua is in %d folders", file, len(found))
}

// keyPrelude returns the line that declares the keys which a text names.
func keyPrelude(text string, keys []string) string {
	used := words(text)
	var names, values []string
	for i, key := range keys {
		if name := keyName(key); used[name] {
			names = append(names, name)
			values = append(values, fmt.Sprintf("KEYS[%d]", i+1))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "local " + strings.Join(names, ", ") + " = " + strings.Join(values, ", ") + "\n"
}

// keyName returns the name in scripts of a key, such as NEXT_ID of "next-id".
func keyName(key string) string {
	other := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' }
	return strings.Join(strings.FieldsFunc(strings.ToUpper(key), other), "_")
}

// words returns the names and numbers of a Lua text, without those in strings and
// comments. (Regular expressions took a tenth of the CPU time of a short command.)
func words(text string) map[string]bool {
	found := map[string]bool{}
	for i := 0; i < len(text); {
		length := 1
		switch c := text[i]; {
		case c == '\'' || c == '"':
			length = until(text[i:], 1, func(b byte) bool { return b == c || b == '\n' }) + 1
		case strings.HasPrefix(text[i:], "--"):
			length = until(text[i:], 2, func(b byte) bool { return b == '\n' })
		case isWord(c):
			length = until(text[i:], 1, func(b byte) bool { return !isWord(b) })
			found[text[i:i+length]] = true
		}
		i += length
	}
	return found
}

// until returns the index of the first byte, from start on, for which end is true,
// or the length of text.
func until(text string, start int, end func(byte) bool) int {
	for start < len(text) && !end(text[start]) {
		start++
	}
	return start
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
