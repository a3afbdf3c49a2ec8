package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writePair writes the files cert.pem and key.pem of a certificate with a serial number, as a renewal does.
func writePair(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial)}
	cert, err1 := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	putFile(t, filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	putFile(t, filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// putFile puts another file at a path.
func putFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestRenewedCertificateIsUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := OpenKeyPair(cert, key, nil); err == nil {
		t.Error("files that are missing are opened")
	}
	writePair(t, dir, 1)
	log := &bytes.Buffer{}
	k, err := OpenKeyPair(cert, key, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	k.files.now = func() time.Time { return now }
	want := func(when string, later time.Duration, serial int64, logged string) {
		t.Helper()
		now = now.Add(later)
		pair, err := k.Certificate(nil)
		if err != nil || pair.Leaf.SerialNumber.Int64() != serial || !strings.Contains(log.String(), logged) {
			t.Errorf("%s: %+v, %v, want %d; the log is %s", when, pair.Leaf.SerialNumber, err, serial, log)
		}
		log.Reset()
	}
	want("at the start", 2*time.Second, 1, "")
	writePair(t, dir, 2)
	want("after a second", time.Second, 2, "read again")
	writePair(t, dir, 3)
	want("within a second", time.Millisecond, 2, "")
	want("a second later", time.Second, 3, "read again")
	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	writePair(t, dir, 4)
	renewed, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, key, old) // half of a renewal
	want("without its key", time.Second, 3, "stay as they were")
	putFile(t, key, renewed)
	want("with its key", time.Second, 4, "read again")
}
