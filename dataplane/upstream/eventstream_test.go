package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

func awsTestKeys() aws.Credentials { return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "s"} }

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func bytesOf(frames ...[]byte) []byte { return bytes.Join(frames, nil) }

// frame writes a message of an event stream with headers that are strings, in pairs.
func frame(t testing.TB, payload string, headers ...string) []byte {
	t.Helper()
	var m eventstream.Message
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	m.Payload = []byte(payload)
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func chunk(t testing.TB, data string) []byte {
	return frame(t, `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(data))+`","p":"abc"}`, ":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

func event(t testing.TB, name, data string) []byte {
	return frame(t, data, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

func exception(t testing.TB, name, data string) []byte {
	return frame(t, data, ":exception-type", name, ":content-type", "application/json", ":message-type", "exception")
}

func readStream(in io.Reader, d llm.Dialect) (string, error) {
	out, err := io.ReadAll(newEventStream(io.NopCloser(in), d))
	return string(out), err
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	throttled := "data: " + string(llm.BedrockError("throttlingException", 0, []byte(`{"message":"slow"}`))) + "\n\n"
	for name, c := range map[string]struct {
		dialect llm.Dialect
		in      []byte
		want    string
	}{
		"Chunks": {llm.Messages, bytesOf(chunk(t, `{"type":"message_start"}`), event(t, "metadata", `{}`), chunk(t, `{"type":"message_stop","amazon-bedrock-invocationMetrics":{}}`)),
			"event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		"Exception": {llm.Messages, bytesOf(chunk(t, `{"type":"ping"}`), exception(t, "throttlingException", `{"message":"slow"}`)),
			"event: ping\ndata: {\"type\":\"ping\"}\n\nevent: error\n" + throttled},
		"Converse": {llm.Converse, bytesOf(event(t, "messageStart", `{"role":"assistant"}`), event(t, "messageStop", "{\"stopReason\":\n\"end_turn\"}")),
			"event: messageStart\ndata: {\"role\":\"assistant\"}\n\nevent: messageStop\ndata: {\"stopReason\":\"end_turn\"}\n\n"},
		"ConverseException": {llm.Converse, exception(t, "throttlingException", `{"message":"slow"}`), "event: ThrottlingException\n" + throttled},
		"Error":             {llm.Messages, frame(t, "", ":message-type", "error", ":error-code", "ThrottlingException", ":error-message", "slow"), "event: error\n" + throttled},
		"ErrorOfNoException": {llm.Converse, frame(t, "", ":message-type", "error", ":error-code", "500", ":error-message", "m"),
			"event: 500Exception\ndata: " + string(llm.BedrockError("500", 0, []byte(`{"message":"m"}`))) + "\n\n"},
		"NameWithLines": {llm.Converse, event(t, "a\n\ndata: x", `{}`), "event: adata: x\ndata: {}\n\n"},
		"Nothing":       {llm.Messages, nil, ""},
	} {
		for _, in := range []io.Reader{bytes.NewReader(c.in), iotest.OneByteReader(bytes.NewReader(c.in)), iotest.DataErrReader(bytes.NewReader(c.in))} {
			got, err := readStream(in, c.dialect)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v -want +got\n%s", name, err, diff)
			}
		}
	}
}

// Wherever a stream is cut, what came whole is there, and the end is no clean one but
// between two messages, where the dialect knows that it is not over.
func TestEventStreamCutAnywhere(t *testing.T) {
	t.Parallel()
	frames := [][]byte{chunk(t, `{"type":"message_start"}`), chunk(t, `{"type":"content_block_delta"}`), chunk(t, `{"type":"message_stop"}`)}
	whole := bytesOf(frames...)
	ends := map[int]int{0: 0, len(frames[0]): 1, len(frames[0]) + len(frames[1]): 2}
	for cut := range len(whole) {
		got, err := readStream(bytes.NewReader(whole[:cut]), llm.Messages)
		n, between := ends[cut]
		if between && (err != nil || strings.Count(got, "event: ") != n) || !between && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d of %d: %v after %q", cut, len(whole), err, got)
		}
		// The same where the connection breaks rather than ends.
		broken := errors.New("reset")
		if _, err = readStream(io.MultiReader(bytes.NewReader(whole[:cut]), iotest.ErrReader(broken)), llm.Messages); !errors.Is(err, broken) {
			t.Fatalf("reset at %d: %v", cut, err)
		}
	}
}

// A byte that changed on the way is noticed, whichever it is.
func TestEventStreamDamagedAnywhere(t *testing.T) {
	t.Parallel()
	good := chunk(t, `{"type":"message_start"}`)
	next := chunk(t, `{"type":"message_stop"}`)
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		got, err := readStream(bytes.NewReader(bytesOf(bad, next)), llm.Messages)
		if err == nil || errors.Is(err, io.EOF) && got != "" || strings.Contains(got, "message_start") {
			t.Fatalf("byte %d: %v after %q", at, err, got)
		}
	}
}

// Who claims a length sets no memory aside with it, and one that is too long is refused.
// It is not parallel: it measures what is allocated.
func TestEventStreamHostileLengths(t *testing.T) {
	claim := func(total, headers uint32) []byte {
		b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, total), headers)
		return append(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), "abc"...)
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"Long":        {claim(1<<32-1, 0), errEventStream},
		"LongHeaders": {claim(maxMessage, maxMessage-16), io.ErrUnexpectedEOF},
		"Most":        {claim(maxMessage, 0), io.ErrUnexpectedEOF},
		"TooShort":    {claim(15, 0), nil},
		"Headers":     {claim(100, 101), nil},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readStream(bytes.NewReader(c.in), llm.Messages)
		runtime.ReadMemStats(&after)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: %d bytes were allocated for %d", name, took, len(c.in))
		}
	}
}

