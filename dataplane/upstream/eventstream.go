package upstream

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

const (
	// maxMessage bounds one message of an event stream. AWS's own are at most 16 MiB of
	// payload and 128 KiB of headers.
	// https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
	maxMessage = 16<<20 + 128<<10 + 16
	preludeLen = 12 // two lengths, and their checksum
)

var errEventStream = errors.New("not a good event stream")

// eventStream reads AWS's binary framing of a stream as the server-sent events of the
// dialect. It ends well only between two messages: an end within one is io.ErrUnexpectedEOF,
// and what a checksum does not fit, or what is no message, is an error.
type eventStream struct {
	body    io.ReadCloser
	in      *bufio.Reader
	decoder *eventstream.Decoder
	dialect llm.Dialect
	chunks  llm.BedrockChunks
	payload []byte // of the last message; used again
	out     []byte // events that are not read yet
	ready   []byte // backs out
	err     error
}

func newEventStream(body io.ReadCloser, d llm.Dialect) *eventStream {
	return &eventStream{body: body, in: bufio.NewReaderSize(body, 16<<10), decoder: eventstream.NewDecoder(), dialect: d}
}

func (s *eventStream) Close() error { return s.body.Close() }

// Read gives events as they come. Those that have come together are given together.
func (s *eventStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 && s.err == nil {
		s.ready = s.ready[:0]
		s.err = s.next()
		for s.err == nil && s.buffered() && len(s.ready) < len(p) {
			s.err = s.next()
		}
		s.out = s.ready
	}
	n := copy(p, s.out)
	if s.out = s.out[n:]; n > 0 {
		return n, nil
	}
	return 0, s.err
}

// buffered reports whether a whole message is here already, so that reading it waits for
// nobody.
func (s *eventStream) buffered() bool {
	if s.in.Buffered() < preludeLen {
		return false
	}
	prelude, _ := s.in.Peek(preludeLen) // no error: it is there
	return int64(s.in.Buffered()) >= int64(binary.BigEndian.Uint32(prelude))
}

// next reads one message into ready.
func (s *eventStream) next() error {
	prelude, err := s.in.Peek(preludeLen)
	switch {
	case errors.Is(err, io.EOF) && len(prelude) == 0:
		return io.EOF
	case err != nil:
		return unexpected(err)
	}
	length := binary.BigEndian.Uint32(prelude)
	if length > maxMessage {
		return fmt.Errorf("%w: a message of %d bytes", errEventStream, length)
	}
	// The decoder takes memory as bytes come, whatever length is claimed.
	m, err := s.decoder.Decode(io.LimitReader(s.in, int64(length)), s.payload)
	if err != nil {
		return unexpected(err)
	}
	if m.Payload != nil {
		s.payload = m.Payload[:0]
	}
	return s.message(&m)
}

// unexpected makes an end of bytes inside a message what it is.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	var checksum eventstream.ChecksumError
	if errors.As(err, &checksum) {
		return fmt.Errorf("%w: a checksum does not fit", errEventStream)
	}
	return err
}

// message writes one message as an event.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
// https://smithy.io/2.0/aws/amazon-eventstream.html
func (s *eventStream) message(m *eventstream.Message) error {
	switch header(m, ":message-type") {
	case "event":
		return s.event(header(m, ":event-type"), m.Payload)
	case "exception":
		s.exception(header(m, ":exception-type"), m.Payload)
		return nil
	case "error":
		said, _ := json.Marshal(struct { // a string: nothing that could fail
			Message string `json:"message"`
		}{header(m, ":error-message")})
		s.exception(header(m, ":error-code"), said)
		return nil
	}
	return fmt.Errorf("%w: a message of no known type", errEventStream)
}

// event writes an event. Of Anthropic's models all that is said comes in chunks; in
// Bedrock's own dialect the event is the message.
func (s *eventStream) event(name string, payload []byte) error {
	if s.dialect != llm.Messages {
		if !json.Valid(payload) {
			return fmt.Errorf("%w: an event that is not JSON", errEventStream)
		}
		s.ready = llm.AppendEvent(s.ready, name, payload)
		return nil
	}
	if name != "chunk" {
		return nil // nothing that the dialect has
	}
	var chunk struct {
		Bytes []byte `json:"bytes"`
	}
	if err := json.Unmarshal(payload, &chunk); err != nil {
		return fmt.Errorf("%w: a chunk that is not JSON", errEventStream)
	}
	out, err := s.chunks.Append(s.ready, chunk.Bytes)
	if err != nil {
		return fmt.Errorf("%w: a chunk: %w", errEventStream, err)
	}
	s.ready = out
	return nil
}

// exception writes what ends the stream as an error event of the dialect. Both say it in
// Anthropic's words; in Bedrock's own dialect the event has the exception's name, by which it
// is known there.
func (s *eventStream) exception(name string, payload []byte) {
	event := "error"
	if s.dialect != llm.Messages {
		event = strings.TrimSuffix(llm.ExceptionName(name), "Exception") + "Exception"
	}
	s.ready = llm.AppendEvent(s.ready, event, llm.BedrockError(name, 0, payload))
}

// header is a message's header that is a string, or empty.
func header(m *eventstream.Message, name string) string {
	if v, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}
