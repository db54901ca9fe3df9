package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// served is env serve under way: its address, and stop, which ends it and returns what it printed.
func served(t *testing.T, env map[string]string, args ...string) (url string, stop func() string) {
	t.Helper()
	soft, cancel := context.WithCancel(t.Context())
	logs := &buffer{}
	ended := make(chan int, 1)
	g := memoryGlobals(logs, logs, env)
	go func() {
		ended <- run(stops{soft: soft, hard: t.Context()}, g, append([]string{"env", "serve", "--protocol", "openenv", "--listen", "127.0.0.1:0"}, args...))
	}()
	address := regexp.MustCompile(`on (https?://[0-9.:]+),`)
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if m := address.FindStringSubmatch(logs.String()); m != nil {
			url = m[1]
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it does not serve: %s", logs)
		}
	}
	return url, func() string {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d", code)
		}
		return logs.String()
	}
}

// TestServeOpenEnv plays a step of every environment over the protocol.
func TestServeOpenEnv(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		task string
	}{
		{[]string{"alfworld"}, `^\{"env":"alfworld","task_id":"valid_seen/`},
		{[]string{"webshop"}, `^\{"env":"webshop","task_id":"serl-synthetic/`}, // rollout's defaults, not the site's
		{[]string{"webshop", "--variant", "princeton"}, `princeton-synthetic/`},
		{[]string{"all"}, `"env":"alfworld"`},
		{[]string{"--split", "train"}, `"task_id":"train/`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			url, stop := served(t, nil, c.args...)
			conn := dialOpenEnv(t, websocket.DefaultDialer, url)
			first := ask(t, conn, `{"type":"reset","data":{"index":0}}`)
			var m struct {
				Env    string `json:"env"`
				TaskID string `json:"task_id"`
			}
			if err := json.Unmarshal(first.Data.Metadata, &m); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, string(got), c.task)
			if len(first.Data.Observation.Admissible) == 0 || first.Data.Observation.Task == "" {
				t.Errorf("reset: %+v", first)
			}
			action, err := json.Marshal(map[string]any{"type": "step", "data": map[string]string{"text": first.Data.Observation.Admissible[0]}})
			if err != nil {
				t.Fatal(err)
			}
			if next := ask(t, conn, string(action)); next.Data.Reward == nil || next.Data.Observation.Text == "" {
				t.Errorf("step: %+v", next)
			}
			conn.Close()
			wants(t, stop(), `up to 64 sessions at a time`, `served 1 session, 1 step$`)
		})
	}
}

// TestServeOpenEnvWithCertificate: other addresses need a token, and a certificate makes it wss.
func TestServeOpenEnvWithCertificate(t *testing.T) {
	t.Parallel()
	cert, key, pool := selfSigned(t, t.TempDir())
	url, stop := served(t, map[string]string{"HARNESS_ENV_TOKEN": "secret"}, "--tls-cert", cert, "--tls-key", key, "--max-sessions", "1")
	d := &websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	if _, resp, err := d.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil); err == nil || resp == nil || resp.StatusCode != 401 {
		t.Errorf("without the token: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	conn := dialOpenEnv(t, d, url, "Authorization", "Bearer secret")
	if a := ask(t, conn, `{"type":"reset"}`); a.Type != "observation" {
		t.Errorf("with the token: %+v", a)
	}
	conn.Close()
	wants(t, stop(), `on https://127`)
}

func dialOpenEnv(t *testing.T, d *websocket.Dialer, url string, header ...string) *websocket.Conn {
	t.Helper()
	h := map[string][]string{}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = []string{header[i+1]}
	}
	conn, resp, err := d.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", h)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	t.Cleanup(func() { conn.Close() })
	return conn
}

type openEnvAnswer struct {
	Type string `json:"type"`
	Data struct {
		Observation struct {
			Text       string   `json:"text"`
			Task       string   `json:"task"`
			Admissible []string `json:"admissible"`
		} `json:"observation"`
		Reward   *float64        `json:"reward"`
		Metadata json.RawMessage `json:"metadata"`
		Message  string          `json:"message"`
	} `json:"data"`
}

func ask(t *testing.T, conn *websocket.Conn, msg string) (a openEnvAnswer) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(msg)); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := conn.ReadJSON(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestServeOpenEnvRefuses(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.pem")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--protocol", "grpc"}, exitUsage, `no protocol "grpc": there are site and openenv`},
		{[]string{"alfworld"}, exitUsage, `harness env serve alfworld --protocol openenv`},
		{[]string{"webshop", "--max-steps", "3"}, exitUsage, `--max-steps has no meaning with --protocol site`},
		{[]string{"alfworld", "--protocol", "openenv", "--attrs"}, exitUsage, `--attrs has no meaning with --protocol openenv`},
		{[]string{"--protocol", "openenv", "--listen", "0.0.0.0:0"}, exitUsage, `no key is set\n.*HARNESS_ENV_TOKEN`},
		{[]string{"--protocol", "openenv", "--tls-cert", "x"}, exitUsage, `--tls-cert and --tls-key belong together`},
		{[]string{"--protocol", "openenv", "--max-sessions", "0"}, exitUsage, `must be positive`},
		{[]string{"--protocol", "openenv", "--listen", "127.0.0.1:0", "--tls-cert", missing, "--tls-key", missing}, exitFailed, `read the certificate`},
		{[]string{"nowhere", "--protocol", "openenv"}, exitUsage, `no environment "nowhere"`},
		{[]string{"--protocol", "openenv", "--split", "none"}, exitFailed, `none`},
	} {
		code, _, logs := inMemory(never(t), nil, append([]string{"env", "serve"}, c.args...)...)
		if code != c.code || !regexp.MustCompile(c.want).MatchString(logs.String()) {
			t.Errorf("%v: exit %d, want %d with %q:\n%s", c.args, code, c.code, c.want, logs)
		}
	}
}
