package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

func embeddings() *dialect {
	return &dialect{
		name: "Embeddings", path: "/v1/embeddings", family: "openai", baseURL: "http://provider.test/v1", auth: "bearer_api_key",
		request: `{ "model":%q, "stream":%t,"encoding_format":"base64","input":["a","b"],"dimensions":2 }`,
		whole:   `{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPwAAAEA="}],"model":%q,"usage":{"prompt_tokens":2,"total_tokens":2}}`,
	}
}

// Two targets of one model stand for each other, and health hears of both.
func TestEmbeddingsFailOverToTheSameModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails script
		class decide.Class
	}{
		"503":       {func(c *call) { c.refuse(503) }, decide.ServerError},
		"429":       {func(c *call) { c.refuse(429) }, decide.RateLimited},
		"404":       {func(c *call) { c.refuse(404) }, decide.ModelNotFound},
		"NoVectors": {func(c *call) { c.say(`{"object":"list","data":[],"model":"first"}`) }, decide.BadAnswer},
		"HTML":      {func(c *call) { c.say("<html>") }, decide.BadAnswer},
		"Reset":     {func(c *call) { c.cut("", true) }, decide.Connection},
		"Hang":      {(*call).hang, decide.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := node.Mapping{UpstreamModel: "first"}
			bubble(t, embeddings(), []node.Mapping{first, {UpstreamModel: "second"}, first}, func(t *testing.T, b *bed) {
				b.on("first", func(call *call) {
					if len(b.asked("first")) == 1 {
						c.fails(call)
						return
					}
					call.say(call.answer("first"))
				})
				a := b.ask(false)
				if c.class == decide.RateLimited { // the third target is the first's, and cools with it
					if a.status != http.StatusTooManyRequests {
						t.Errorf("status %d: %s", a.status, a.body)
					}
				} else {
					b.served(a, false, "first", "1")
				}
				if told := b.watch.told("first"); len(told) == 0 || told[0] != c.class {
					t.Errorf("health heard %v, want %s", told, c.class)
				}
				if n := len(b.asked("second")); n > 0 {
					t.Errorf("another model was asked %d times", n)
				}
			})
		})
	}
}

func TestEmbeddingsOfAnotherModelAreNoAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, embeddings(), pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) { c.refuse(503) })
		a := b.ask(false)
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"different_embedding_model"`) || !strings.HasPrefix(a.body, `{"error":{`) {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		if n := len(b.asked("second")); n > 0 {
			t.Errorf("another model was asked %d times", n)
		}
	})
}

// What OpenAI's API does with a stream of embeddings is the provider's to say: the body
// goes as it is, and the answer is whole.
func TestEmbeddingsAreNeverStreamed(t *testing.T) {
	t.Parallel()
	bubble(t, embeddings(), pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) {
			c.stream = false
			c.say(c.answer("first"))
		})
		a := b.ask(true)
		if diff := cmp.Diff(b.answer("first"), a.body); diff != "" || a.status != http.StatusOK {
			t.Errorf("status %d, -want +got\n%s", a.status, diff)
		}
	})
}

// A batch in base64 may be larger than any answer of words.
func TestEmbeddingsMayBeLarge(t *testing.T) {
	t.Parallel()
	const size = 33 << 20
	bubble(t, embeddings(), pair(node.Mapping{}), func(t *testing.T, b *bed) {
		b.on("first", func(c *call) { c.say(`{"data":[{"embedding":"` + strings.Repeat("A", size) + `"}]}`) })
		if a := b.ask(false); a.status != http.StatusOK || len(a.body) < size || a.took > time.Minute {
			t.Errorf("status %d, %d bytes after %s", a.status, len(a.body), a.took)
		}
	})
}
