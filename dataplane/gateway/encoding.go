package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// maxWindow bounds what a zstd frame may ask the decoder to remember, in bytes: what
// RFC 8878 asks every decoder to support, and more than tools use.
const maxWindow = 8 << 20

// errTooLarge is a body that decodes to more than maxBody.
var errTooLarge = errors.New("the decoded body is too large")

// decoded returns a body without the coding that its Content-Encoding names. The rest
// of the request sees no difference, and the provider is sent the decoded body.
func decoded(coding string, body []byte) ([]byte, *llm.Error) {
	var decode func(dst io.Writer, body []byte) error
	switch strings.ToLower(coding) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		decode = gunzip
	case "zstd":
		decode = unzstd
	default:
		return nil, &llm.Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding", Message: "content-encoding " + strconv.Quote(coding) + " is not known: send gzip, zstd or none"}
	}
	// Decoded twice: what a body comes to is known before memory is set aside for it, so
	// that a few bytes that decode to many cost time alone, and little of that.
	var size counter
	err := decode(&size, body)
	if err == nil {
		out := bytes.NewBuffer(make([]byte, 0, size))
		if err = decode(out, body); err == nil {
			return out.Bytes(), nil
		}
	}
	if errors.Is(err, errTooLarge) {
		return nil, tooLarge()
	}
	return nil, &llm.Error{Status: http.StatusBadRequest, Code: "unreadable_body", Message: "the request body is not the " + strings.ToLower(coding) + " that its content-encoding says"}
}

// counter counts bytes, up to what a body may have.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	if *c += counter(len(p)); *c > maxBody {
		return 0, errTooLarge
	}
	return len(p), nil
}

func gunzip(dst io.Writer, body []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, z)
	return err
}

// zstdDecoders work in the goroutine that uses them and hold no other.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err // options that are wrong are wrong every time: a test finds them
	}
	return d
}}

func unzstd(dst io.Writer, body []byte) error {
	d, ok := zstdDecoders.Get().(*zstd.Decoder)
	if !ok {
		return errors.New("no zstd decoder")
	}
	defer zstdDecoders.Put(d)
	if err := d.Reset(bytes.NewReader(body)); err != nil {
		return err
	}
	_, err := d.WriteTo(dst)
	_ = d.Reset(nil) // lets go of the body
	return err
}
