package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

// What people do in the portal, told in a browser (web/e2e) against the whole product. While
// one is written SPILLWAY_STORIES may name its file.
func TestPortal(t *testing.T) {
	t.Parallel()
	if err := installClients(); err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(t.TempDir(), "result.json")
	out, err := env.Start(t, env.Options{Nodes: 2}).Browse(t, "vitest.config.ts", "SPILLWAY_PORTAL_RESULT="+result)
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
	if out, err := env.Start(t, env.Options{Nodes: 2}).Browse(t, "shoot.config.ts"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
