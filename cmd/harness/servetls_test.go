package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/hindsightrl/harness/internal/testutil"
)

// selfSigned writes a certificate for 127.0.0.1 and its key, and returns what trusts it.
func selfSigned(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "feed"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

// TestServeShakesHandsOverTLS: https and wss with a certificate of our own and a token; who does not know the
// certificate, speaks plain HTTP or offers an old version of TLS gets nothing.
func TestServeShakesHandsOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "t.db")
	if code, _, stderr := inMemory(never(t), nil, "rollout", "--db", db, "--policy", "expert", "--tasks", "1", "--group", "1", "--max-steps", "2", "--quiet"); code != exitOK {
		t.Fatal(stderr)
	}
	cert, key, pool := selfSigned(t, dir)
	addr := testutil.Address(t)
	soft, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		code, _, stderr := inMemory(stops{soft: soft, hard: t.Context()}, map[string]string{"HARNESS_FEED_TOKEN": "sesame"},
			"serve", "--db", db, "--listen", addr, "--tls-cert", cert, "--tls-key", key)
		if code != exitOK {
			t.Error(stderr)
		}
		done <- code
	}()
	defer func() { cancel(); <-done }()
	client := func(cfg *tls.Config) *http.Client {
		tr := &http.Transport{TLSClientConfig: cfg}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr}
	}
	get := func(c *http.Client, scheme, token string) (int, *tls.ConnectionState, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+addr+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := c.Do(req)
		if err != nil {
			return 0, nil, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, resp.TLS, err
	}
	known := client(&tls.Config{RootCAs: pool})
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, state, err := get(known, "https", "sesame")
		if err == nil {
			if status != http.StatusOK || state.Version < tls.VersionTLS12 || state.PeerCertificates[0].Subject.CommonName != "feed" {
				t.Errorf("status %d over %+v", status, state)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	if status, _, err := get(known, "https", "guess"); err != nil || status != http.StatusUnauthorized {
		t.Errorf("wrong token: %d, %v", status, err)
	}
	if _, _, err := get(client(&tls.Config{}), "https", "sesame"); err == nil {
		t.Error("a client that does not know the certificate was content")
	}
	if status, _, err := get(client(nil), "http", "sesame"); err == nil && status == http.StatusOK {
		t.Error("plain HTTP was answered")
	}
	if _, _, err := get(client(&tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}), "https", "sesame"); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: pool}}
	c, resp, err := dialer.Dial("wss://"+addr+"/v1/ws", http.Header{"Authorization": {"Bearer sesame"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer c.Close()
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"op":"status"}`)); err != nil {
		t.Fatal(err)
	}
	var a struct {
		OK bool `json:"ok"`
	}
	if err := c.ReadJSON(&a); err != nil || !a.OK {
		t.Errorf("over wss: %+v, %v", a, err)
	}
}
