package upstream

import (
	"context"
	"net/http"

	"github.com/spillway-gateway/spillway/dataplane/decide"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// CountTokens asks a provider that takes Anthropic's messages how many tokens a request
// is. All else is as in Open.
// https://docs.anthropic.com/en/api/messages-count-tokens
func (c *Client) CountTokens(ctx context.Context, p *decide.Provider, header http.Header, own, rawQuery string, body Body) (*http.Response, error) {
	address := *p.Endpoints[llm.Messages]
	address.Path += "/count_tokens"
	return c.send(ctx, p, &address, header, own, rawQuery, body)
}
