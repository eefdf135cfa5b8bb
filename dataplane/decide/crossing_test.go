package decide

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// A target is asked in the caller's dialect where it takes it, else in one of its own;
// with somebody's own subscription only as its own tool asks.
func TestDialectOfATarget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		family, auth, settings string
		want                   map[llm.Dialect]llm.Dialect
	}{
		"OpenAI":          {"openai", "bearer_api_key", "", map[llm.Dialect]llm.Dialect{llm.Chat: llm.Chat, llm.Messages: llm.Chat, llm.Responses: llm.Responses}},
		"Anthropic":       {"anthropic", "x_api_key", "", map[llm.Dialect]llm.Dialect{llm.Chat: llm.Messages, llm.Messages: llm.Messages, llm.Responses: llm.Messages}},
		"Groq":            {"groq", "bearer_api_key", "", map[llm.Dialect]llm.Dialect{llm.Chat: llm.Chat, llm.Messages: llm.Chat, llm.Responses: llm.Chat}},
		"CustomAnthropic": {"custom", "bearer_api_key", `{"model_api_family":"anthropic"}`, map[llm.Dialect]llm.Dialect{llm.Chat: llm.Messages, llm.Messages: llm.Messages, llm.Responses: llm.Messages}},
		"Codex":           {"openai", "codex_oauth", "", map[llm.Dialect]llm.Dialect{llm.Responses: llm.Responses}},
		"ClaudeSeats":     {"anthropic", "claude_oauth", "", map[llm.Dialect]llm.Dialect{llm.Messages: llm.Messages}},
		"Bedrock":         {"bedrock", "bedrock_api_key", "", map[llm.Dialect]llm.Dialect{llm.Chat: llm.Converse, llm.Messages: llm.Converse, llm.Responses: llm.Converse}},
	} {
		target := compileProvider(t, node.Provider{Family: c.family, AuthType: c.auth, BaseURL: "https://llm.example", Settings: []byte(c.settings), Credential: &node.Sealed{}})
		for _, from := range []llm.Dialect{llm.Chat, llm.Messages, llm.Responses} {
			to, ok := target.Dialect(from)
			if want, can := c.want[from]; ok != can || to != want {
				t.Errorf("%s from %s: got %s %t, want %s %t", name, from, to, ok, want, can)
			}
		}
	}
}

// A model that thinks is asked in responses where its provider takes that: from gpt-5.4 on
// it takes no tools in chat.
func TestDialectOfAModelThatThinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		family, model string
		want          llm.Dialect
	}{
		"Thinks":      {"openai", "gpt-5.5", llm.Responses},
		"DoesNot":     {"openai", "gpt-4.1", llm.Chat},
		"NotKnown":    {"openai", "ft:mine", llm.Chat},
		"NoResponses": {"groq", "openai/gpt-5.5", llm.Chat},
		"Claude":      {"anthropic", "claude-opus-4-6", llm.Messages},
	} {
		target := compileProvider(t, node.Provider{Family: c.family, AuthType: "bearer_api_key", BaseURL: "https://llm.example", Credential: &node.Sealed{}})
		target.UpstreamModel = c.model
		if to, ok := target.Dialect(llm.Messages); !ok || to != c.want {
			t.Errorf("%s: got %s %t, want %s", name, to, ok, c.want)
		}
	}
	target := compileProvider(t, node.Provider{Family: "openai", AuthType: "bearer_api_key", BaseURL: "https://llm.example", Credential: &node.Sealed{}})
	target.UpstreamModel = "gpt-5.5"
	if to, ok := target.Dialect(llm.Chat); !ok || to != llm.Chat {
		t.Errorf("from chat, which it takes: got %s %t", to, ok)
	}
}

func TestModelOfATarget(t *testing.T) {
	t.Parallel()
	for base, caches := range map[string]bool{"https://openrouter.ai": true, "https://llm.example": false} {
		target := compileProvider(t, node.Provider{Family: "custom", AuthType: "bearer_api_key", BaseURL: base, Credential: &node.Sealed{}})
		if m := target.Model(); m.Name != "m" || m.Caches != caches {
			t.Errorf("%s: %+v", base, m)
		}
	}
}

// A request that another dialect has no words for is refused for the field, where no
// other target could be asked; else the others say how it ends.
func TestCannotTranslate(t *testing.T) {
	t.Parallel()
	cannot := &llm.CannotError{Field: "n", Reason: "messages answers have one choice"}
	for name, c := range map[string]struct {
		second  func(run *Run, target *Target)
		prepare func(*Route)
		status  int
		code    string
	}{
		"All":      {func(run *Run, target *Target) { run.Refuse(target, cannot) }, nil, http.StatusBadRequest, "cannot_translate"},
		"Failed":   {func(run *Run, target *Target) { run.Fail(target, verdict(503), time.Millisecond) }, nil, http.StatusServiceUnavailable, "all_targets_failed"},
		"Disabled": {nil, func(r *Route) { r.Targets[1].Unservable = TargetDisabled }, http.StatusBadRequest, "cannot_translate"},
		"Cooling": {nil, func(r *Route) {
			r.Targets[1].Health.Cell.Own(happened{0, node.HealthRateLimited, 0, 12}.event())
		}, http.StatusTooManyRequests, "all_targets_unavailable"},
	} {
		r := route(2)
		if c.prepare != nil {
			c.prepare(r)
		}
		run := NewRun(r, llm.Responses, 1, Own{}, nil)
		target, admission, _ := run.Next(now)
		admission.Release()
		run.Refuse(target, cannot)
		if target, _, ok := run.Next(now); ok != (c.second != nil) {
			t.Fatalf("%s: a second target: %t", name, ok)
		} else if ok {
			c.second(&run, target)
		}
		e := run.Exhausted()
		if e.Status != c.status || e.Code != c.code {
			t.Errorf("%s: got %d %s, want %d %s", name, e.Status, e.Code, c.status, c.code)
		}
		if a := run.Attempts[0]; a.Outcome != OutcomeSkipped || a.Reason != "cannot_translate" || a.Message != cannot.Error() || a.RetryAfterSecs != nil {
			t.Errorf("%s: attempt %+v", name, a)
		}
		if named := e.Param == "n" && strings.Contains(e.Message, cannot.Error()); named != (c.status == 400) {
			t.Errorf("%s: %+v", name, e)
		}
		if got := e.Error(nil).Param; got != e.Param {
			t.Errorf("%s: the error's param is %q", name, got)
		}
	}
}
