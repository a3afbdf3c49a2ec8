package access

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"
)

// A KeyPair is the certificate and the key of a server, whose files are read again when one of them has
// changed. It is safe for concurrent use.
type KeyPair struct {
	mu    sync.Mutex
	files watched
	pair  *tls.Certificate
}

// OpenKeyPair reads the files of a certificate and its key. Later changes that can't be read, or do not match,
// are logged, and the pair stays as it was. A nil logger means [slog.Default].
func OpenKeyPair(certPath, keyPath string, logger *slog.Logger) (*KeyPair, error) {
	if logger == nil {
		logger = slog.Default()
	}
	k := &KeyPair{}
	k.files = watched{what: "certificates", path: certPath, logger: logger, now: time.Now, read: func() (map[string]fs.FileInfo, error) {
		files := map[string]fs.FileInfo{certPath: nil, keyPath: nil}
		cert, err := readFile(certPath, files)
		if err != nil {
			return files, err
		}
		key, err := readFile(keyPath, files)
		if err != nil {
			return files, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return files, fmt.Errorf("%s with the key %s: %w", certPath, keyPath, err)
		}
		k.pair = &pair
		return files, nil
	}}
	return k, k.files.open()
}

// Certificate returns the pair, as the files were at most 1 s ago, for the field GetCertificate of a [tls.Config].
func (k *KeyPair) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files.refresh()
	return k.pair, nil
}
