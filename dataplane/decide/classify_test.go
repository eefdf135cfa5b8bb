package decide

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestClassifyByStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]Class{
		200: Succeeded, 201: Succeeded, 204: Succeeded, 302: BadAnswer, 400: BadRequest, 401: AuthRejected, 402: UsageLimit, 403: AuthRejected,
		404: ModelNotFound, 405: BadRequest, 408: Timeout, 409: BadRequest, 413: BadRequest, 418: Unknown, 422: BadRequest, 429: RateLimited,
		451: BadRequest, 499: Unknown, 500: ServerError, 502: ServerError, 503: ServerError, 504: ServerError, 520: ServerError, 529: Overloaded,
	} {
		if got := Classify(Evidence{Phase: Answered, Status: status}).Class; got != want {
			t.Errorf("%d: got %s, want %s", status, got, want)
		}
	}
}

func TestClassifyByBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   Class
	}{
		"OpenAIQuota429":        {429, `{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","code":"insufficient_quota"}}`, UsageLimit},
		"Quota401NumericCode":   {401, `{"error":{"message":"You exceeded your current quota...","type":"insufficient_quota","code":401}}`, UsageLimit},
		"Balance401":            {401, `{"error":{"message":"Insufficient balance. Manage your billing here: https://x"}}`, UsageLimit},
		"AnthropicCredit400":    {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing"}}`, UsageLimit},
		"AnthropicLimits400":    {400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}`, UsageLimit},
		"AnthropicWorkspace400": {400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits."}}`, UsageLimit},
		"AnthropicEnforced429":  {429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}`, UsageLimit},
		"CodexPlan429":          {429, `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached"}}`, UsageLimit},
		"CodexNotIncluded403":   {403, `{"error":{"type":"usage_not_included","message":"x"}}`, UsageLimit},
		"CodexOverloaded503":    {503, `{"error":{"code":"server_is_overloaded","message":"x"}}`, Overloaded},
		"CodexDetail401":        {401, `{"detail":"Unauthorized"}`, AuthRejected},
		"CodexDetail500":        {500, `{"detail":"Internal"}`, ServerError},
		"Entitlement429":        {429, `{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}`, Entitlement},
		"AzureRate429":          {429, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded the call rate limit. Please retry after 6 seconds."}}`, RateLimited},
		"AzureNoDeployment404":  {404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, ModelNotFound},
		"AzureFilter400":        {400, `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, BadRequest},
		"AzureKey401":           {401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, AuthRejected},
		"MistralModel400":       {400, `{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}`, ModelNotFound},
		"MistralFields422":      {422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]}`, BadRequest},
		"MistralRate429":        {429, `{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}`, RateLimited},
		"PerplexityModel400":    {400, `{"error":{"message":"Invalid model 'x'.","type":"invalid_model","code":400}}`, ModelNotFound},
		"PerplexityKey401":      {401, `<html><head><title>401 Authorization Required</title></head></html>`, AuthRejected},
		"TogetherContext403":    {403, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097\",\"type\":\"invalid_request_error\"}}", BadRequest},
		"TogetherPay402":        {402, `{"error":{"message":"credit limit exceeded","type":"credit_limit","param":null,"code":null}}`, UsageLimit},
		"FireworksSuspended412": {412, `{"error":{"object":"error","type":"invalid_request_error","message":"Account x is suspended, possibly due to reaching the monthly spending limit"}}`, UsageLimit},
		"Fireworks404":          {404, `{"error":{"object":"error","type":"invalid_request_error","code":"NOT_FOUND","message":"Model not found, inaccessible, and/or not deployed"}}`, ModelNotFound},
		"GroqTooLarge413":       {413, `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, Entitlement},
		"GroqFlex498":           {498, `{"error":{"message":"capacity exceeded"}}`, Overloaded},
		"CohereMessage400":      {400, `{"id":"1","message":"invalid request"}`, BadRequest},
		"CohereKey401":          {401, `{"id":"1","message":"invalid api token"}`, AuthRejected},
		"CohereTrial429":        {429, `{"message":"You are using a Trial key, which is limited to 10 API calls / minute."}`, RateLimited},
		"XAIKey400":             {400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***y."}`, AuthRejected},
		"XAICredits403":         {403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your team has used all available credits or reached its monthly spending limit."}`, UsageLimit},
		"DeepSeekBalance402":    {402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, UsageLimit},
		"DeepSeekBusy503":       {503, `{"error":{"message":"Service is too busy."}}`, ServerError},
		"OpenRouterFlagged403":  {403, `{"error":{"code":403,"message":"x/y requires moderation on Z. Your input was flagged for \"hate\". No credits were charged."}}`, BadRequest},
		"OpenRouterCredits402":  {402, `{"error":{"code":402,"message":"This request requires more credits"}}`, UsageLimit},
		"VertexQuota429":        {429, `[{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}]`, RateLimited},
		"VertexDenied403":       {403, `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied","status":"PERMISSION_DENIED"}}`, AuthRejected},
		"GeminiMinute429":       {429, `[{"error":{"code":429,"message":"You exceeded your current quota, please retry in 52.4s","status":"RESOURCE_EXHAUSTED"}}]`, RateLimited},
		"GeminiKey400":          {400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, AuthRejected},
		"GroqRetired400":        {400, `{"error":{"message":"The model has been decommissioned","type":"invalid_request_error","code":"model_decommissioned"}}`, ModelNotFound},
		"ModelBlocked403":       {403, `{"type":"model_blocked"}`, AuthRejected},
		"ContextLength400":      {400, `{"error":{"message":"maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`, BadRequest},
		"ModelNotSupported400":  {400, `{"error":{"message":"model not supported"}}`, BadRequest},
		"OverloadedUnder500":    {500, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Overloaded},
		"DetailOnly400":         {400, `{"detail":"Unsupported parameter: max_output_tokens"}`, BadRequest},
		"RateLimit429":          {429, `{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}`, RateLimited},
		"RateLimitNoBody429":    {429, ``, RateLimited},
		"Forbidden403":          {403, `{"error":{"message":"Your organization must be verified to use this model","type":"invalid_request_error"}}`, AuthRejected},
		"BedrockGone400":        {400, `{"message":"The provided model identifier is invalid."}`, ModelNotFound},
		"BedrockInput400":       {400, `{"message":"Malformed input request: #: required key [messages] not found, please reformat your input and try again."}`, BadRequest},
		"BedrockGone404":        {404, `{"message":"This model version has reached the end of its life. Please refer to the AWS documentation for more details."}`, ModelNotFound},
		"ModelError401":         {401, `{"type":"error","error":{"type":"ModelError","message":"Model qwen3.7-max is not supported for format oa-compat"}}`, ModelNotFound},
		"Quota403":              {403, `{"error":{"message":"Your account org-1 is not active, organization org-1 exceeded current quota, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, UsageLimit},
		"SpendingLimit429":      {429, `{"code":"x","error":"Your team 1 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits."}`, UsageLimit},
		"OutOfCredits403":       {403, `{"code":"x","error":"You have run out of credits or need a Grok subscription."}`, UsageLimit},
		"Payment402":            {402, `{"error":{"message":"x"}}`, UsageLimit},
		"Quota404":              {404, `{"error":{"message":"x","code":"insufficient_quota"}}`, ModelNotFound},
		"CodexPlanReset429":     {429, `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":561635}}`, UsageLimit},
		"AnthropicOverloaded":   {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Overloaded},
		"OverloadedInAnyBody":   {529, `Overloaded`, Overloaded},
		"Unavailable503":        {503, `{"error":{"message":"The server is currently unavailable","type":"server_error"}}`, ServerError},
		"OverloadWords400":      {400, `{"error":{"message":"overloaded function definitions are not supported","type":"invalid_request_error"}}`, BadRequest},
		"GeminiExhausted429":    {429, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, RateLimited},
		"ContentFilter400":      {400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, BadRequest},
		"Policy400":             {400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}`, BadRequest},
		"PromptTooLong400":      {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, BadRequest},
		"TooLarge413":           {413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, BadRequest},
		"QuotedQuota400":        {400, `{"error":{"message":"Invalid value: 'insufficient_quota'","type":"invalid_request_error","code":"invalid_value"}}`, BadRequest},
		"OtherOrganization400":  {400, `{"error":{"message":"The encrypted content gAAA could not be verified. Reason: Encrypted content organization_id did not match the target organization.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`, ThoughtsRefused},
		"ThoughtMissing400":     {400, `{"error":{"message":"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.","type":"invalid_request_error","param":"input","code":null}}`, ThoughtsRefused},
		"NoThought400":          {400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block\"}}", ThoughtsRefused},
		"NoThoughtBedrock400":   {400, "{\"message\":\"The model returned the following errors: messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.\"}", ThoughtsRefused},
		"ThoughtNotFirst400":    {400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.45.content.0: If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `text`.\"}}", ThoughtsRefused},
		"Signature400":          {400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}", ThoughtsRefused},
		"SignatureVertex400":    {400, "{\"error\":{\"code\":400,\"message\":\"{\\\"type\\\":\\\"error\\\",\\\"error\\\":{\\\"message\\\":\\\"messages.1.content.0: Invalid `signature` in `thinking` block\\\"}}\",\"status\":\"INVALID_ARGUMENT\"}}", ThoughtsRefused},
		"ThoughtModified400":    {400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.\"}}", ThoughtsRefused},
		"ThinkingRange400":      {400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`max_tokens` must be greater than `thinking.budget_tokens`\"}}", BadRequest},
		"NotJSON":               {503, `<html>upstream</html>`, ServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Classify(Evidence{Phase: Answered, Status: c.status, Body: []byte(c.body)}).Class; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestClassifyErrorInsideA200(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want Class
	}{
		"AnthropicOverloaded": {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Overloaded},
		"RateLimit":           {`{"error":{"type":"rate_limit_error","message":"x"}}`, RateLimited},
		"NumericCode":         {`{"error":{"code":429,"message":"x"}}`, RateLimited},
		"Quota":               {`{"error":{"code":"insufficient_quota","message":"x"}}`, UsageLimit},
		"CodexOverloaded":     {`{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"Selected model is at capacity"}}}`, Overloaded},
		"SlowDown":            {`{"type":"error","code":"slow_down","message":"x"}`, Overloaded},
		"ResponsesRateLimit":  {`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`, RateLimited},
		"ResponsesQuota":      {`{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"x"}}}`, UsageLimit},
		"CodexPlan":           {`{"type":"response.failed","response":{"error":{"code":"usage_limit_reached","message":"x"}}}`, UsageLimit},
		"ResponsesServer":     {`{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`, ServerError},
		"ContextLength":       {`{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}}`, BadRequest},
		"OtherOrganization":   {`{"type":"response.failed","response":{"error":{"code":"invalid_encrypted_content","message":"x"}}}`, ThoughtsRefused},
		"InvalidPrompt":       {`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"x"}}}`, BadRequest},
		"InvalidRequest":      {`{"error":{"type":"invalid_request_error","message":"x"}}`, ServerError},
		"Anything":            {`{"error":"x"}`, ServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Classify(Evidence{Phase: Answered, Cause: ErrorInside, Status: 200, Body: []byte(c.body)}).Class; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestOverloadAsksForAWaitToo(t *testing.T) {
	t.Parallel()
	v := Classify(Evidence{Status: 529, Header: http.Header{"Retry-After": {"3"}}, Now: now})
	if !v.HasRetry || v.RetryAfter != 3*time.Second {
		t.Errorf("got %v, %v", v.RetryAfter, v.HasRetry)
	}
	if v := Classify(Evidence{Status: 503, Header: http.Header{"Retry-After": {"3"}}, Now: now}); v.HasRetry {
		t.Error("a 503 is an ordinary failure: it cools by count, not by request")
	}
}

// The table of what each class does, as the product promises it.
func TestClassEffects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		evidence Evidence
		failover bool
		health   node.HealthKind
	}{
		{Evidence{Status: 401}, true, node.HealthFailure},
		{Evidence{Status: 404}, true, ""},
		{Evidence{Status: 429}, true, node.HealthRateLimited},
		{Evidence{Status: 402}, true, node.HealthUsageLimit},
		{Evidence{Status: 529}, true, node.HealthOverloaded},
		{Evidence{Status: 500}, true, node.HealthFailure},
		{Evidence{Status: 408}, true, node.HealthFailure},
		{Evidence{Cause: TimedOut}, true, node.HealthFailure},
		{Evidence{Cause: Refused}, true, node.HealthFailure},
		{Evidence{Cause: Broken}, true, node.HealthFailure},
		{Evidence{Cause: NotAnAnswer, Status: 200}, true, node.HealthFailure},
		{Evidence{Cause: GatewayFault}, true, ""},
		{Evidence{Status: 429, Body: []byte(`{"error":{"message":"Extra usage is required for long context requests."}}`)}, true, ""},
		{Evidence{Status: 400}, false, ""},
		{Evidence{Status: 422}, false, ""},
		{Evidence{Status: 418}, false, ""},
		{Evidence{Cause: CallerGone}, false, ""},
		{Evidence{Status: 200}, false, ""},
	} {
		v := Classify(c.evidence)
		if v.Failover != c.failover || v.Health != c.health {
			t.Errorf("%+v: got failover %v, health %q, want %v, %q", c.evidence, v.Failover, v.Health, c.failover, c.health)
		}
	}
}

// Classify has a verdict for everything, never fails over once content came, and
// never names an address.
func TestClassifyIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := Evidence{
			Phase:  Phase(rapid.IntRange(0, 3).Draw(t, "phase")),
			Cause:  Cause(rapid.IntRange(0, 7).Draw(t, "cause")),
			Status: rapid.IntRange(-1, 1000).Draw(t, "status"),
			Body:   []byte(rapid.SampledFrom([]string{"", "{", `{"error":{"message":"see https://secret.example/x"}}`, `{"error":[1]}`, `[]`, "\xff"}).Draw(t, "body")),
			Now:    now,
		}
		v := Classify(e)
		if v.Class == "" {
			t.Fatal("no class")
		}
		if e.Phase == Committed && v.Failover {
			t.Fatal("fails over after content")
		}
		if v.RetryAfter < 0 || strings.Contains(v.Message, "secret.example") {
			t.Fatalf("%+v", v)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		want   time.Duration
		absent bool
	}{
		"Seconds":  {header: map[string]string{"Retry-After": "120"}, want: 2 * time.Minute},
		"Fraction": {header: map[string]string{"Retry-After": "0.5"}, want: 500 * time.Millisecond},
		"Zero":     {header: map[string]string{"Retry-After": "0"}, want: 0},
		"Negative": {header: map[string]string{"Retry-After": "-5"}, want: 0},
		"Date":     {header: map[string]string{"Retry-After": now.Add(90 * time.Second).Format(http.TimeFormat)}, want: 90 * time.Second},
		"PastDate": {header: map[string]string{"Retry-After": now.Add(-time.Hour).Format(http.TimeFormat)}, want: 0},
		"DatedAnswer": {header: map[string]string{"Date": now.Add(-10 * time.Minute).Format(http.TimeFormat),
			"Retry-After": now.Add(-9 * time.Minute).Format(http.TimeFormat)}, want: time.Minute},
		"DatedWindow": {header: map[string]string{"Date": now.Add(10 * time.Minute).Format(http.TimeFormat), "Anthropic-Ratelimit-Unified-Status": "rejected",
			"Anthropic-Ratelimit-Unified-Reset": strconv.FormatInt(now.Add(11*time.Minute).Unix(), 10)}, want: time.Minute},
		"BadDate":          {header: map[string]string{"Date": "today", "Retry-After": now.Add(time.Minute).Format(http.TimeFormat)}, want: time.Minute},
		"Huge":             {header: map[string]string{"Retry-After": "1587827"}, want: 24 * time.Hour},
		"Infinite":         {header: map[string]string{"Retry-After": "1e400"}, absent: true},
		"NaN":              {header: map[string]string{"Retry-After": "NaN"}, absent: true},
		"Unit":             {header: map[string]string{"Retry-After": "120s"}, absent: true},
		"Word":             {header: map[string]string{"Retry-After": "invalid"}, absent: true},
		"Empty":            {header: map[string]string{"Retry-After": ""}, absent: true},
		"Milliseconds":     {header: map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, want: 1500 * time.Millisecond},
		"Google":           {body: `{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"52s"}]}}`, want: 52 * time.Second},
		"OpenAIExhausted":  {header: map[string]string{"X-Ratelimit-Reset-Tokens": "2m30s", "X-Ratelimit-Remaining-Tokens": "0"}, want: 150 * time.Second},
		"OpenAINot":        {header: map[string]string{"X-Ratelimit-Reset-Tokens": "2m30s", "X-Ratelimit-Remaining-Tokens": "17"}, absent: true},
		"OpenAIMillis":     {header: map[string]string{"X-Ratelimit-Reset-Requests": "12ms", "X-Ratelimit-Remaining-Requests": "0"}, want: 12 * time.Millisecond},
		"ResetSeconds":     {header: map[string]string{"X-Ratelimit-Reset": "33011.38", "X-Ratelimit-Remaining": "0"}, want: 33011380 * time.Millisecond},
		"AnthropicRFC3339": {header: map[string]string{"Anthropic-Ratelimit-Requests-Reset": now.Add(7 * time.Second).Format(time.RFC3339), "Anthropic-Ratelimit-Requests-Remaining": "0"}, want: 7 * time.Second},
		"UnifiedRejected":  {header: map[string]string{"Anthropic-Ratelimit-Unified-Reset": "1795953660", "Anthropic-Ratelimit-Unified-Status": "rejected"}, want: time.Minute},
		"CodexPrimaryAt":   {header: map[string]string{"X-Codex-Primary-Used-Percent": "100", "X-Codex-Primary-Reset-At": "1795953660", "X-Codex-Primary-Reset-After-Seconds": "9"}, want: time.Minute},
		"CodexAfter":       {header: map[string]string{"X-Codex-Primary-Used-Percent": "100.0", "X-Codex-Primary-Reset-After-Seconds": "90"}, want: 90 * time.Second},
		"CodexSecondary":   {header: map[string]string{"X-Codex-Primary-Used-Percent": "40", "X-Codex-Primary-Reset-After-Seconds": "9", "X-Codex-Secondary-Used-Percent": "101", "X-Codex-Secondary-Reset-After-Seconds": "600"}, want: 10 * time.Minute},
		"CodexLater":       {header: map[string]string{"X-Codex-Primary-Used-Percent": "100", "X-Codex-Primary-Reset-After-Seconds": "9", "X-Codex-Secondary-Used-Percent": "100", "X-Codex-Secondary-Reset-After-Seconds": "600"}, want: 10 * time.Minute},
		"CodexNotYet":      {header: map[string]string{"X-Codex-Primary-Used-Percent": "99.9", "X-Codex-Primary-Reset-At": "1795953660", "X-Codex-Secondary-Used-Percent": "x"}, absent: true},
		"CodexNoReset":     {header: map[string]string{"X-Codex-Primary-Used-Percent": "100"}, absent: true},
		"Unified5h":        {header: map[string]string{"Anthropic-Ratelimit-Unified-5h-Reset": "1795953900", "Anthropic-Ratelimit-Unified-5h-Status": "rejected"}, want: 5 * time.Minute},
		"UnifiedLongest":   {header: map[string]string{"Anthropic-Ratelimit-Unified-5h-Reset": "1795953660", "Anthropic-Ratelimit-Unified-5h-Status": "rejected", "Anthropic-Ratelimit-Unified-7d-Reset": "1795954200", "Anthropic-Ratelimit-Unified-7d-Status": "rejected"}, want: 10 * time.Minute},
		"UnifiedOnly5h":    {header: map[string]string{"Anthropic-Ratelimit-Unified-5h-Reset": "1795953660", "Anthropic-Ratelimit-Unified-5h-Status": "rejected", "Anthropic-Ratelimit-Unified-7d-Reset": "1795954200", "Anthropic-Ratelimit-Unified-7d-Status": "allowed_warning"}, want: time.Minute},
		"OtherZone":        {header: map[string]string{"Anthropic-Ratelimit-Requests-Reset": now.Add(7 * time.Second).In(time.FixedZone("", 8*3600)).Format(time.RFC3339), "Anthropic-Ratelimit-Requests-Remaining": "0"}, want: 7 * time.Second},
		"GoogleList":       {body: `[{"error":{"code":429,"message":"Please retry in 52.45s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"52.45s"}]}}]`, want: 52450 * time.Millisecond},
		"UnifiedAllowed":   {header: map[string]string{"Anthropic-Ratelimit-Unified-Reset": "1795953660", "Anthropic-Ratelimit-Unified-Status": "allowed"}, absent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for k, v := range c.header {
				h.Set(k, v)
			}
			v := Classify(Evidence{Status: 429, Header: h, Body: []byte(c.body), Now: now})
			if v.HasRetry == c.absent || v.RetryAfter != c.want {
				t.Errorf("got %v, %v, want %v, %v", v.RetryAfter, v.HasRetry, c.want, !c.absent)
			}
		})
	}
}