// What is no event of any dialect ends the stream as broken.
func TestEventStreamRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, in := range map[string][]byte{
		"NoType":       frame(t, `{}`, ":event-type", "chunk"),
		"UnknownType":  frame(t, `{}`, ":message-type", "news", ":event-type", "chunk"),
		"ChunkNoJSON":  event(t, "chunk", `x`),
		"ChunkNoBytes": event(t, "chunk", `{"bytes":"?"}`),
		"ChunkEmpty":   event(t, "chunk", `{}`),
		"ChunkNoEvent": chunk(t, `[]`),
		"SSE":          []byte("event: message_start\ndata: {}\n\n"),
		"HTML":         []byte("<!DOCTYPE html><html></html>"),
	} {
		if got, err := readStream(bytes.NewReader(in), llm.Messages); err == nil || got != "" {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	if got, err := readStream(bytes.NewReader(event(t, "messageStart", `{"role":`)), llm.Converse); err == nil || got != "" {
		t.Errorf("%v, %q", err, got)
	}
}

// An event goes out when it is whole, whatever comes after it and when.
func TestEventStreamWaitsForNobody(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }()
	s := newEventStream(r, llm.Messages)
	first, second := chunk(t, `{"type":"message_start"}`), chunk(t, `{"type":"message_stop"}`)
	written := make(chan error, 1)
	go func() {
		_, err := w.Write(bytesOf(first, second[:len(second)-1])) // and the last byte never
		written <- err
	}()
	buf := make([]byte, 4096)
	n, err := s.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "event: message_start") || strings.Contains(string(buf[:n]), "message_stop") {
		t.Errorf("%v: %q", err, buf[:n])
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// However bytes are damaged, reading ends, with events that are events.
func FuzzEventStream(f *testing.F) {
	f.Add(bytesOf(chunk(f, `{"type":"message_start"}`), exception(f, "throttlingException", `{"message":"x"}`)), true)
	f.Add(event(f, "messageStart", `{"role":"assistant"}`), false)
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, in []byte, messages bool) {
		d := llm.Converse
		if messages {
			d = llm.Messages
		}
		got, _ := readStream(bytes.NewReader(in), d)
		for block := range strings.SplitSeq(strings.TrimSuffix(got, "\n\n"), "\n\n") {
			if block == "" {
				continue
			}
			name, data, ok := strings.Cut(block, "\n")
			data, isData := strings.CutPrefix(data, "data: ")
			if !ok || !isData || !strings.HasPrefix(name, "event: ") || !json.Valid([]byte(data)) {
				t.Fatalf("not an event: %q", block)
			}
		}
	})
}
