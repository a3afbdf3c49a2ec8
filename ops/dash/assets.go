package dash

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"skidway/internal/look"
)

//go:embed assets/*.js assets/*.svg
var assetFiles embed.FS

// assets are the files that pages refer to. Their names have a hash of their content, so that
// browsers may keep them for good.
type assets struct {
	hashed map[string]string // name with hash by name
	files  map[string][]byte // by name with hash
}

// contentTypes are those of the files, by their extensions; the system has others.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func loadAssets() *assets {
	a := &assets{map[string]string{}, map[string][]byte{}}
	entries, _ := assetFiles.ReadDir("assets") // it is embedded
	for _, entry := range entries {
		content, _ := assetFiles.ReadFile("assets/" + entry.Name())
		a.add(entry.Name(), content)
	}
	a.add("dash.css", []byte(look.Style))
	return a
}

func (a *assets) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	a.hashed[name], a.files[hashed] = hashed, content
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, found := a.files[r.PathValue("name")]
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(r.PathValue("name"))])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content)
}
