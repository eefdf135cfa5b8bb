package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/web"
)

// What people do in the portal, told in a browser (web/e2e) against the whole product. While
// one is written SPILLWAY_STORIES may name its file.
func TestPortal(t *testing.T) {
	t.Parallel()
	if err := installClients(); err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(t.TempDir(), "result.json")
	out, err := inBrowser(t, "vitest.config.ts", "SPILLWAY_PORTAL_RESULT="+result)
	if reported := reportStories(t, result); reported == 0 || err != nil && !t.Failed() {
		t.Fatalf("%d stories: %v\n%s", reported, err, out)
	}
}

// TestPortalScreenshots takes a picture of every page when SPILLWAY_SCREENSHOTS names a folder for
// them; it is make screenshots.
func TestPortalScreenshots(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("SPILLWAY_SCREENSHOTS")
	if folder == "" {
		t.Skip("SPILLWAY_SCREENSHOTS is not set")
	}
	if out, err := inBrowser(t, "shoot.config.ts"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// inBrowser starts the product and runs what a configuration of web/e2e names against it.
func inBrowser(t *testing.T, config string, more ...string) ([]byte, error) {
	t.Helper()
	if _, built := web.Files(); !built {
		t.Fatal("the portal was not built into this test: run make portal")
	}
	prepare := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "../../web/"+script)
		cmd.Stderr = new(bytes.Buffer)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, cmd.Stderr)
		}
		return strings.TrimSpace(string(out))
	}
	prepare("install.sh")
	browser := prepare("browser.sh")
	clients, err := filepath.Abs("clients")
	if err != nil {
		t.Fatal(err)
	}
	e := env.Start(t, env.Options{Nodes: 2})
	world, err := json.Marshal(map[string]string{
		"base_url": e.Info.BaseURL, "gateway_url": e.Info.GatewayURLs[0], "demo_url": e.Info.DemoProviderURL, "browser": browser, "clients": clients,
		"admin_email": e.Info.AdminEmail, "admin_password": e.Info.AdminPassword, "client_id": e.Info.ClientID, "client_secret": e.Info.ClientSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "node_modules/vitest/vitest.mjs", "run", "--config", "e2e/"+config, os.Getenv("SPILLWAY_STORIES"))
	cmd.Dir = "../../web"
	cmd.Env = append(append(os.Environ(), "SPILLWAY_PORTAL="+string(world)), more...)
	return cmd.CombinedOutput()
}

// reportStories makes a subtest of every story, and returns how many there were.
func reportStories(t *testing.T, path string) (n int) {
	t.Helper()
	var told struct {
		TestResults []struct {
			Message          string
			AssertionResults []struct {
				FullName, Status string
				FailureMessages  []string
			}
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0 // the run says why
	}
	if err := json.Unmarshal(raw, &told); err != nil {
		t.Fatal(err)
	}
	for _, file := range told.TestResults {
		if len(file.AssertionResults) == 0 {
			t.Error(file.Message)
		}
		for _, story := range file.AssertionResults {
			n++
			t.Run(story.FullName, func(t *testing.T) {
				if story.Status != "passed" {
					t.Errorf("%s: %s", story.Status, strings.Join(story.FailureMessages, "\n"))
				}
			})
		}
	}
	return n
}
