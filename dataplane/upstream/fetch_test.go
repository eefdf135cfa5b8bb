package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

const (
	png = "\x89PNG\r\n\x1a\n and more"
	pdf = "%PDF-1.7 and more"
)

// fetching is a client that may reach this machine's 127.0.0.1 and nothing else that is
// not public, and a server of files there.
func fetching(t *testing.T, serve http.HandlerFunc) (*Client, string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	client := New(Config{Guard: Guard{AllowFiles: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}})
	t.Cleanup(client.Close)
	return client, server.URL
}

// A network that is open to a provider is not open to what callers write.
func TestFetchRefusesTheNetworksOfProviders(t *testing.T) {
	t.Parallel()
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(server.Close)
	client := New(Config{Guard: Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(client.Close)
	wantUnfetched(t, client, server.URL, "not public")
	if asked {
		t.Error("it was asked all the same")
	}
}

// wantUnfetched checks that a file is refused for a reason that is said.
func wantUnfetched(t *testing.T, client *Client, url, want string) {
	t.Helper()
	file, err := client.Fetch(t.Context(), uuid.New(), url, 100)
	var refusal *FetchError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) || file.Data != nil {
		t.Errorf("%s: got %v and %d bytes, want %q", url, err, len(file.Data), want)
	}
}

func TestFetchTellsTheTypeByTheContent(t *testing.T) {
	t.Parallel()
	client, url := fetching(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = r.URL.Query()["type"]
		_, _ = w.Write([]byte(r.URL.Query().Get("data")))
	})
	for _, c := range []struct{ header, data, want string }{
		{"image/png", png, "image/png"},
		{"image/png; charset=binary", png, "image/png"},
		{"image/jpeg", png, "image/png"}, // a host's guess by the file's name
		{"application/octet-stream", "\xff\xd8\xff\xe0 JFIF", "image/jpeg"},
		{"binary/octet-stream", "GIF89a", "image/gif"},
		{"image/webp", "RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"},
		{"application/pdf", pdf, "application/pdf"},
	} {
		q := "/?type=" + escape(c.header) + "&data=" + escape(c.data)
		file, err := client.Fetch(t.Context(), uuid.New(), url+q, 100)
		if err != nil || file.MIME != c.want || string(file.Data) != c.data {
			t.Errorf("%q: got %s of %d bytes, %v", c.header, file.MIME, len(file.Data), err)
		}
	}
	for _, c := range []struct{ header, data, want string }{
		{"text/html", png, "its host says that it is text/html"},
		{"application/pdf", png, "says that it is application/pdf"},
		{"image/png", pdf, "says that it is image/png"},
		{"image/png", "<html>", "neither a PNG"},
		{"image/svg+xml", "<svg></svg>", "neither a PNG"},
		{"image/png", "", "neither a PNG"},
		{strings.Repeat("x", 100) + "/y", png, "something else"},
	} {
		wantUnfetched(t, client, url+"/?type="+c.header+"&data="+escape(c.data), c.want)
	}
}

// escape is text as a value of a query.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789ABCDEF"[c&15]))
	}
	return b.String()
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	client, url := fetching(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/declared": // as too long
			w.Header().Set("Content-Length", "101")
			_, _ = w.Write([]byte(png))
		case "/long": // and does not say so
			_, _ = w.Write([]byte(png))
			w.(http.Flusher).Flush()
			_, _ = w.Write(make([]byte, 101-len(png)))
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte(png))
		case "/cut":
			w.Header().Set("Content-Length", "90")
			_, _ = w.Write([]byte(png))
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/hop4", "/hop3", "/hop2", "/hop1":
			http.Redirect(w, r, "/hop"+string(r.URL.Path[4]-1), http.StatusFound)
		case "/hop0":
			_, _ = w.Write([]byte(pdf))
		default:
			to := strings.TrimPrefix(r.URL.Path, "/to/")
			w.Header().Set("Location", strings.Replace(to, ":/", "://", 1))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	for path, want := range map[string]string{
		"/declared": "larger than 100 bytes", "/long": "larger than 100 bytes", "/gzip": "compressed", "/cut": "broke off",
		"/gone": "status 410", "/hop4": "redirects more than 3 times",
		"/to/http:/10.0.0.1/a": "not public", "/to/http:/[::ffff:169.254.169.254]/a": "not public", "/to/https:/[64:ff9b::a00:1]/a": "not public",
		"/to/http:/100.64.0.1/a": "not public", "/to/http:/127.0.0.2/a": "not public", "/to/http:/[2002:a00:1::]/a": "not public",
		"/to/file:/etc/passwd": "not an http or https URL", "/to/gopher:/e.com": "not an http or https URL", "/to/http:/u:p@127.0.0.1/": "password",
	} {
		wantUnfetched(t, client, url+path, want)
	}
	if _, err := client.Fetch(t.Context(), uuid.New(), url+"/hop3", 100); err != nil {
		t.Errorf("three redirects: %v", err)
	}
	before := asked.Load()
	for address, want := range map[string]string{
		"http://10.0.0.1/": "not public", "http://[fd00:ec2::254]/latest": "not public", "http://169.254.169.254/latest": "not public",
		"file:///etc/passwd": "not an http or https URL", "/a": "not an http or https URL",
		"http:///a": "not an http or https URL", "://": "not a URL", strings.Replace(url, "//", "//u:p@", 1): "password",
	} {
		wantUnfetched(t, client, address, want)
	}
	guarded := New(Config{})
	t.Cleanup(guarded.Close)
	wantUnfetched(t, guarded, url+"/a.png", "not public")
	if n := asked.Load() - before; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// What a host is told is the address and nothing else, after redirects too.
func TestFetchSendsNothingOfTheCaller(t *testing.T) {
	t.Parallel()
	var headers []http.Header
	client, url := fetching(t, func(w http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header.Clone())
		if len(headers) <= maxRedirects {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/again", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(pdf))
	})
	file, err := client.Fetch(t.Context(), uuid.New(), url+"/?signature=secret", 100)
	if err != nil || string(file.Data) != pdf {
		t.Fatal(err)
	}
	want := http.Header{"User-Agent": {"spillway"}, "Accept": {"image/*, application/pdf"}, "Connection": {"close"}}
	for i, got := range headers {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
	if len(headers) != maxRedirects+1 {
		t.Errorf("%d requests", len(headers))
	}
}

// An organization whose files do not come waits for itself only, and leaves nothing behind.
func TestFetchesOfAnOrganizationAreBounded(t *testing.T) {
	t.Parallel()
	came := make(chan struct{}, fetchesOfAll)
	client, url := fetching(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			came <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(pdf))
	})
	slow, other := uuid.New(), uuid.New()
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, fetchesOfOrg)
	for range fetchesOfOrg {
		go func() {
			_, err := client.Fetch(ctx, slow, url+"/slow", 100)
			results <- err
		}()
	}
	for range fetchesOfOrg {
		<-came
	}
	waiting, leave := context.WithCancel(t.Context())
	leave()
	for range 30 {
		if done, err := client.files.turn(waiting, slow); err == nil {
			t.Error("one more of the same organization has a turn")
			done()
		}
	}
	if _, err := client.Fetch(t.Context(), other, url+"/fast", 100); err != nil {
		t.Errorf("another organization: %v", err)
	}
	cancel()
	for range fetchesOfOrg {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("a file that did not come: %v", err)
		}
	}
	if _, err := client.Fetch(t.Context(), slow, url+"/fast", 100); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if n := len(client.files.all); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}
