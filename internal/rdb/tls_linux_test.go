package rdb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestServerWithAPrivateAuthorityIsTrustedThroughSSLCertFile(t *testing.T) {
	if url := os.Getenv("SKIDWAY_TEST_TLS"); url != "" { // the inner run, below
		if err := open(t, url, rdb.Options{}).Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	cert, key := certificate(t)
	port := freePort(t)
	redistest.Start(t, "--tls-port", port, "--bind", "127.0.0.1", "--tls-auth-clients", "no",
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	url := "rediss://127.0.0.1:" + port

	_, err := rdb.Open(soon(t), url, rdb.Options{})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority the error is %v, want one about the certificate", err)
	}
	open(t, url+"?skip_verify=true", rdb.Options{})

	// A process reads the authorities once, so it takes another one.
	again := exec.CommandContext(soon(t), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), "SSL_CERT_FILE="+cert, "SKIDWAY_TEST_TLS="+url)
	if output, err := again.CombinedOutput(); err != nil || !strings.Contains(string(output), "PASS: "+t.Name()) {
		t.Errorf("with SSL_CERT_FILE: %v: %s", err, output)
	}
}

// certificate makes one for loopback that is its own authority, and its key.
func certificate(t *testing.T) (certPath, keyPath string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "skidway test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certPath, keyPath = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		certPath: {Type: "CERTIFICATE", Bytes: cert},
		keyPath:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certPath, keyPath
}
