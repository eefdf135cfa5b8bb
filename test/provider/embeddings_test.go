package provider

import (
	"strings"
	"testing"
)

const embeddingsPath = "/v1/embeddings"

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	ask := func(body string) string {
		return read(t, b.do(t, "POST", embeddingsPath, body, goodHeaders(chatPath)))
	}
	for body, want := range map[string]string{
		`{"model":"m","input":"a","dimensions":2}`:                   `"embedding":[`,
		`{"model":"m","input":["a","b"],"encoding_format":"base64"}`: `"index":1,"embedding":"`,
		`{"model":"m","input":[1,2,3]}`:                              `"index":0,"embedding":[`,
		`{"model":"m","input":"a","encoding_format":"hex"}`:          `"param":"encoding_format"`,
		`{"model":"m","input":[]}`:                                   `"param":"input"`,
		`{"model":"m"}`:                                              `"param":"input"`,
		`{"input":"a"}`:                                              "model parameter",
		`{"model":"missing-m","input":"a"}`:                          "model_not_found",
	} {
		if got := ask(body); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s in it", body, got, want)
		}
	}
	same := `{"model":"m","input":"a"}`
	if one := ask(same); one != ask(same) || one == ask(`{"model":"n","input":"a"}`) {
		t.Error("a vector is the model's and the input's, always the same")
	}
	b.Script("m", Behavior{Status: 503, Times: 1})
	if got := ask(same); !strings.Contains(got, `"error"`) {
		t.Errorf("scripted to fail, got %s", got)
	}
}

func TestCountTokensIsChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	for body, want := range map[string]string{
		`{}`: "model: Field required", `{"model":"m","max_tokens":1}`: "Extra inputs", `[`: "not valid JSON", `{"model":"m"}`: `"input_tokens":4`,
	} {
		if got := read(t, b.ask(t, countPath, body)); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s in it", body, got, want)
		}
	}
	b.Script(countPath, Behavior{Status: 404, Times: 1})
	if res := b.ask(t, countPath, `{"model":"m"}`); res.StatusCode != 404 {
		t.Errorf("scripted to fail, got status %d", res.StatusCode)
	}
	if list := b.Requests(); list[len(list)-1].Model != "m" {
		t.Errorf("the record names model %q", list[len(list)-1].Model)
	}
}
