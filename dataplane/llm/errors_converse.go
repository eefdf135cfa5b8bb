package llm

import "strings"

// exceptions are the statuses that the names of AWS's exceptions stand for. In a stream
// the name is all there is.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
// https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
var exceptions = map[string]int{
	"accessdenied": 403, "expiredtoken": 403, "incompletesignature": 403, "invalidsignature": 403, "missingauthenticationtoken": 403,
	"notauthorized": 403, "optinrequired": 403, "unrecognizedclient": 403,
	"internalserver": 500, "internalfailure": 500, "modelerror": 500, "modelstreamerror": 500,
	"modelnotready": 529, "serviceunavailable": 529, "modeltimeout": 504, "requestexpired": 504,
	"resourcenotfound": 404, "servicequotaexceeded": 402, "throttling": 429, "validation": 400,
}

// ExceptionStatus is the HTTP status that the name of AWS's exception stands for in the
// terms of this gateway, 0 where Type is none: what is short of room is 529, as with
// Anthropic.
func (s Said) ExceptionStatus() int {
	name := strings.ToLower(s.Type)
	if trimmed, ok := strings.CutSuffix(name, "exception"); ok {
		name = trimmed
	}
	return exceptions[name]
}

// exceptionName is the name in a type as AWS writes it: after the service's namespace, and
// before an address.
func exceptionName(text string) string {
	if _, name, found := strings.Cut(text, "#"); found {
		text = name
	}
	text, _, _ = strings.Cut(text, ":")
	return text
}
