package upstream

import (
	"context"
	"net/http"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// CountTokens asks a target that counts how many tokens a request for a message is. All
// else is as in Open.
// https://docs.anthropic.com/en/api/messages-count-tokens
func (c *Client) CountTokens(ctx context.Context, call Call) (*http.Response, error) {
	return c.send(ctx, call, call.Target.Endpoint(llm.Messages).Count)
}
