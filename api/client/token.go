package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/api/admin"
)

// renewBefore is how long before its end a token is renewed, so that none ends on the
// way; of one that lives shorter, a fifth of its life.
const renewBefore = time.Minute

// tokens gets access tokens and keeps the last one.
type tokens struct {
	http       *http.Client
	url        string
	id, secret string
	fixed      string // in place of all that is below

	turn  chan struct{} // whoever may put something into it may read and write what follows
	token string
	until time.Time
}

// get returns a token that is good for a while. Callers that come while one is fetched
// wait for it, each as long as its own context lasts.
func (t *tokens) get(ctx context.Context) (string, error) {
	if t.fixed != "" {
		return t.fixed, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.token != "" && time.Now().Before(t.until) {
		return t.token, nil
	}
	answer, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	life := time.Duration(answer.ExpiresIn) * time.Second
	t.token, t.until = answer.AccessToken, time.Now().Add(life-min(renewBefore, life/5))
	return t.token, nil
}

// forget drops a token that the API has refused, and reports whether another can be had.
func (t *tokens) forget(refused string) bool {
	if t.fixed != "" {
		return false
	}
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	if t.token == refused {
		t.token = ""
	}
	return true
}

// fetch is the client credentials grant of RFC 6749, section 4.4, without a scope.
func (t *tokens) fetch(ctx context.Context) (answer admin.Token, err error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {t.id}, "client_secret": {t.secret}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(form.Encode()))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return answer, fmt.Errorf("getting an access token: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return answer, tokenRefused(resp)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		return answer, fmt.Errorf("getting an access token: %s did not answer with one; is the URL the control plane's?", t.url)
	}
	return answer, nil
}

// tokenRefused is the error of an answer of RFC 6749, section 5.2, or of another.
func tokenRefused(resp *http.Response) error {
	refused, ok := readError(resp).(*Error)
	if !ok {
		return fmt.Errorf("getting an access token: %s", resp.Status)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		refused.Type, refused.Code = string(admin.ErrorErrorTypeAuthenticationError), string(admin.TokenErrorErrorInvalidClient)
		refused.Message = "the client id or the client secret is wrong"
		return refused
	}
	refused.Message = "getting an access token: " + refused.Message
	return refused
}
