package stream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tree makes files in a new folder: "a/b.log" is a file, "a/b/" a directory,
// "a -> b" a link.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, entry := range entries {
		var err error
		link, target, isLink := strings.Cut(entry, " -> ")
		path := filepath.Join(root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(entry, "/"):
			err = os.MkdirAll(path, 0o700)
		default:
			err = os.WriteFile(path, []byte(entry), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// list lists files and problems of paths that are relative to root.
func list(root string, paths ...string) (files []string, problems []*FileError) {
	full := make([]string, len(paths))
	for i, path := range paths {
		full[i] = root + "/" + path // not Join, which would tidy up what is tested
	}
	found := ListFiles(full, ListOptions{})
	for _, file := range found.Files {
		files = append(files, strings.TrimPrefix(file, root+"/"))
	}
	return files, found.Problems
}

// filepath.Match takes ** for *, which would leave out files at other depths without a word.
func TestPatternsOfAnyDepthAreRefused(t *testing.T) {
	t.Parallel()
	root := tree(t, "a.log", "b/b.log", "b/c/c.log", "b/c**.log")
	for pattern, want := range map[string][]string{"**/*.log": nil, "b/**/c.log": nil, "b/**": {"b/b.log", "b/c**.log", "b/c/c.log"}, "b/c**.log": {"b/c**.log"}} {
		files, problems := list(root, pattern)
		if !slices.Equal(files, want) || (want == nil) != (len(problems) == 1 && errors.Is(problems[0], ErrNoMatch)) {
			t.Errorf("%s: %q, %v", pattern, files, problems)
		}
	}
}

// The current directory has no name that its files begin with.
func TestHiddenFilesOfTheCurrentDirectoryKeepTheirDot(t *testing.T) {
	t.Chdir(tree(t, ".a.log", ".old/b.log", "c.log"))
	list := ListFiles([]string{"."}, ListOptions{Members: Members{Hidden: true}})
	if want := []string{".a.log", ".old/b.log", "c.log"}; !slices.Equal(list.Files, want) || len(list.Vanished) > 0 {
		t.Errorf("files %q, want %q; vanished: %q", list.Files, want, list.Vanished)
	}
}

func TestListFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		tree  []string
		paths []string
		want  []string
	}{
		{"files in name order", []string{"b.log", "a.log", "c.log"}, []string{"c.log", "a.log", "b.log"}, []string{"a.log", "b.log", "c.log"}},
		{"each once", []string{"a.log"}, []string{"a.log", "./a.log", "sub/../a.log", ""}, []string{"a.log"}},
		{"a directory at any depth", []string{"logs/2.log", "logs/old/er/1.log", "logs/empty/"}, []string{"logs"}, []string{"logs/2.log", "logs/old/er/1.log"}},
		{"a directory with a slash", []string{"logs/1.log"}, []string{"logs/"}, []string{"logs/1.log"}},
		{"no dot files in a directory", []string{"logs/.hidden", "logs/.git/config", "logs/a.log"}, []string{"logs"}, []string{"logs/a.log"}},
		{"a dot file that is named", []string{".hidden"}, []string{".hidden"}, []string{".hidden"}},
		{"a dot directory that is named", []string{".logs/a.log"}, []string{".logs"}, []string{".logs/a.log"}},
		{"a link to a file", []string{"a.log", "now -> a.log"}, []string{"now"}, []string{"now"}},
		{"a link to a file in a directory", []string{"logs/a.log", "logs/now -> a.log"}, []string{"logs"}, []string{"logs/a.log"}},
		{"a link to a directory", []string{"v1/a.log", "logs -> v1"}, []string{"logs"}, []string{"logs/a.log"}},
		{"a link out of a directory is not followed", []string{"v1/a.log", "logs/b.log", "logs/more -> ../v1"}, []string{"logs"}, []string{"logs/b.log"}},
		{"a loop in a directory", []string{"logs/a.log", "logs/up -> ../logs"}, []string{"logs"}, []string{"logs/a.log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, c.tree...)
			_ = os.Mkdir(filepath.Join(root, "sub"), 0o700) // for "sub/.."
			got, problems := list(root, c.paths...)
			if !slices.Equal(got, c.want) || len(problems) > 0 {
				t.Errorf("%q, %v, want %q", got, problems, c.want)
			}
		})
	}
}

