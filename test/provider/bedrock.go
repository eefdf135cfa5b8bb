package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// bedrockModel is how a model reads and writes.
type bedrockModel interface {
	parse(body []byte) (call, *fault)
	document(c call, a answer) any
	stream(c call, a answer) []event
}

// bedrock is one call of AWS Bedrock's runtime: a model, and what AWS has around it.
type bedrock struct {
	bedrockModel
	x      *exchange
	denied *fault
}

func (s *Server) bedrockRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /model/{id}/{operation}", s.handle(always(messages{}), s.bedrockCall))
	mux.HandleFunc("GET /async-invoke", s.handle(always(messages{}), s.listAsyncInvokes))
	mux.HandleFunc("POST /{$}", s.assumeRole)
}

// listAsyncInvokes answers to whoever AWS knows.
func (s *Server) listAsyncInvokes(x *exchange) (name string, refusal *fault, good func() error) {
	x.dialect = bedrock{messages{}, x, s.deniedBy(x)}
	return "/async-invoke", nil, func() error {
		return x.body(http.StatusOK, "application/json", encode(object("asyncInvokeSummaries", []any{})))
	}
}

// credential is an API key, or the id of the key that signed.
func (bedrock) credential(h http.Header) string {
	if key := bearer(h); key != "" {
		return key
	}
	s, _ := readSignature(h.Get("Authorization"))
	return s.keyID
}

func (d bedrock) authorize(http.Header, func(string) bool) *fault { return d.denied }

// deniedBy is why AWS refuses who asks, which it looks at with the whole request.
func (s *Server) deniedBy(x *exchange) *fault {
	if key := bearer(x.r.Header); key != "" {
		if s.known(key) {
			return nil
		}
		return &fault{status: 403, typ: "AccessDeniedException", message: "Authentication failed: Please make sure your API Key is valid."}
	}
	refusal, problem := s.aws.signedBy(x.r, x.received, "bedrock", time.Now())
	if problem != "" {
		x.problems = append(x.problems, problem)
	}
	return refusal
}

func (bedrock) fault(status int, kind, model string) fault {
	return lookup(converseFaults, status, kind, model)
}

// errorBody says the exception's name where AWS does: in a header.
func (d bedrock) errorBody(f fault, _ string) any {
	if f.typ == "invalid_request_error" { // the model's own refusal, which AWS words so
		f.typ = "ValidationException"
	}
	d.x.w.Header().Set("X-Amzn-Errortype", f.typ+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	return object("message", f.message)
}

func (d bedrock) errorEvent(f fault, _ int) event {
	return eventStreamFrame(content, strings.ToLower(f.typ[:1])+f.typ[1:], object("message", f.message))
}

func (bedrock) headers(h http.Header, _ int, requestID string, _ time.Duration) {
	h.Set("X-Amzn-Requestid", requestID)
	h.Set("X-Request-Id", requestID) // not of AWS's, but where this package looks whether it has one
}

func (bedrock) streamType() string { return "application/vnd.amazon.eventstream" }

// bedrockCall is the plan of a call to a model: the address says which, and what for.
func (s *Server) bedrockCall(x *exchange) (name string, refusal *fault, good func() error) {
	id, operation := x.r.PathValue("id"), x.r.PathValue("operation")
	x.problems = append(x.problems, bedrockProblems(x.r, id)...)
	denied := s.deniedBy(x)
	streamed := operation == "invoke-with-response-stream" || operation == "converse-stream"
	switch operation {
	case "invoke", "invoke-with-response-stream":
		x.dialect = bedrock{bedrockClaude{id: id, streamed: streamed}, x, denied}
	case "converse", "converse-stream":
		x.dialect = bedrock{converse{model: id, streamed: streamed, frame: eventStreamFrame}, x, denied}
	default:
		x.dialect = bedrock{messages{}, x, denied}
		return id, &fault{status: 404, typ: "UnknownOperationException", message: "unknown operation"}, nil
	}
	x.call, refusal = x.dialect.parse(x.received)
	return id, refusal, x.generate
}

// bedrockProblems are what no client of AWS's sends.
func bedrockProblems(r *http.Request, id string) (found []string) {
	if path := strings.TrimPrefix(r.URL.EscapedPath(), "/model/"+awsEscaped(id, "")+"/"); strings.Contains(path, "/") {
		found = append(found, "the model is not escaped as AWS signs it: "+r.URL.EscapedPath())
	}
	if r.URL.RawQuery != "" {
		found = append(found, "a query that AWS does not know: "+r.URL.RawQuery)
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Anthropic-") || strings.HasPrefix(name, "Openai-") {
			found = append(found, "a header of another vendor reached AWS: "+name)
		}
	}
	stream := strings.HasSuffix(r.URL.Path, "-stream")
	if accept := r.Header.Get("Accept"); stream != (accept == "application/vnd.amazon.eventstream") || r.Header.Get("Content-Type") != "application/json" {
		found = append(found, "asked for "+accept+" with "+r.Header.Get("Content-Type"))
	}
	return found
}

// bedrockClaude is Anthropic's dialect as AWS takes it.
type bedrockClaude struct {
	messages
	id       string
	streamed bool
}

