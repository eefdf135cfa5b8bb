package llm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A chat conversation with another vendor's calls is given ids that the target takes, the
// same to a call and its result, and nothing else of it changes.
func TestFitted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 41)
	body := func(id, between string) string {
		return `{"model":"m", "seed":1.0,"messages":[{"role":"user","content":"a"},{"role":"assistant", "content":"","tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{ \"tool_call_id\":1}"}}]},` +
			`{"role":"tool","tool_call_id":"` + id + `","content":"x"},` + between + `{"role":"user","content":"b"}],"tools":[{"type": "function"}]}`
	}
	const answered = `{"role":"assistant","content":"(The results have come.)"},`
	for name, c := range map[string]struct{ family, body, want string }{
		"NineLetters":       {"mistral", body("abcDEF123", answered), ""},
		"Others":            {"mistral", body("call_1", answered), body("pzjw2jx61", answered)},
		"Escaped":           {"mistral", body(`call_\u0031`, answered), body("pzjw2jx61", answered)},
		"UserAfterResults":  {"mistral", body("abcDEF123", ""), body("abcDEF123", answered)},
		"LongForOpenAI":     {"openai", body(long, ""), body(strings.Repeat("x", 31)+"_fb64f7a7", "")},
		"LongForAzure":      {"azure_openai", body(long, ""), body(strings.Repeat("x", 31)+"_fb64f7a7", "")},
		"LongForOpenRouter": {"openrouter", body(long, ""), body(strings.Repeat("x", 31)+"_fb64f7a7", "")},
		"LongEnough":        {"openai", body(long[1:], ""), ""},
		"Anyhow":            {"groq", body(long, ""), ""},
		"NoCalls":           {"mistral", `{"model":"m","messages":[{"role":"user","content":"\"tool_call_id\""}]}`, ""},
		"NoText":            {"mistral", `{"model":"m","messages":[{"role":"tool","tool_call_id":7,"content":"x"},{"role":"tool","tool_call_id" : "abcDEF123"}]}`, ""},
		"Broken":            {"mistral", `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1"},{"role":"tool","role":"user"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := KnownModel("m").At(c.family, "")
			got, changed := Fitted([]byte(c.body), &m)
			if changed != (c.want != "") {
				t.Fatalf("changed %t: %s", changed, got)
			}
			if want := strings.NewReplacer(`"m", "seed"`, `"m","seed"`, `"assistant", "content"`, `"assistant","content"`).Replace(c.want); changed {
				if diff := cmp.Diff(string(got), want); diff != "" {
					t.Errorf("(-got +want)\n%s", diff)
				}
			}
		})
	}
}
