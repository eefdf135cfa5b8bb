package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

// The stories of sdk_go_test.go, told by the official npm SDKs. clients/package.json
// pins them, and a machine that lacks them installs them first.
func TestNodeSDKs(t *testing.T) {
	t.Parallel()
	if err := installClients(t.Context()); err != nil {
		t.Fatal(err)
	}
	tellStories(t, env.Start(t, env.Options{}),
		sdk{"openai-node", "openai", openAIClasses, runNode("openai.mjs", "openai")},
		sdk{"openai-node-6", "openai", openAIClasses, runNode("openai.mjs", "openai6")},
		sdk{"anthropic-node", "anthropic", anthropicClasses, runNode("anthropic.mjs", "@anthropic-ai/sdk")},
	)
}

var openAIClasses = map[int]string{
	brokenStream: "APIError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError",
	502: "InternalServerError", 503: "InternalServerError",
}

var anthropicClasses = map[int]string{
	brokenStream: "APIError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError",
	502: "InternalServerError", 503: "ServiceUnavailableError",
}

// installClients is quick where nothing is missing.
func installClients(ctx context.Context) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed: the tests of the npm SDKs need Node.js 20 or later with npm (https://nodejs.org)")
	}
	if out, err := exec.CommandContext(ctx, "sh", "clients/install.sh").CombinedOutput(); err != nil {
		return fmt.Errorf("clients/install.sh: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// runNode makes calls with a script. The SDKs read much from the environment, so
// they get none of ours.
func runNode(script, pkg string) func(context.Context, sdkCall) (sdkOutcome, error) {
	return func(ctx context.Context, c sdkCall) (sdkOutcome, error) {
		cmd := exec.CommandContext(ctx, "node", "clients/"+script)
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "PACKAGE=" + pkg,
			"CALL=" + string(c.kind), "MODEL=" + c.model, "API_KEY=" + c.key, "BASE_URL=" + c.baseURL,
		}
		stdout, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			return sdkOutcome{}, fmt.Errorf("node %s: %w", script, err)
		}
		var got sdkOutcome
		if err := json.Unmarshal(stdout, &got); err != nil {
			return sdkOutcome{}, fmt.Errorf("node %s: %w in %q", script, err, stdout)
		}
		return got, nil
	}
}