// What AWS takes of a body, and which betas. The last models take none.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
var (
	bedrockFields = []string{"anthropic_version", "anthropic_beta", "max_tokens", "messages", "metadata", "output_config", "stop_sequences", "system", "temperature",
		"thinking", "tool_choice", "tools", "top_k", "top_p"}
	bedrockBetas = []string{"computer-use-2025-01-24", "token-efficient-tools-2025-02-19", "interleaved-thinking-2025-05-14", "output-128k-2025-02-19",
		"dev-full-thinking-2025-05-14", "context-1m-2025-08-07", "context-management-2025-06-27", "effort-2025-11-24", "tool-search-tool-2025-10-19",
		"tool-examples-2025-10-29", "fine-grained-tool-streaming-2025-05-14", "computer-use-2025-11-24"}
	bedrockBetaless = []string{"-opus-4-7", "-opus-4-8", "-opus-5", "-sonnet-5"}
)

func (d bedrockClaude) parse(body []byte) (call, *fault) {
	refuse := func(message string) (call, *fault) {
		return call{model: d.id, stream: d.streamed}, &fault{status: 400, typ: "ValidationException", message: message}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return refuse("Malformed input request, please reformat your input and try again.")
	}
	if string(fields["anthropic_version"]) != `"bedrock-2023-05-31"` {
		return refuse("anthropic_version: Field required")
	}
	var betas []string
	if json.Unmarshal(fields["anthropic_beta"], &betas) != nil && fields["anthropic_beta"] != nil {
		return refuse("anthropic_beta: Input should be a valid list")
	}
	betaless := slices.ContainsFunc(bedrockBetaless, func(m string) bool { return strings.Contains(d.id, m) })
	for _, beta := range betas {
		if betaless || !slices.Contains(bedrockBetas, beta) {
			return refuse("invalid beta flag")
		}
	}
	for name := range fields {
		if !slices.Contains(bedrockFields, name) && (name != "context_management" || !slices.Contains(betas, "context-management-2025-06-27")) {
			return refuse(name + ": Extra inputs are not permitted")
		}
	}
	if message := bedrockExtra(body, betas); message != "" {
		return refuse(message)
	}
	fields["model"], fields["stream"] = encode(d.id), encode(d.streamed)
	c, f := d.messages.parse(encode(fields))
	return c, f
}

// Images and documents come as bytes on AWS and on Google's cloud.
// https://platform.claude.com/docs/en/build-with-claude/vision
var filesAtURLs = regexp.MustCompile(`"source":\s*\{[^{}]*"type":\s*"url"`)

const urlSources = "messages.0.content.1.image.source.base64.data: URL sources are not supported"

// bedrockExtra is what AWS refuses deep inside a body.
func bedrockExtra(body []byte, betas []string) string {
	for _, extra := range []string{`"scope"`, `"caller"`, `"eager_input_streaming"`} {
		if bytes.Contains(body, []byte(extra)) {
			return extra + ": Extra inputs are not permitted"
		}
	}
	if filesAtURLs.Match(body) {
		return urlSources
	}
	if !slices.Contains(betas, "tool-search-tool-2025-10-19") && (bytes.Contains(body, []byte(`"defer_loading"`)) || bytes.Contains(body, []byte(`"tool_reference"`))) {
		return "tools.0.custom.defer_loading: Extra inputs are not permitted"
	}
	return ""
}

// stream is Anthropic's stream in chunks. The last tells what it took.
func (d bedrockClaude) stream(c call, a answer) []event {
	events := d.messages.stream(c, a)
	for i, e := range events {
		_, data, _ := bytes.Cut(bytes.TrimSpace(e.wire), []byte("data: "))
		if i == len(events)-1 {
			data = append(bytes.TrimSuffix(data, []byte("}")), []byte(`,"amazon-bedrock-invocationMetrics":{"inputTokenCount":9,"outputTokenCount":10,"invocationLatency":551,"firstByteLatency":210}}`)...)
		}
		events[i] = eventStreamFrame(e.place, "chunk", object("bytes", base64.StdEncoding.EncodeToString(data), "p", "abcdefgh"))
	}
	return events
}

// eventStreamFrame writes a message of AWS's event streams; one whose name ends so is an
// exception.
// https://smithy.io/2.0/aws/amazon-eventstream.html
func eventStreamFrame(p place, name string, payload any) event {
	kind := "event"
	if strings.HasSuffix(name, "Exception") {
		kind = "exception"
	}
	var headers bytes.Buffer
	for _, h := range [][2]string{{":" + kind + "-type", name}, {":content-type", "application/json"}, {":message-type", kind}} {
		headers.WriteByte(byte(len(h[0])))
		headers.WriteString(h[0])
		headers.WriteByte(7) // a string
		headers.Write(binary.BigEndian.AppendUint16(nil, uint16(len(h[1]))))
		headers.WriteString(h[1])
	}
	body := encode(payload)
	frame := binary.BigEndian.AppendUint32(nil, uint32(16+headers.Len()+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(headers.Len()))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(append(frame, headers.Bytes()...), body...)
	return event{p, binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))}
}
