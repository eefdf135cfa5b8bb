package llm

// fault is one kind of error as each dialect calls it, and the status it goes with.
type fault struct {
	status     int
	messages   string // Anthropic's type
	openAIType string
	code       string // OpenAI's
}

// faults: https://docs.anthropic.com/en/api/errors and
// https://platform.openai.com/docs/guides/error-codes. Of several rows that fit the
// first counts, so the first of a type is what it becomes in the other dialect.
var faults = []fault{
	{400, "invalid_request_error", "invalid_request_error", ""},
	{401, "authentication_error", "authentication_error", "invalid_api_key"},
	{401, "authentication_error", "invalid_authentication_error", ""},
	{402, "billing_error", "insufficient_quota", "insufficient_quota"},
	{402, "billing_error", "billing_error", "credit_balance_exhausted"},
	{402, "billing_error", "billing_error", "organization_spend_limit_exceeded"},
	{402, "billing_error", "billing_error", "project_spend_limit_exceeded"},
	{402, "billing_error", "billing_error", "organization_usage_limit_exceeded"},
	{402, "billing_error", "usage_limit_reached", "usage_limit_reached"},
	{403, "permission_error", "permission_error", ""},
	{403, "permission_error", "permission_denied_error", ""},
	{404, "not_found_error", "not_found_error", ""},
	{404, "not_found_error", "invalid_request_error", "model_not_found"},
	{413, "request_too_large", "invalid_request_error", "request_too_large"},
	{429, "rate_limit_error", "rate_limit_error", "rate_limit_exceeded"},
	{429, "rate_limit_error", "rate_limit_exceeded", ""},
	{429, "rate_limit_error", "requests", ""},
	{429, "rate_limit_error", "tokens", ""},
	{504, "timeout_error", "timeout_error", "timeout"},
	{500, "api_error", "server_error", "server_error"},
	{529, "overloaded_error", "overloaded_error", "server_is_overloaded"},
	{529, "overloaded_error", "server_error", "slow_down"},
	{529, "overloaded_error", "server_error", "overloaded"},
	{529, "overloaded_error", "service_unavailable_error", ""},
	{500, "api_error", "api_error", ""},
	{500, "api_error", "internal_error", "internal_server_error"},
}

// in is what a provider said as an error of dialect d. status is the answer's own, or
// 0 for an error inside a stream, which only its words tell about.
func (s Said) in(d Dialect, status int) Error {
	if s.Type == "error" { // it names the event, not the error
		s.Type = ""
	}
	f, known := s.fault()
	if !known && status == 0 {
		status = s.NumericCode()
	}
	if !known {
		f = faultOf(status)
	}
	e := Error{Status: status, Code: s.Code, Message: s.Message}
	if status == 0 {
		e.Status = f.status
	}
	if s.ErrorCode != "" {
		e.Code = s.ErrorCode
	}
	if d == Messages {
		e.Type = f.messages
		return e
	}
	e.Type = f.openAIType
	if s.Type != "" && s.Type != f.messages {
		e.Type = s.Type // it comes from OpenAI's family and stays there
	}
	if e.Code == "" {
		e.Code = f.code
	}
	return e
}

// fault finds the row by code, which is the more exact, then by type.
func (s Said) fault() (fault, bool) {
	for _, f := range faults {
		if s.Code != "" && f.code == s.Code {
			return f, true
		}
	}
	for _, f := range faults {
		if s.Type != "" && (f.messages == s.Type || f.openAIType == s.Type) {
			return f, true
		}
	}
	return fault{}, false
}

// faultOf is the row of a status alone.
func faultOf(status int) fault {
	kind := messagesErrorType(status)
	for _, f := range faults {
		if f.messages == kind && status != 0 {
			return f
		}
	}
	return fault{500, "api_error", "server_error", "server_error"}
}
