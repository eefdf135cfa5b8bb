package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

// The stories of sdk_go_test.go, told by the official npm SDKs. clients/package.json
// pins them, and a machine that lacks them installs them first.
func TestNodeSDKs(t *testing.T) {
	t.Parallel()
	if err := installClients(); err != nil {
		t.Fatal(err)
	}
	tellStories(t, env.Start(t, env.Options{}),
		sdk{"openai-node", "openai", openAIClasses, startNode(t, "openai.mjs", "openai").ask},
		sdk{"openai-node-6", "openai", openAIClasses, startNode(t, "openai.mjs", "openai6").ask},
		sdk{"openai-node-responses", responses, failedResponse, startNode(t, "responses.mjs", "openai").ask},
		sdk{"anthropic-node", "anthropic", anthropicClasses, startNode(t, "anthropic.mjs", "@anthropic-ai/sdk").ask},
		// The last that sends its key as x-api-key and asks for version 2023-06-01.
		sdk{"anthropic-node-0", "anthropic", openAIClasses, startNode(t, "anthropic.mjs", "anthropic0").ask},
	)
}

var openAIClasses = map[int]string{
	brokenStream: "APIError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError",
	502: "InternalServerError", 503: "InternalServerError",
}

var failedResponse = map[int]string{
	brokenStream: "response.failed", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError",
	502: "InternalServerError", 503: "InternalServerError",
}

var anthropicClasses = map[int]string{
	brokenStream: "APIError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError",
	502: "InternalServerError", 503: "ServiceUnavailableError",
}

// installClients is quick where nothing is missing. All tests that need the packages share
// one call: npm takes a folder apart before it fills it.
var installClients = sync.OnceValue(func() error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed: the tests of the npm SDKs need Node.js 20 or later with npm (https://nodejs.org)")
	}
	if out, err := exec.Command("sh", "clients/install.sh").CombinedOutput(); err != nil {
		return fmt.Errorf("clients/install.sh: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
})

// nodeClient is a script in clients that makes one SDK's calls, one at a time.
type nodeClient struct {
	cmd    *exec.Cmd
	stderr *env.Log

	mu  sync.Mutex
	in  *json.Encoder
	out *json.Decoder
}

// startNode runs a script until the test ends. The SDKs read much from the
// environment, so they get none of ours.
func startNode(t *testing.T, script, pkg string) *nodeClient {
	t.Helper()
	n := &nodeClient{cmd: exec.CommandContext(t.Context(), "node", "clients/"+script, pkg), stderr: new(env.Log)}
	n.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	n.cmd.Stderr = n.stderr
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.in, n.out = json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = n.cmd.Wait() // the test's context has ended it
	})
	return n
}

func (n *nodeClient) ask(ctx context.Context, c sdkCall) (got sdkOutcome, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer context.AfterFunc(ctx, func() { _ = n.cmd.Process.Kill() })()
	err := n.in.Encode(c)
	if err == nil {
		err = n.out.Decode(&got)
	}
	if err != nil {
		return got, fmt.Errorf("%q: %w: %s", n.cmd.Args, err, n.stderr)
	}
	return got, nil
}
