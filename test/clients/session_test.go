package clients

import (
	"bufio"
	"encoding/json"
	"testing"
)

// converse tells Claude Code one prompt after another in one process, each when the one
// before is answered.
func (c *tool) converse(t *testing.T, prompts []string, args ...string) {
	t.Helper()
	cmd, stderr := c.command(t, append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 4<<20)
	say := json.NewEncoder(stdin)
	for _, prompt := range prompts {
		message := map[string]any{"role": "user", "content": prompt}
		if err := say.Encode(map[string]any{"type": "user", "message": message}); err != nil {
			t.Fatal(err)
		}
		for {
			if !lines.Scan() {
				t.Fatalf("claude ended before it answered %q: %v; %s", prompt, lines.Err(), stderr)
			}
			var event struct {
				Type    string
				IsError bool `json:"is_error"`
			}
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				t.Fatalf("claude printed no JSON: %v in %s", err, lines.Bytes())
			}
			if event.Type == "result" {
				if event.IsError {
					t.Fatalf("%q failed: %s", prompt, lines.Bytes())
				}
				break
			}
		}
	}
	_ = stdin.Close() // which ends it
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("claude: %v; %s", err, stderr)
	}
}
