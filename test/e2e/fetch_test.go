package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

const pdf = "%PDF-1.7 of one page"

// fileHost serves files, and counts how often each is asked for.
type fileHost struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newFileHost(t *testing.T) *fileHost {
	t.Helper()
	h := &fileHost{asked: map[string]int{}}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

func (h *fileHost) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked[r.URL.Path]++
	h.mu.Unlock()
	switch r.URL.Path {
	case "/inside.pdf":
		http.Redirect(w, r, "http://10.11.12.13/secret.pdf", http.StatusFound)
	case "/large.pdf":
		w.Header().Set("Content-Length", fmt.Sprint(20<<20+1))
		_, _ = w.Write([]byte(pdf))
	case "/10mb-1.pdf", "/10mb-2.pdf", "/10mb-3.pdf", "/10mb-4.pdf":
		_, _ = w.Write([]byte(pdf))
		_, _ = w.Write(make([]byte, 10<<20))
	case "/page.pdf":
		_, _ = w.Write([]byte("<html>sign in"))
	case "/image.pdf":
		_, _ = w.Write([]byte("\x89PNG\r\n\x1a\n"))
	case "/slow.pdf":
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write([]byte(pdf))
	}
}

func (h *fileHost) times(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[path]
}

// documents are requests over documents at URLs, by the way of asking: for providers that
// take chat, which knows documents as bytes only.
var documents = map[string]struct{ path, start, each, field, end string }{
	"messages":  {"/v1/messages", `{"model":%q,"stream":%t,"max_tokens":9,"messages":[{"role":"user","content":[`, `{"type":"document","source":{"type":"url","url":%q}}`, "messages[0].content[%d].source.url", `,{"type":"text","text":"Hello"}]}]}`},
	"responses": {"/v1/responses", `{"model":%q,"stream":%t,"input":[{"role":"user","content":[`, `{"type":"input_file","file_url":%q}`, "input[0].content[%d].file_url", `,{"type":"input_text","text":"Hello"}]}]}`},
}

// about asks over files.
func about(e *env.Env, way, route string, stream bool, urls ...string) env.Answer {
	d := documents[way]
	var parts []string
	for _, url := range urls {
		parts = append(parts, fmt.Sprintf(d.each, url))
	}
	return e.Call(0, d.path, fmt.Sprintf(d.start, route, stream)+strings.Join(parts, ",")+d.end, map[string]string{"Anthropic-Version": "2023-06-01"})
}

// A document behind a URL is fetched where a target takes bytes only, once for all targets
// of the request, and reaches each as it is.
func TestFilesAreFetchedOnce(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for way := range documents {
		for _, stream := range []bool{false, true} {
			route := fmt.Sprintf("%s-%t", way, stream)
			for n, model := range []string{route + "-1", route + "-2"} {
				e.AddTarget(route, e.AddProvider(model, "groq", model), model, n+1, nil)
			}
			e.Provider.Script(route+"-1", provider.Behavior{Status: 503})
		}
	}
	e.Live()
	for way := range documents {
		for _, stream := range []bool{false, true} {
			route := fmt.Sprintf("%s-%t", way, stream)
			host := newFileHost(t)
			a := about(e, way, route, stream, host.URL+"/a.pdf", host.URL+"/b.pdf", host.URL+"/a.pdf")
			wantServed(t, a, "Hello")
			for _, path := range []string{"/a.pdf", "/b.pdf"} {
				if n := host.times(path); n != 1 {
					t.Errorf("%s: %s was asked for %d times", route, path, n)
				}
			}
			want := `"file_data":"data:application/pdf;base64,` + base64.StdEncoding.EncodeToString([]byte(pdf)) + `"`
			for _, model := range []string{route + "-1", route + "-2"} {
				if body := string(last(t, e, model).Body); strings.Count(body, want) != 3 || strings.Contains(body, host.URL) {
					t.Errorf("%s got %s", model, body)
				}
			}
		}
	}
}

