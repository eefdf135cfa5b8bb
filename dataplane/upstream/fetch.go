package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Limits of fetching. The sizes are what vendors take of one file and the gateway of one
// request: more would be refused there.
const (
	MaxFile      = 20 << 20 // bytes of one file
	maxRedirects = 3
	// Files in flight: of one organization, so that its slow hosts keep nobody else
	// waiting, and of all, which bounds the memory.
	fetchesOfOrg = 8
	fetchesOfAll = 32
)

// FetchError is a file that could not be had. Its text is for the caller, who wrote the
// URL: a clause that tells neither an address it led to nor anything of this network.
type FetchError struct {
	Reason string
	Large  bool // more bytes than were asked for
}

func (e *FetchError) Error() string { return e.Reason }

func unfetched(format string, args ...any) *FetchError {
	return &FetchError{Reason: fmt.Sprintf(format, args...)}
}

// fetcher gets files from anywhere. It shares nothing with the connections to providers.
type fetcher struct {
	client http.Client
	all    chan struct{}
	orgs   sync.Map // uuid.UUID -> chan struct{}, one for each organization that ever fetched
}

func newFetcher(dial func(ctx context.Context, network, address string) (net.Conn, error)) *fetcher {
	return &fetcher{
		all: make(chan struct{}, fetchesOfAll),
		client: http.Client{
			CheckRedirect: checkRedirect,
			Transport: &http.Transport{
				// No proxy from the environment, no connection that outlives its file, and
				// no decompression, which would make a small answer a large one.
				DialContext: dial, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true, DisableCompression: true,
				MaxResponseHeaderBytes: 64 << 10,
			},
		},
	}
}

var errTooManyRedirects = errors.New("too many redirects")

// checkRedirect lets a redirect go on. The guard sees its address when it is dialed.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errTooManyRedirects
	}
	req.Header.Del("Referer") // a URL may be a secret by which anyone can read the file
	if refusal := fetchable(req.URL); refusal != nil {
		return refusal
	}
	return nil // and not refusal, which would be an error that is nil
}

// fetchable refuses what is no plain web address.
func fetchable(u *url.URL) *FetchError {
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return unfetched("it is not an http or https URL")
	case u.User != nil:
		return unfetched("it has a password in it")
	}
	return nil
}

// Fetch gets the image or the PDF at an address that a caller wrote, of at most limit bytes.
// It dials as guarded as to a provider, after each of at most three redirects too, and
// sends nothing of the caller's or the gateway's but the address. What it is is told by its
// content, which the header must not contradict. The error is a *FetchError.
// Canceling ctx ends it, the wait for a turn included.
func (c *Client) Fetch(ctx context.Context, org uuid.UUID, address string, limit int64) (llm.File, error) {
	u, err := url.Parse(address)
	if err != nil {
		return llm.File{}, unfetched("it is not a URL")
	}
	if refusal := fetchable(u); refusal != nil {
		return llm.File{}, refusal
	}
	done, err := c.files.turn(ctx, org)
	if err != nil {
		return llm.File{}, unfetched("it did not come in time")
	}
	defer done()
	file, err := c.files.get(ctx, u, limit)
	if err != nil {
		return llm.File{}, fetchError(ctx, err)
	}
	return file, nil
}

// turn waits until one more file may be in flight.
func (f *fetcher) turn(ctx context.Context, org uuid.UUID) (done func(), err error) {
	own, ok := f.orgs.Load(org)
	if !ok {
		own, _ = f.orgs.LoadOrStore(org, make(chan struct{}, fetchesOfOrg))
	}
	turns := [...]chan struct{}{own.(chan struct{}), f.all}
	for i, turn := range turns {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			for _, taken := range turns[:i] {
				<-taken
			}
			return nil, ctx.Err()
		}
	}
	return func() {
		for _, taken := range turns {
			<-taken
		}
	}, nil
}

func (f *fetcher) get(ctx context.Context, u *url.URL, limit int64) (file llm.File, err error) {
	req := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"User-Agent": {"spillway"}, "Accept": {"image/*, application/pdf"}},
	}).WithContext(ctx)
	resp, err := f.client.Do(req)
	if err != nil {
		return file, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode != http.StatusOK:
		return file, unfetched("its host answered with status %d", resp.StatusCode)
	case resp.Header.Get("Content-Encoding") != "":
		return file, unfetched("it comes compressed, which was not asked for")
	case resp.ContentLength > limit:
		return file, tooLarge(limit)
	}
	file.Data, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return file, err
	case int64(len(file.Data)) > limit:
		return file, tooLarge(limit)
	}
	file.MIME, err = fileType(resp.Header.Get("Content-Type"), file.Data)
	return file, err
}

func tooLarge(limit int64) *FetchError {
	return &FetchError{fmt.Sprintf("it is larger than %d bytes", limit), true}
}

// fileTypes are what vendors take.
var fileTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "application/pdf": true}

// fileType is what a file is by its content, which is what a vendor looks at. Hosts say
// image/jpeg of a PNG, and of anything that it is bytes; but a page is not an image,
// whatever it begins with.
func fileType(header string, data []byte) (string, error) {
	is := http.DetectContentType(data)
	said, _, _ := mime.ParseMediaType(header)
	kind, _, _ := strings.Cut(is, "/")
	switch {
	case !fileTypes[is]:
		return "", unfetched("it is neither a PNG, JPEG, GIF or WebP image nor a PDF")
	case said == "", said == is, strings.HasSuffix(said, "/octet-stream"), kind == "image" && strings.HasPrefix(said, "image/"):
		return is, nil
	}
	return "", unfetched("its host says that it is %s", shown(said))
}

// shown is a media type as it can stand in an error.
func shown(mediaType string) string {
	if len(mediaType) > 60 {
		return "something else"
	}
	return mediaType
}

// fetchError says why a file did not come, without telling what lies behind its name.
func fetchError(ctx context.Context, err error) *FetchError {
	var said *FetchError
	var timeout net.Error
	switch {
	case errors.As(err, &said):
		return said
	case errors.Is(err, ErrForbidden):
		return unfetched("it leads to an address that is not public")
	case errors.Is(err, errTooManyRedirects):
		return unfetched("it redirects more than %d times", maxRedirects)
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return unfetched("it did not come in time")
	}
	return unfetched("its host could not be reached, or broke off")
}
