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
	// modelMessages is served by a provider that speaks messages; gateway only.
	modelMessages = "bench-messages"
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
func messagesPrompt(model string, size int, stream bool) []byte {
	chat := prompt(model, size, stream)
	return append([]byte(`{"max_tokens":1024,`), chat[1:]...)
}

// agentPrompt is what an agent sends to say "hi", about 48 KB of instructions and tools: in
// the messages dialect, and the same in chat.
func agentPrompt(model string) (messages, chat []byte) {
	const tools = 20
	instructions := strings.Repeat("You are an agent that helps with code.\\n", 300)
	description := strings.Repeat("Reads and writes \\\"files\\\". ", 60)
	schema := `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	var m, c bytes.Buffer
	fmt.Fprintf(&m, `{"model":%q,"max_tokens":1024,"system":[{"type":"text","text":"%s","cache_control":{"type":"ephemeral"}}],`+
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[`, model, instructions)
	fmt.Fprintf(&c, `{"model":%q,"max_tokens":1024,"messages":[{"role":"system","content":"%s"},{"role":"user","content":"hi"}],"tools":[`, model, instructions)
	for n := range tools {
		if n > 0 {
			m.WriteByte(',')
			c.WriteByte(',')
		}
		fmt.Fprintf(&m, `{"name":"tool%d","description":"%s","input_schema":%s}`, n, description, schema)
		fmt.Fprintf(&c, `{"type":"function","function":{"name":"tool%d","description":"%s","parameters":%s}}`, n, description, schema)
	}
	m.WriteString(`]}`)
	c.WriteString(`]}`)
	return m.Bytes(), c.Bytes()
}

// message is the upstream's answer in the other dialect.
func message() []byte {
	return fmt.Appendf(nil, `{"id":"msg_bench","type":"message","role":"assistant","model":"good","content":[{"type":"text","text":"%s"}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":220,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":110}}`,
		strings.Repeat(sentence, 5))
}

// messageEvents are a stream in that dialect, with as many deltas as one in chat has.
func messageEvents() (events [][]byte) {
	add := func(name, format string, args ...any) {
		events = append(events, fmt.Appendf(nil, "event: "+name+"\ndata: "+format+"\n\n", args...))
	}
	add("message_start", `{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"good","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":220,"output_tokens":1}}}`)
	add("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for n := range fastEvents {
		add("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text`+mark+`%06d word"}}`, n)
	}
	add("content_block_stop", `{"type":"content_block_stop","index":0}`)
	add("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":110}}`)
	add("message_stop", `{"type":"message_stop"}`)
	return events
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
const mark = `":"#`

const chunkHead = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1759104000,"model":"good",` +
	`"service_tier":"default","system_fingerprint":"fp_bench","choices":[{"index":0,"delta":{`

func roleChunk() []byte {
	return []byte(chunkHead + `"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n")
}

func contentChunk(n int) []byte {
	return fmt.Appendf(nil, chunkHead+`"content`+mark+`%06d word"},"logprobs":null,"finish_reason":null}]}`+"\n\n", n)
}

func finishChunk() []byte {
	return []byte(chunkHead + `},"logprobs":null,"finish_reason":"stop"}]}` + "\n\n")
}

func usageChunk() []byte {
	return []byte(`data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1759104000,"model":"good","choices":[],` +
		`"usage":{"prompt_tokens":220,"completion_tokens":110,"total_tokens":330}}` + "\n\n")
}

const done = "data: [DONE]\n\n"
