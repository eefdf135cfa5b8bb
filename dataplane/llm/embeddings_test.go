package llm

import "testing"

func TestEmbeddingsAnswer(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]AnswerKind{
		`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]}],"model":"m"}`: RealAnswer,
		`{"data":[{"embedding":"AAAAAA=="},{"embedding":[1]}]}`:                                           RealAnswer,
		`{"error":null,"data":[{"embedding":[1]}]}`:                                                       RealAnswer,
		`{"object":"list","data":[],"model":"m"}`:                                                         NoAnswer,
		`{"data":[{"embedding":[]}]}`:                                                                     NoAnswer,
		`{"data":[{"embedding":""}]}`:                                                                     NoAnswer,
		`{"data":[{"embedding":[1]},{"embedding":[ ]}]}`:                                                  NoAnswer,
		`{"data":[{"embedding":[1]},{"index":1}]}`:                                                        NoAnswer,
		`{"data":[{"embedding":null}]}`:                                                                   NoAnswer,
		`{"data":[[1,2]]}`:                                                                                NoAnswer,
		`{"data":{"embedding":[1]}}`:                                                                      NoAnswer,
		`{"data":[{"embedding":[1`:                                                                        NoAnswer,
		`{"data":[{"embedding":[1]}]} x`:                                                                  NoAnswer,
		`[{"embedding":[1]}]`:                                                                             NoAnswer,
		`{"choices":[{"message":{}}]}`:                                                                    NoAnswer,
		``:                                                                                                NoAnswer,
		`<html>`:                                                                                          NoAnswer,
		`{"error":{"message":"no"}}`:                                                                      ErrorAnswer,
		`{"data":[{"embedding":[1]}],"error":{"message":"no"}}`:                                           ErrorAnswer,
		`{"error":{"message":"no"},"data":[{"embedding":[1]}]}`:                                           ErrorAnswer,
	} {
		if got := Embeddings.ReadAnswer([]byte(body)); got != want {
			t.Errorf("%s: got %d, want %d", body, got, want)
		}
	}
}
