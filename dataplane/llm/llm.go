// Package llm knows the wire formats that callers and providers speak: where the
// control fields of a request are, how an event stream is framed, which events
// carry content, and what an error looks like. Where a target speaks another dialect
// than the caller, it translates: Parse and Translation are the way in. It is pure:
// bytes in, values out.
package llm

// Dialect is a wire format of requests, answers and streams.
type Dialect uint8

// Dialects. The zero value is none of them.
const (
	NoDialect  Dialect = iota
	Chat               // OpenAI chat completions
	Messages           // Anthropic messages
	Responses          // OpenAI responses
	Embeddings         // OpenAI embeddings: vectors, never streamed, and of no use in another dialect
	Converse           // AWS Bedrock's converse: what targets are asked in, and no caller

	// Dialects is how many values there are, for what is kept by dialect.
	Dialects = iota
)

// String names the dialect as logs and error texts do.
func (d Dialect) String() string {
	switch d {
	case Chat:
		return "chat"
	case Messages:
		return "messages"
	case Responses:
		return "responses"
	case Embeddings:
		return "embeddings"
	case Converse:
		return "converse"
	}
	return "none"
}
