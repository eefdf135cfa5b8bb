package clients

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// Where the dialects are asked at a provider.
const (
	messagesPath  = "/v1/messages"
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
)

// upstream is a kind of model, and where a tool's request reaches it.
type upstream struct{ family, model, path string }

var (
	claudeModel = upstream{"anthropic", "claude-sonnet-4-5", messagesPath}
	gptModel    = upstream{"openai", "gpt-4.1", chatPath}
	llamaModel  = upstream{"groq", "llama-4", chatPath}
	// A model that thinks is asked in responses, unless the tool speaks chat.
	thinkingGPT = upstream{"openai", "gpt-5.5", responsesPath}
)

// way is what stands behind a route: one target, or one that fails and one that stands
// in for it.
type way struct {
	name  string
	first upstream
	then  upstream // zero: none
	down  int      // how many requests the first fails; -1 for all
	args  []string // what the tool needs to be told for these targets
	// mute: the person does not see what the model thinks.
	mute bool
}

// open makes the route of a way, and scripts what its models do. Models are named after
// the route, so that many routes share a system.
func (w way) open(e *env.Env, route string, steps ...provider.Behavior) *opened {
	o := &opened{way: w, route: route}
	for i, u := range []*upstream{&o.first, &o.then} {
		if u.model == "" {
			continue
		}
		u.model += "-of-" + route
		id := e.AddProvider(fmt.Sprintf("%s-%d", route, i+1), u.family, u.model)
		e.AddTarget(route, id, u.model, i+1, nil)
	}
	dead := provider.Behavior{Status: http.StatusServiceUnavailable}
	switch {
	case w.down < 0:
		e.Provider.Script(o.first.model, dead)
		e.Provider.Script(o.then.model, steps...)
	case w.down > 0:
		dead.Times = w.down
		e.Provider.Script(o.first.model, append([]provider.Behavior{dead}, steps[w.down:]...)...)
		e.Provider.Script(o.then.model, steps[:w.down]...)
	default:
		e.Provider.Script(o.first.model, steps...)
	}
	return o
}

// opened is a way with a route and models of its own.
type opened struct {
	way
	route string
}

// serves is who answers the n-th request, from 0.
func (o *opened) serves(n int) upstream {
	if o.down < 0 || n < o.down {
		return o.then
	}
	return o.first
}

// asked fails the test unless each target was asked as often as it must, in its dialect
// and with its own credential. It returns the requests that were answered well, in order.
func (o *opened) asked(t *testing.T, e *env.Env, answers int) []provider.Request {
	t.Helper()
	var good []provider.Request
	want, got := map[string]int{}, map[string]int{}
	for n := range answers {
		if want[o.serves(n).model]++; o.serves(n) == o.then {
			want[o.first.model]++ // in vain
		}
	}
	for _, r := range e.Provider.Calls() {
		i := slices.IndexFunc([]upstream{o.first, o.then}, func(u upstream) bool { return u.model == r.Model })
		if i < 0 {
			continue
		}
		u := []upstream{o.first, o.then}[i]
		got[r.Model]++
		if r.Status == http.StatusOK {
			good = append(good, r)
		}
		key := strings.TrimPrefix(r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"), "Bearer ")
		if r.Path != u.path || len(r.Problems) > 0 || key != fmt.Sprintf("upstream-secret-of-%s-%d", o.route, i+1) {
			t.Errorf("%s was asked at %s with %s; %q", r.Model, r.Path, key, r.Problems)
		}
	}
	for model, n := range want {
		if got[model] != n {
			t.Errorf("%s was asked %d times, want %d", model, got[model], n)
		}
	}
	if len(good) != answers {
		t.Fatalf("%d good answers, want %d", len(good), answers)
	}
	return good
}
