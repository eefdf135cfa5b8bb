package upstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// framing is what a family says in other frames than its dialect has: nothing above this
// package knows of it. It serves many requests at once.
type framing interface {
	// ask makes a request's header what the family takes, before it is signed.
	ask(req *http.Request, call *Call)
	// answer makes an answer the dialect's. It reads nothing yet.
	answer(resp *http.Response, call *Call)
}

// bedrock is Bedrock's framing: a binary one for streams, and errors by the names of
// exceptions.
type bedrock struct{}

const bedrockStream = "application/vnd.amazon.eventstream"

// ask keeps of the header what Bedrock reads. All that is sent is signed.
func (bedrock) ask(req *http.Request, call *Call) {
	for name := range req.Header {
		if name != "User-Agent" {
			delete(req.Header, name)
		}
	}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json"}
	if call.Stream && !call.Whole {
		req.Header["Accept"] = []string{bedrockStream}
	}
}

func (bedrock) answer(resp *http.Response, call *Call) {
	if id := resp.Header["X-Amzn-Requestid"]; id != nil {
		resp.Header["Request-Id"] = id
	}
	switch {
	case resp.StatusCode > 299:
		resp.Body = &rewritten{body: resp.Body, limit: maxError, write: func(body []byte) []byte {
			return llm.BedrockError(resp.Header.Get("X-Amzn-Errortype"), resp.StatusCode, body)
		}}
		resp.Header["Content-Type"] = []string{"application/json"}
	case strings.HasPrefix(resp.Header.Get("Content-Type"), bedrockStream):
		resp.Body = newEventStream(resp.Body, call.Dialect)
		resp.Header["Content-Type"] = []string{"text/event-stream"}
	case call.Whole:
		resp.Body = &rewritten{body: resp.Body, limit: maxWhole, cut: true, write: llm.ConverseEvents}
		resp.Header["Content-Type"] = []string{"text/event-stream"}
	default:
		return
	}
	resp.ContentLength = -1
	delete(resp.Header, "Content-Length")
}

// maxError bounds what is read of an error, maxWhole of an answer that is made a stream; what
// follows is left.
const (
	maxError = 256 << 10
	maxWhole = 32 << 20
)

// rewritten is a body that is read whole and written anew when it is read first: an error in
// Anthropic's envelope, an answer in one piece as a stream.
type rewritten struct {
	body  io.ReadCloser
	limit int64
	cut   bool // what broke off is nothing
	write func(body []byte) []byte
	said  *bytes.Reader
	err   error // that reading broke off with
}

func (e *rewritten) Close() error { return e.body.Close() }

func (e *rewritten) Read(p []byte) (int, error) {
	if e.said == nil {
		body, err := io.ReadAll(io.LimitReader(e.body, e.limit))
		if e.said, e.err = bytes.NewReader(nil), err; err == nil || !e.cut {
			e.said = bytes.NewReader(e.write(body))
		}
	}
	n, err := e.said.Read(p)
	if err == io.EOF && e.err != nil {
		err = e.err
	}
	return n, err
}
