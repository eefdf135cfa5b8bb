// Package client is the admin API for Go programs. It puts under the operations that are
// generated from the API's description (package admin) what every caller needs alike: an
// access token that is fetched and renewed, errors as Go errors, calls that are sent again
// where that is safe, and listings as iterators.
//
//	c, err := client.New(client.Config{URL: "https://gateway.example", ClientID: id, ClientSecret: secret})
//	...
//	made, err := c.CreateProviderWithResponse(ctx, nil, admin.ProviderCreate{...})
//	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Status == http.StatusConflict {
//		...
//	}
//	for p, err := range client.List[admin.Provider](ctx, c.ListProviders, nil) {
//		...
//	}
//
// A call that the API refuses returns an [*Error], so JSON200 of a response (or what else
// the operation answers with) is set whenever err is nil. The operations, their parameters
// and what each field means are described by the document under /docs of every control
// plane.
package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/api/admin"
)

// callTimeout bounds one try of a call where the caller's HTTP client sets no limit.
const callTimeout = time.Minute

// defaultRetries is how often a call is sent again.
const defaultRetries = 3

// Config says where the API is and who calls. Either Token or ClientID and ClientSecret
// are required.
type Config struct {
	// URL is the control plane's, such as "https://gateway.example". Required.
	URL string

	// ClientID and ClientSecret are a service account's. They are exchanged for access
	// tokens at TokenURL (RFC 6749, section 4.4), by default "/oauth/token" of URL.
	ClientID     string
	ClientSecret string
	TokenURL     string

	// Token is an access token to use as it is. It is not renewed.
	Token string

	// HTTPClient sends the calls. Default: one that gives each try a minute. Redirects
	// are never followed, since they would carry credentials to wherever they lead.
	HTTPClient *http.Client

	// Retries is how often at most a call is sent again after a connection error or an
	// answer that says to try later (502, 503, 504), with growing pauses between 0.2
	// and 5 s. 0 means 3, a negative number never. What is sent again is at [Client].
	Retries int

	// UserAgent is put before the client's own. Optional.
	UserAgent string
}

// Format keeps the secrets out of whatever prints a Config.
func (c Config) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "client.Config{URL: %q, ClientID: %q}", c.URL, c.ClientID)
}

// Client calls the admin API. Its methods are the operations of the API's description:
// of ListProviders, say, the one that returns the HTTP response, and
// ListProvidersWithResponse, which returns it decoded. It may be used by several
// goroutines at once.
//
// A call is sent again (Config.Retries) where a second time does no harm: every creation
// carries an Idempotency-Key, which the client makes up unless the caller gives one. A
// DELETE, or a change with If-Match, that may have reached the server is not: the second
// try would be answered with 404 or 412 although the first was done.
type Client struct {
	*admin.ClientWithResponses
}

// New returns a client. It does not connect: the first call does.
func New(cfg Config) (*Client, error) {
	base, err := absolute("URL", cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Token == "" && (cfg.ClientID == "" || cfg.ClientSecret == "") {
		return nil, errors.New("client: Config.Token, or Config.ClientID and Config.ClientSecret, are required")
	}
	if cfg.Token != "" && (cfg.ClientID != "" || cfg.ClientSecret != "") {
		return nil, errors.New("client: Config.Token excludes Config.ClientID and Config.ClientSecret")
	}
	token, err := absolute("TokenURL", cmp.Or(cfg.TokenURL, base+"/oauth/token"))
	if err != nil {
		return nil, err
	}
	d := &doer{http: keepHere(cfg.HTTPClient), retries: cfg.Retries, agent: strings.TrimSpace(cfg.UserAgent + " spillway-go")}
	if d.retries == 0 {
		d.retries = defaultRetries
	}
	d.tokens = &tokens{http: d.http, url: token, id: cfg.ClientID, secret: cfg.ClientSecret, fixed: cfg.Token, turn: make(chan struct{}, 1)}
	generated, err := admin.NewClientWithResponses(base, admin.WithHTTPClient(d))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Client{generated}, nil
}

// absolute returns an address without a slash at its end.
func absolute(field, text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("client: Config.%s must be an absolute http or https URL without user, query and fragment", field)
	}
	return strings.TrimRight(text, "/"), nil
}

// keepHere is the caller's HTTP client, or the default one, without redirects.
func keepHere(given *http.Client) *http.Client {
	out := http.Client{Timeout: callTimeout}
	if given != nil {
		out = *given
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}