func TestListFilesKnowsTheCurrentFolder(t *testing.T) {
	t.Chdir(tree(t, "b.log", "logs/a.log", ".hidden"))
	found := ListFiles([]string{"."}, ListOptions{})
	if want := []string{"b.log", "logs/a.log"}; !slices.Equal(found.Files, want) || len(found.Problems) > 0 {
		t.Errorf("%q, %v, want %q", found.Files, found.Problems, want)
	}
	t.Chdir("logs")
	found = ListFiles([]string{".."}, ListOptions{})
	if want := []string{"../b.log", "../logs/a.log"}; !slices.Equal(found.Files, want) || len(found.Problems) > 0 {
		t.Errorf("%q, %v, want %q", found.Files, found.Problems, want)
	}
}

func TestWhatCannotBeListedKeepsNothingElseFromIt(t *testing.T) {
	t.Parallel()
	root := tree(t, "a.log", "empty/", "hidden/.log", "loop -> loop", "dangling -> gone")
	for path, want := range map[string]error{
		"missing": fs.ErrNotExist, "dangling": fs.ErrNotExist, "loop": syscall.ELOOP, "a.log/b": syscall.ENOTDIR,
		"empty": ErrNoFiles, "hidden": ErrNoFiles,
	} {
		files, problems := list(root, path, "a.log")
		if !slices.Equal(files, []string{"a.log"}) {
			t.Errorf("%s: %q", path, files)
		}
		if len(problems) != 1 || !errors.Is(problems[0], want) || problems[0].Path != root+"/"+path {
			t.Errorf("%s: %v, want %v", path, problems, want)
		}
	}
}

func TestLinkInAFolderThatLeadsNowhereIsAProblemOfItsOwn(t *testing.T) {
	t.Parallel()
	root := tree(t, "logs/a.log", "logs/loop -> loop", "logs/gone -> nowhere")
	files, problems := list(root, "logs")
	if !slices.Equal(files, []string{"logs/a.log"}) || len(problems) != 2 || !errors.Is(problems[0], fs.ErrNotExist) || !errors.Is(problems[1], syscall.ELOOP) {
		t.Errorf("%q, %v", files, problems)
	}
}

func TestFolderThatCannotBeReadIsAProblemOfItsOwn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("nothing is unreadable for root")
	}
	root := tree(t, "logs/a.log", "logs/closed/b.log")
	closed := filepath.Join(root, "logs", "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	files, problems := list(root, "logs")
	if !slices.Equal(files, []string{"logs/a.log"}) || len(problems) != 1 || problems[0].Path != closed || !errors.Is(problems[0], fs.ErrPermission) {
		t.Errorf("%q, %v", files, problems)
	}
}

