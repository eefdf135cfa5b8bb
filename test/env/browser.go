package env

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/web"
)

// Browse runs what a configuration of web/e2e names, in a browser against the system, and returns
// what that printed. more are variables of its environment, "NAME=value". The test's package
// stands two folders below the root; what is missing of the portal's tools is installed.
// SPILLWAY_STORIES may name one file of the configuration.
func (e *Env) Browse(t *testing.T, config string, more ...string) ([]byte, error) {
	t.Helper()
	if _, built := web.Files(); !built {
		t.Fatal("the portal was not built into this test: run make portal")
	}
	const folder = "../../web"
	prepare := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(folder, script))
		cmd.Stderr = new(bytes.Buffer)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, cmd.Stderr)
		}
		return strings.TrimSpace(string(out))
	}
	prepare("install.sh")
	clients, err := filepath.Abs("../e2e/clients")
	if err != nil {
		t.Fatal(err)
	}
	world, err := json.Marshal(map[string]string{
		"base_url": e.Info.BaseURL, "gateway_url": e.Info.GatewayURLs[0], "demo_url": e.Info.DemoProviderURL, "browser": prepare("browser.sh"), "clients": clients,
		"admin_email": e.Info.AdminEmail, "admin_password": e.Info.AdminPassword, "client_id": e.Info.ClientID, "client_secret": e.Info.ClientSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "node_modules/vitest/vitest.mjs", "run", "--config", "e2e/"+config, os.Getenv("SPILLWAY_STORIES"))
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), "SPILLWAY_PORTAL="+string(world)), more...)
	return cmd.CombinedOutput()
}
