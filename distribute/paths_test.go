package distribute

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
	files, problems = ListFiles(full)
	for i, file := range files {
		files[i] = strings.TrimPrefix(file, root+"/")
	}
	return files, problems
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
		{"a link to a file in a directory", []string{"logs/a.log", "logs/now -> a.log"}, []string{"logs"}, []string{"logs/a.log", "logs/now"}},
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
	files, problems := ListFiles([]string{"."})
	if want := []string{"b.log", "logs/a.log"}; !slices.Equal(files, want) || len(problems) > 0 {
		t.Errorf("%q, %v, want %q", files, problems, want)
	}
	t.Chdir("logs")
	files, problems = ListFiles([]string{".."})
	if want := []string{"../b.log", "../logs/a.log"}; !slices.Equal(files, want) || len(problems) > 0 {
		t.Errorf("%q, %v, want %q", files, problems, want)
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

func TestPipesInAFolderAreNotListed(t *testing.T) {
	t.Parallel()
	root := tree(t, "logs/a.log")
	if err := syscall.Mkfifo(filepath.Join(root, "logs", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, problems := list(root, "logs"); !slices.Equal(files, []string{"logs/a.log"}) || len(problems) > 0 {
		t.Errorf("%q, %v", files, problems)
	}
}

func TestBytesAddsUpWhatIsThere(t *testing.T) {
	t.Parallel()
	root := tree(t, "12345", "123")
	if n := Bytes([]string{filepath.Join(root, "12345"), filepath.Join(root, "missing"), filepath.Join(root, "123")}); n != 8 {
		t.Errorf("%d bytes", n)
	}
}