func TestPipesThatAreNotNamedAreOnlyCounted(t *testing.T) {
	t.Parallel()
	root := tree(t, "logs/a.log")
	if err := syscall.Mkfifo(filepath.Join(root, "logs", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{root + "/logs", root + "/logs/*"} {
		found := ListFiles([]string{path}, ListOptions{})
		if !slices.Equal(found.Files, []string{root + "/logs/a.log"}) || len(found.Problems) > 0 || found.Special != 1 {
			t.Errorf("%s: %+v", path, found)
		}
	}
	found := ListFiles([]string{root + "/logs/p*"}, ListOptions{})
	if len(found.Files) > 0 || len(found.Problems) != 1 || !errors.Is(found.Problems[0], ErrNoMatch) || !strings.Contains(found.Problems[0].Error(), "pipes") {
		t.Errorf("%+v", found)
	}
	if named := ListFiles([]string{root + "/logs/pipe"}, ListOptions{}); len(named.Files) != 1 {
		t.Errorf("%+v", named)
	}
}

func TestBytesAddsUpWhatIsThere(t *testing.T) {
	t.Parallel()
	root := tree(t, "12345", "123")
	if n := Bytes([]string{filepath.Join(root, "12345"), filepath.Join(root, "missing"), filepath.Join(root, "123")}); n != 8 {
		t.Errorf("%d bytes", n)
	}
}

func TestFileThatIsReachedTwiceIsListedOnce(t *testing.T) {
	t.Parallel()
	root := tree(t, "logs/b.log", "logs/a -> b.log", "other/c.log")
	if err := os.Link(filepath.Join(root, "other", "c.log"), filepath.Join(root, "other", "d.log")); err != nil {
		t.Fatal(err)
	}
	found := ListFiles([]string{root + "/logs", root + "/other", root + "/logs/b.log"}, ListOptions{})
	if want := []string{root + "/logs/b.log", root + "/other/c.log"}; !slices.Equal(found.Files, want) || len(found.Problems) > 0 {
		t.Errorf("%q, %v, want %q", found.Files, found.Problems, want)
	}
	want := []Duplicate{
		{root + "/logs/b.log", root + "/logs/b.log"}, {root + "/other/d.log", root + "/other/c.log"}, {root + "/logs/a", root + "/logs/b.log"},
	}
	if !slices.Equal(found.Duplicates, want) {
		t.Errorf("%q, want %q", found.Duplicates, want)
	}
}

func TestPatternsMatchNoHiddenFoldersAndNoLinksToFolders(t *testing.T) {
	t.Parallel()
	root := tree(t, "w/a/b.log", "w/.hid/c.log", "other/d.log", "w/linked -> ../other", "w/e.log -> a/b.log")
	for pattern, want := range map[string][]string{
		"w/*/*.log": {"w/a/b.log"}, "w/.h*/*.log": {"w/.hid/c.log"}, "w/linked/*.log": {"w/linked/d.log"}, "w/*.log": {"w/e.log"},
	} {
		if got, problems := list(root, pattern); !slices.Equal(got, want) || len(problems) > 0 {
			t.Errorf("%s: %q, %v, want %q", pattern, got, problems, want)
		}
	}
}

func TestPatternsListWhatTheyMatch(t *testing.T) {
	t.Parallel()
	root := tree(t, "a1.log", "a2.log", ".a3.log", "b.log", "sub/c.log", "sub/.d.log", "x[1].log")
	for pattern, want := range map[string][]string{
		"a*.log": {"a1.log", "a2.log"}, "*.log": {"a1.log", "a2.log", "b.log", "x[1].log"}, "s*": {"sub/c.log"},
		".a*": {".a3.log"}, "x[1].log": {"x[1].log"}, "a[12].log": {"a1.log", "a2.log"}, "*/*.log": {"sub/c.log"},
	} {
		if got, problems := list(root, pattern); !slices.Equal(got, want) || len(problems) > 0 {
			t.Errorf("%s: %q, %v, want %q", pattern, got, problems, want)
		}
	}
	for pattern, want := range map[string]error{"nope*": ErrNoMatch, "[": filepath.ErrBadPattern} {
		if got, problems := list(root, pattern); len(got) > 0 || len(problems) != 1 || !errors.Is(problems[0], want) {
			t.Errorf("%s: %q, %v, want %v", pattern, got, problems, want)
		}
	}
	hidden := ListFiles([]string{root + "/sub", root + "/*a3*"}, ListOptions{Members: Members{Hidden: true}})
	if want := []string{root + "/.a3.log", root + "/sub/.d.log", root + "/sub/c.log"}; !slices.Equal(hidden.Files, want) {
		t.Errorf("with hidden files: %q, want %q", hidden.Files, want)
	}
}

func TestFileThatIsDeletedDuringTheListingIsNoProblem(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"a.log", "gone.log", "z.log"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	members := Members{Skip: func(name string) string {
		if name == "gone.log" { // the folder is read, and the file is not looked at yet
			_ = os.Remove(filepath.Join(folder, name))
		}
		return ""
	}}
	list := ListFiles([]string{folder}, ListOptions{Members: members})
	if len(list.Files) != 2 || len(list.Problems) != 0 || !slices.Equal(list.Vanished, []string{filepath.Join(folder, "gone.log")}) {
		t.Errorf("%+v", list)
	}
}
