package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writePair writes the files cert.pem and key.pem of a certificate with a serial number.
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
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServerUsesARenewedCertificate(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	writePair(t, dir, 1)
	config, err := tlsConfig(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	one := &server{Listener: listener, handler: http.NotFoundHandler(), tls: config, endStreams: func() {}, close: func() error { return nil }}
	servers := &Servers{list: []*server{one}, config: Config{Logger: log}}
	stopping, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- servers.Serve(t.Context(), stopping) }()
	deadline := time.Now().Add(time.Minute)
	for serial := int64(1); serial <= 2; serial++ {
		writePair(t, dir, serial)
		for {
			c, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				t.Fatal(err)
			}
			used := c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
			_ = c.Close()
			if used == serial {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the server uses the certificate %d, not %d", used, serial)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