// Anthropic's models on AWS and on Google's cloud take no URLs, in their own dialect neither:
// what a caller gives by its URL reaches them as bytes, wherever in the conversation it is.
func TestFilesReachTheCloudsAsBytes(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	const vertexClaude = "claude-opus-4-6@default"
	e.AddTarget("aws", addBedrock(e, "aws", nil), bedrockClaude, 1, nil)
	e.AddTarget("google", addVertex(t, e, "google", vertexClaude), vertexClaude, 1, nil)
	e.Live()
	host := newFileHost(t)
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	asked := 0
	for route, model := range map[string]string{"aws": bedrockClaude, "google": vertexClaude} {
		for path, body := range map[string]string{
			"/v1/messages": `{"model":%q,"stream":%t,"max_tokens":9,"messages":[{"role":"user","content":"Look"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url","url":%q}}]},{"type":"text","text":"Hello"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
			"/v1/chat/completions": `{"model":%q,"stream":%t,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%q}},{"type":"text","text":"Hello"}]}]}`,
		} {
			for _, stream := range []bool{false, true} {
				asked++
				a := e.Call(0, path, fmt.Sprintf(body, route, stream, host.URL+"/image.pdf"), map[string]string{"Anthropic-Version": "2023-06-01"})
				if a.Status != http.StatusOK {
					t.Errorf("%s at %s, streamed %t: status %d: %s", route, path, stream, a.Status, a.Body)
				}
				if r := last(t, e, model); !strings.Contains(string(r.Body), `{"type":"base64","media_type":"image/png","data":"`+png+`"}`) || len(r.Problems) > 0 {
					t.Errorf("%s at %s, streamed %t: problems %q: %s", route, path, stream, r.Problems, r.Body)
				}
			}
		}
	}
	if n := host.times("/image.pdf"); n != asked {
		t.Errorf("the file was asked for %d times, by %d requests", n, asked)
	}
	a := e.Call(0, "/v1/messages", fmt.Sprintf(`{"model":"aws","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":%q}}]}]}`, host.URL+"/page.pdf"), map[string]string{"Anthropic-Version": "2023-06-01"})
	if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "messages[0].content[0].source.url") {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}

// A file that cannot be had is a 400 that names the field and why, and no provider is
// asked about another in its place.
func TestFilesThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	e.AddTarget("route", e.AddProvider("one", "groq", "first"), "first", 1, map[string]any{"request_timeout_secs": 1, "stream_idle_timeout_secs": 1})
	second := e.AddProvider("two", "groq", "second")
	e.AddTarget("route", second, "second", 2, nil)
	e.AddTarget("patient", second, "second", 1, nil)
	e.Live()
	host := newFileHost(t)
	for way, d := range documents {
		for _, c := range []struct {
			urls []string
			why  string
			at   int // of the files, the one at fault
		}{
			{[]string{"/ok.pdf", "/inside.pdf"}, "not public", 1},
			{[]string{"/large.pdf"}, "larger than", 0},
			{[]string{"/page.pdf"}, "neither", 0},
			{[]string{"/image.pdf"}, "what is behind it is image/png and not a PDF", 0},
			{[]string{"/slow.pdf"}, "did not come in time", 0},
			{[]string{"/10mb-1.pdf", "/10mb-2.pdf", "/10mb-3.pdf", "/10mb-4.pdf"}, "together larger than 32 MiB", 3},
			{strings.Split(strings.Repeat("/ok.pdf?n ", 21), " ")[:21], "no more than 20", 0},
		} {
			var urls []string
			for n, path := range c.urls {
				urls = append(urls, host.URL+strings.ReplaceAll(path, "?n", fmt.Sprint("?", n)))
			}
			route := "patient"
			if c.urls[0] == "/slow.pdf" {
				route = "route" // its first target has no patience
			}
			a := about(e, way, route, way == "messages", urls...)
			var out struct {
				Error struct{ Message, Param string }
			}
			if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != http.StatusBadRequest || a.Header.Get("X-Bd-Error-Origin") != "gateway" {
				t.Fatalf("%s: status %d: %s", c.urls[0], a.Status, a.Body)
			}
			field := fmt.Sprintf(d.field, c.at)
			if !strings.Contains(out.Error.Message, field+": ") || !strings.Contains(out.Error.Message, c.why) || strings.Contains(out.Error.Message, "10.11.12.13") || strings.Contains(out.Error.Message, "127.0.0.1") {
				t.Errorf("%s: %s", c.urls[0], out.Error.Message)
			}
			if way == "responses" && out.Error.Param != field {
				t.Errorf("%s: param %q", c.urls[0], out.Error.Param)
			}
		}
	}
	if n := host.times("/slow.pdf"); n != len(documents) {
		t.Errorf("the slow file was asked for %d times, want once for each request", n)
	}
	if n := asked(e, "first") + asked(e, "second"); n != 0 {
		t.Errorf("providers were asked %d times", n)
	}
	if routes := health(e).Routes; len(routes) != 0 {
		t.Errorf("it was charged to somebody's health: %+v", routes)
	}
}
