package main

import (
	"bytes"
	"fmt"
	"strings"
)

// What the systems are asked for. The upstream answers by the words in a model's name,
// so the same names work with and without a gateway that maps them.
const (
	modelGood  = "bench"       // JSON, or a stream without pauses
	modelPaced = "bench-paced" // a stream with pauses
	modelHold  = "bench-hold"  // a stream that waits for its release
)

// target names the upstream model of a route. It is not the route's own name: the admin
// API takes a row whose two names are the same for the model's enablement.
func target(route string) string { return "real-" + route }

// failingRoute names the nth route whose first target always fails.
func failingRoute(n int) string { return fmt.Sprintf("failover-%05d", n) }

// failingModel names its first target. Every route has one of its own, asked for at
// most maxFailures times.
func failingModel(n int) string { return fmt.Sprintf("bad-%05d", n) }

const maxFailures = 1000

const sentence = "The quick brown fox said \\\"jump over the lazy dog\\\" and did so, twice, on the way home.\\n"

// prompt is a chat request of about size bytes. The model comes after the messages, as
// the most used client sends it.
func prompt(model string, size int, stream bool) []byte {
	var b bytes.Buffer
	b.WriteString(`{"messages":[{"role":"user","content":"`)
	for b.Len()+len(sentence) < size-60 {
		b.WriteString(sentence)
	}
	fmt.Fprintf(&b, `"}],"model":%q,"stream":%v}`, model, stream)
	return b.Bytes()
}

// messagesPrompt asks the same in the other dialect.
func messagesPrompt(model string, size int) []byte {
	chat := prompt(model, size, false)
	return append([]byte(`{"max_tokens":1024,`), chat[1:]...)
}

// completion is the upstream's answer, about 1 KB.
func completion() []byte {
	return fmt.Appendf(nil, `{"id":"chatcmpl-bench","object":"chat.completion","created":1759104000,"model":"good","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":"%s","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":220,"completion_tokens":110,"total_tokens":330,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},`+
		`"service_tier":"default","system_fingerprint":"fp_bench"}`, strings.Repeat(sentence, 5))
}

// mark stands before the number of every chunk, by which a reader finds those that are
// lost, doubled or out of order.
const mark = `"content":"#`

const chunkHead = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1759104000,"model":"good",` +
	`"service_tier":"default","system_fingerprint":"fp_bench","choices":[{"index":0,"delta":{`

func roleChunk() []byte {
	return []byte(chunkHead + `"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n")
}

func contentChunk(n int) []byte {
	return fmt.Appendf(nil, chunkHead+mark+`%06d word"},"logprobs":null,"finish_reason":null}]}`+"\n\n", n)
}

func finishChunk() []byte {
	return []byte(chunkHead + `},"logprobs":null,"finish_reason":"stop"}]}` + "\n\n")
}

func usageChunk() []byte {
	return []byte(`data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1759104000,"model":"good","choices":[],` +
		`"usage":{"prompt_tokens":220,"completion_tokens":110,"total_tokens":330}}` + "\n\n")
}

const done = "data: [DONE]\n\n"
