package provider

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (b *bundle) status(t *testing.T, model string) int {
	t.Helper()
	return b.ask(t, chatPath, body(chatPath, model, false)).StatusCode
}

func TestControl(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	put := func(name, raw string, want int) {
		t.Helper()
		if res := b.do(t, "PUT", "/control/"+name, raw, nil); res.StatusCode != want {
			t.Errorf("PUT %s %s: %s: %s", name, raw, res.Status, read(t, res))
		}
	}
	put("gpt-4o", `{"status":503}`, 200)
	put("meta%2Fllama%20%3F", `{"kind":"rate_limit","times":2,"retry_after":"3"}`, 200)
	put("a/b", `{"status":502}`, 200)
	put("gpt-4o", `{"status":99}`, 400)
	put("gpt-4o", `{"kind":"nonsense"}`, 400)
	put("gpt-4o", `{"statsu":503}`, 400)
	put("gpt-4o", `{"delay":"long"}`, 400)
	put("gpt-4o", `{"cut_after":-2}`, 400)
	put("gpt-4o", `not JSON`, 400)
	put("", `{}`, 400)

	var got []int
	for _, model := range []string{"gpt-4o", "gpt-4o", "meta/llama ?", "meta/llama ?", "meta/llama ?", "a/b", "other"} {
		got = append(got, b.status(t, model))
	}
	if diff := cmp.Diff(got, []int{503, 503, 429, 429, 200, 502, 200}); diff != "" {
		t.Error(diff)
	}
	var state struct {
		Models []ModelState `json:"models"`
		Kinds  []string     `json:"kinds"`
	}
	if err := json.Unmarshal([]byte(read(t, b.do(t, "GET", "/control", "", nil))), &state); err != nil {
		t.Fatal(err)
	}
	want := []ModelState{
		{Model: "a/b", Requests: 1, Next: []Behavior{{Status: 502}}},
		{Model: "gpt-4o", Requests: 2, Next: []Behavior{{Status: 503}}},
		{Model: "meta/llama ?", Requests: 3},
		{Model: "other", Requests: 1},
	}
	if diff := cmp.Diff(state.Models, want); diff != "" {
		t.Error(diff)
	}

	if res := b.do(t, "DELETE", "/control/gpt-4o", "", nil); res.StatusCode != 200 || b.status(t, "gpt-4o") != 200 {
		t.Error("not healed")
	}
	put("*", `{"status":529,"times":1}`, 200)
	if first, second := b.status(t, "any"), b.status(t, "any"); first != 529 || second != 200 {
		t.Error(first, second)
	}
}

func TestControlLoopbackOnly(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for _, c := range []struct {
		from, forwarded string
		want            int
	}{
		{"127.0.0.1:1", "", 200}, {"[::1]:1", "", 200}, {"127.0.0.1:1", "192.0.2.1", 403}, {"192.0.2.1:1", "", 403}, {"10.0.0.1:1", "", 403}, {"@", "", 403},
	} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			path := "/control/m"
			if method == "GET" {
				path = "/control"
			}
			r := httptest.NewRequest(method, path, strings.NewReader(`{"status":503}`))
			r.RemoteAddr = c.from
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%s from %s %s: %d, want %d", method, c.from, c.forwarded, w.Code, c.want)
			}
		}
	}
}

func TestScriptOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.Script("m", Behavior{Status: 503}, Behavior{Status: 500, Times: 2}, Behavior{}, Behavior{Status: 502})
	var got []int
	for range 6 {
		got = append(got, b.status(t, "m"))
	}
	if diff := cmp.Diff(got, []int{503, 500, 500, 200, 502, 502}); diff != "" {
		t.Error(diff)
	}
	b.Script("m")
	if got := b.status(t, "m"); got != 200 {
		t.Error(got)
	}
	b.Script("*", Behavior{Status: 503})
	b.Script("m", Behavior{})
	if one, all := b.status(t, "m"), b.status(t, "n"); one != 200 || all != 503 {
		t.Error(one, all)
	}
}

func TestScriptKey(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	b.ScriptKey("m", "sk-1", Behavior{Status: 429})
	if got := b.status(t, "m"); got != 429 {
		t.Error(got)
	}
	if got := b.do(t, "POST", chatPath, body(chatPath, "m", false), map[string]string{"Authorization": "Bearer sk-2"}).StatusCode; got != 200 {
		t.Error(got)
	}
}

func TestScriptPanicsOnNonsense(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, `unknown kind "x"`) {
			t.Error(got)
		}
	}()
	New(Config{}).Script("m", Behavior{Kind: "x"})
}

func TestBehaviorJSON(t *testing.T) {
	t.Parallel()
	want := Behavior{Status: 200, Delay: 250 * time.Millisecond, EventDelay: time.Second, Tokens: 3, Usage: &Usage{Input: 1}, Times: 2}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(raw), `{"status":200,"tokens":3,"usage":{"input":1,"cache_read":0,"cache_write":0,"output":0,"reasoning":0},"times":2,"delay":"250ms","event_delay":"1s"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if diff := cmp.Diff(parse(t, string(raw)), want); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				b.Script("m", Behavior{Status: 500 + i%4, Times: 1})
				_ = b.ask(t, chatPath, body(chatPath, "m", j%2 == 0)).Body.Close()
				_ = b.Requests()
			}
		})
	}
	wg.Wait()
	if got := len(b.Requests()); got != 160 {
		t.Errorf("%d requests", got)
	}
}
