package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/spillway-gateway/spillway/dev/postgres"
	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// process starts a command of the program that runs until the test ends.
func process(t *testing.T, env []string, args ...string) *output {
	t.Helper()
	out := new(output)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "SPILLWAY_TEST_MAIN=1"), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q ended with %v: %s", args, err, out)
		}
	})
	return out
}

// address waits until the process says in its log where it serves what ("serving",
// "serving metrics").
func (o *output) address(t *testing.T, what string) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		for line := range strings.Lines(o.String()) {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == what {
				return entry.Address
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("does not serve: %s", o)
		}
		runtime.Gosched()
	}
}

// infrastructure is a Postgres and a NATS server as an operator would bring them.
func infrastructure(t *testing.T) (databaseURL, natsURL string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "spillway-planes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cluster, err := postgres.Start(t.Context(), postgres.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS did not start")
	}
	return cluster.URL("spillway"), ns.ClientURL()
}

// variables reads the lines NAME=value of a command's output.
func variables(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[name] = value
		}
	}
	return out
}

// The planes as separate processes, set up as the README says.
func TestSeparateProcesses(t *testing.T) {
	t.Parallel()
	databaseURL, natsURL := infrastructure(t)
	_, keys, _ := program(t, nil, "keygen")
	settings := []string{"SPILLWAY_DATABASE_URL=" + databaseURL, "SPILLWAY_NATS_URL=" + natsURL}
	for name, value := range variables(keys) {
		settings = append(settings, name+"="+value)
	}
	if code, _, stderr := program(t, settings, "organization", "--name", "acme"); code != 2 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("before migrating: exit code %d: %s", code, stderr)
	}
	for range 2 { // migrating twice is migrating once
		if code, _, stderr := program(t, settings, "migrate"); code != 0 {
			t.Fatalf("migrate: exit code %d: %s", code, stderr)
		}
	}
	code, created, stderr := program(t, settings, "organization", "--name", "acme")
	if code != 0 {
		t.Fatalf("organization: exit code %d: %s", code, stderr)
	}
	account := variables(created)

	controlLog := process(t, settings, "controlplane", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	nodeLog := process(t, append(settings, "SPILLWAY_METRICS_LISTEN=127.0.0.1:0"), "dataplane", "--listen", "127.0.0.1:0", "--node", "node-a", "--data-dir", t.TempDir(), "--allow-private-upstreams", "127.0.0.0/8")
	control, gateway := controlLog.address(t, "serving"), nodeLog.address(t, "serving")
	logs := func() string { return controlLog.String() + nodeLog.String() }
	p := provider.New(provider.Config{})
	upstream, err := p.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })

	var token struct {
		AccessToken string `json:"access_token"`
	}
	post(t, logs, "http://"+control+"/oauth/token", "application/x-www-form-urlencoded", "", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {account["client_id"]}, "client_secret": {account["client_secret"]}}.Encode(), &token)
	admin := func(path, body string, out any) {
		post(t, logs, "http://"+control+"/api/llm-gateway/admin"+path, "application/json", "Bearer "+token.AccessToken, body, out)
	}
	var key struct{ Key string }
	admin("/api-keys", `{"name":"k"}`, &key)
	admin("/providers", `{"name":"p","model_provider":"openai","base_url":"`+upstream+`/v1","api_key":"x","models":["m"]}`, nil)
	address := "dana@acme.example"
	code, created, stderr = program(t, settings, "user", "--organization", "ACME", "--email", address)
	person := variables(created)
	if code != 0 || person["email"] != address || person["password"] == "" {
		t.Fatalf("user: exit code %d: %s%s", code, created, stderr)
	}
	post(t, logs, "http://"+control+"/auth/login", "application/json", "", `{"email":"`+address+`","password":"`+person["password"]+`"}`, nil)
	chosen := append(settings, "SPILLWAY_USER_PASSWORD=a password of my own")
	if code, created, _ = program(t, chosen, "user", "--organization", "acme", "--email", "eve@acme.example", "--role", "member"); code != 0 || strings.Contains(created, "password") {
		t.Errorf("user with a password: exit code %d: %s", code, created)
	}
	post(t, logs, "http://"+control+"/auth/login", "application/json", "", `{"email":"eve@acme.example","password":"a password of my own"}`, nil)
	for name, args := range map[string][]string{
		"Again": {"--organization", "acme", "--email", address}, "NoOrganization": {"--organization", "nowhere", "--email", address},
		"NoEmail": {"--organization", "acme"}, "BadRole": {"--organization", "acme", "--email", "x@acme.example", "--role", "king"},
	} {
		if code, _, stderr := program(t, settings, append([]string{"user"}, args...)...); code != 2 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("user %s: exit code %d: %s", name, code, stderr)
		}
	}
	var answer struct{ Model string }
	post(t, logs, "http://"+gateway+"/v1/chat/completions", "application/json", "Bearer "+key.Key, `{"model":"p/m","messages":[{"role":"user","content":"Hello"}]}`, &answer)
	if answer.Model != "m" {
		t.Errorf("got an answer of %q: %s", answer.Model, logs())
	}
	for what, at := range map[string]string{`spillway_control_requests_total{api="admin",status="2xx"} 2`: controlLog.address(t, "serving metrics"),
		`spillway_requests_total{node="node-a",status="2xx",surface="chat_completions"} 1`: nodeLog.address(t, "serving metrics")} {
		if status, told := env.Scrape(t, "http://"+at+"/metrics"); status != http.StatusOK || !strings.Contains(told, what+"\n") {
			t.Errorf("%s is not told: status %d: %s", what, status, told)
		}
	}
	for _, secret := range []string{key.Key, token.AccessToken, account["client_secret"], person["password"], variables(keys)["SPILLWAY_SEAL_KEY"], variables(keys)["SPILLWAY_SIGNING_KEY"]} {
		if strings.Contains(logs(), secret) {
			t.Error("a log holds a secret")
		}
	}
}

// post asks until the process answers with a success, since it has only just been
// started and its configuration is on the way.
func post(t *testing.T, logs func() string, address, contentType, authorization, body string, out any) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Authorization", authorization)
		var raw []byte
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			raw, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			if out != nil {
				if err := json.NewDecoder(bytes.NewReader(raw)).Decode(out); err != nil {
					t.Fatal(err)
				}
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v: %s\n%s", address, err, raw, logs())
		}
	}
}
