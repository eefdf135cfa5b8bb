package llm

import (
	"testing"
)

func TestErrorsAcross(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		caller Dialect
		status int
		body   string
		want   string
	}{
		"OverloadedToChat":     {Chat, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}`, `{"error":{"message":"Overloaded","type":"overloaded_error","code":"server_is_overloaded","param":null}}`},
		"RateLimitToResponses": {Responses, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`, `{"error":{"message":"m","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}`},
		"BillingToChat":        {Chat, 402, `{"type":"error","error":{"type":"billing_error","message":"m"}}`, `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota","param":null}}`},
		"SpendLimitToChat":     {Chat, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}}`, `{"error":{"message":"m","type":"rate_limit_error","code":"enforced_spend_limit_reached","param":null}}`},
		"TooLongKeepsItsText":  {Chat, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, `{"error":{"message":"prompt is too long: 210000 tokens \u003e 200000 maximum","type":"invalid_request_error","code":null,"param":null}}`},
		"QuotaToMessages":      {Messages, 429, `{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, `{"type":"error","error":{"type":"billing_error","message":"m","details":{"error_code":"insufficient_quota"}},"request_id":"r1"}`},
		"TokensToMessages":     {Messages, 429, `{"error":{"message":"m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"rate_limit_exceeded"}},"request_id":"r1"}`},
		"KeyToMessages":        {Messages, 401, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, `{"type":"error","error":{"type":"authentication_error","message":"m","details":{"error_code":"invalid_api_key"}},"request_id":"r1"}`},
		"LengthToMessages":     {Messages, 400, `{"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, `{"type":"error","error":{"type":"invalid_request_error","message":"m","details":{"error_code":"context_length_exceeded"}},"request_id":"r1"}`},
		"ServerToMessages":     {Messages, 500, `{"error":{"message":"m","type":"server_error","param":null,"code":null}}`, `{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"r1"}`},
		"StatusAlone":          {Messages, 503, `upstream connect error`, `{"type":"error","error":{"type":"api_error","message":"upstream connect error"},"request_id":"r1"}`},
		"NothingSaid":          {Chat, 404, ``, `{"error":{"message":"the provider refused the request without saying why","type":"not_found_error","code":null,"param":null}}`},
		"CodexDetail":          {Messages, 400, `{"detail":"Unsupported parameter"}`, `{"type":"error","error":{"type":"invalid_request_error","message":"Unsupported parameter"},"request_id":"r1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := ask(t, c.caller, asks[c.caller], Hop{To: others(c.caller)[0], ID: "r1"})
			if got := string(tr.Error(c.status, []byte(c.body))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Every type of each vendor's has a counterpart, and comes back as itself or its like.
func TestErrorTypesThereAndBack(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		there := Said{Type: f.messages, Message: "m"}.in(Chat, f.status)
		back := Said{Type: there.Type, Code: there.Code, Message: there.Message}.in(Messages, f.status)
		if back.Type != f.messages || back.Message != "m" || back.Status != f.status {
			t.Errorf("%s became %s, then %s", f.messages, there.Type, back.Type)
		}
	}
}
