package e2e

import (
	"context"
	"net/http"

	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	openairesponses "github.com/openai/openai-go/v3/responses"
)

// askResponses makes a call of OpenAI's responses.
func askResponses(ctx context.Context, c sdkCall) (got sdkOutcome, _ error) {
	client := openai.NewClient(openaioption.WithBaseURL(c.BaseURL+"/v1"), openaioption.WithAPIKey(c.Key), openaioption.WithMaxRetries(0))
	params := openairesponses.ResponseNewParams{Model: c.Model, Input: openairesponses.ResponseNewParamsInputUnion{OfString: openai.String("Hello")}}
	var resp *http.Response
	var err error
	switch c.Kind {
	case askWhole:
		var answer *openairesponses.Response
		if answer, err = client.Responses.New(ctx, params, openaioption.WithResponseInto(&resp)); err == nil {
			got.Text, got.Finish, got.Tokens = answer.OutputText(), string(answer.Status), answer.Usage.OutputTokens
		}
	case askStream:
		err = streamResponse(ctx, client, params, &resp, &got)
	case askModels:
		got.Models, err = openAIModels(ctx, client)
	}
	got.read(resp)
	return got, got.fail(err)
}

// streamResponse reads a response event by event, as an application does that shows
// what comes. One that failed is told by its last event, and is no error of the SDK's.
func streamResponse(ctx context.Context, client openai.Client, params openairesponses.ResponseNewParams, resp **http.Response, got *sdkOutcome) error {
	events := client.Responses.NewStreaming(ctx, params, openaioption.WithResponseInto(resp))
	for events.Next() {
		ev := events.Current()
		switch ev.Type {
		case "response.output_text.delta":
			got.Text += ev.Delta
		case "response.completed":
			got.Finish, got.Tokens = string(ev.Response.Status), ev.Response.Usage.OutputTokens
		case "response.failed":
			got.Error = &sdkFailure{Class: ev.Type, Code: string(ev.Response.Error.Code), Message: ev.Response.Error.Message}
		}
	}
	return events.Err()
}
