package decide

import (
	"slices"
	"strings"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// rule recognises an error by what its body says, before its status is judged.
// Every condition that is set must hold.
type rule struct {
	class    Class
	statuses []int    // any of these; nil: any status
	codes    []string // error.code, error.type or details.error_code is one of these
	contains string   // the message contains this, lower case
	unless   string   // ... and error.type is not this
	source   string   // where the provider documents it, or where it was seen
}

var quotaStatuses = []int{400, 401, 402, 403, 429}

const bedrockErrors = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html#API_runtime_InvokeModel_Errors"

// awsAuthCodes are exceptions by which AWS refuses who asks. Most come with a 403.
var awsAuthCodes = []string{"ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidSignatureException", "InvalidClientTokenId",
	"IncompleteSignatureException", "IncompleteSignature", "MissingAuthenticationTokenException", "RequestExpired", "NotAuthorized"}

// rules are read top down; the first that holds decides.
var rules = []rule{
	{class: Entitlement, statuses: []int{429}, contains: "extra usage is required for long context",
		source: "seen from Anthropic on subscriptions without the 1M context add-on"},

	{class: UsageLimit, statuses: quotaStatuses, codes: []string{"insufficient_quota", "credit_balance_exhausted",
		"organization_spend_limit_exceeded", "project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached"},
		source: "https://platform.openai.com/docs/guides/error-codes"},
	{class: UsageLimit, statuses: quotaStatuses, codes: []string{"enforced_spend_limit_reached", "billing_error"},
		source: "https://docs.anthropic.com/en/api/errors"},
	{class: UsageLimit, statuses: quotaStatuses, codes: []string{"usage_limit_reached", "usage_not_included"},
		source: "seen from ChatGPT's codex backend when a plan's window is used up, or the plan has none"},
	{class: UsageLimit, statuses: quotaStatuses, contains: "your credit balance is too low",
		source: "https://docs.anthropic.com/en/api/errors"},
	{class: UsageLimit, statuses: quotaStatuses, contains: "you have reached your specified",
		source: "https://docs.anthropic.com/en/api/rate-limits (spend limits)"},
	{class: UsageLimit, statuses: quotaStatuses, contains: "insufficient balance",
		source: "https://api-docs.deepseek.com/quick_start/error_codes"},
	{class: UsageLimit, statuses: quotaStatuses, contains: "insufficient credits",
		source: "https://openrouter.ai/docs/api-reference/errors"},
	{class: UsageLimit, statuses: quotaStatuses, codes: []string{"exceeded_current_quota_error"},
		source: "https://platform.moonshot.ai/docs/api/chat (errors), which comes with a 403 as well as a 429"},
	{class: UsageLimit, statuses: quotaStatuses, contains: "used all available credits",
		source: "seen from xAI, with a 403 or a 429"},
	{class: UsageLimit, statuses: quotaStatuses, contains: "run out of credits",
		source: "seen from xAI, with a 403"},
	// Google says the same of a limit per minute, so its own type goes by status.
	{class: UsageLimit, statuses: quotaStatuses, contains: "you exceeded your current quota", unless: "RESOURCE_EXHAUSTED",
		source: "https://platform.openai.com/docs/guides/error-codes"},

	{class: UsageLimit, statuses: quotaStatuses, codes: []string{"ServiceQuotaExceededException"},
		source: bedrockErrors},
	{class: UsageLimit, statuses: []int{429}, contains: "too many tokens per day",
		source: "seen from Bedrock, whose ThrottlingException it is when a day's quota is used up"},

	{class: AuthRejected, statuses: []int{400}, codes: awsAuthCodes,
		source: bedrockErrors + " and https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html"},
	{class: UsageLimit, statuses: []int{412}, contains: "is suspended, possibly due to",
		source: "https://docs.fireworks.ai/troubleshooting/status_error_codes/inference_error_code (an account past its limit)"},

	// Not of the credential, although the status says so: health must not suffer.
	{class: BadRequest, statuses: []int{403}, contains: "max_new_tokens",
		source: "https://docs.together.ai/docs/error-codes (403: input and max_tokens are more than the context length)"},
	{class: BadRequest, statuses: []int{403}, contains: "input was flagged",
		source: "https://openrouter.ai/docs/api-reference/errors (403: moderation)"},

	{class: Entitlement, statuses: []int{413}, codes: []string{"rate_limit_exceeded"},
		source: "seen from Groq: one request is larger than the account's limit per minute, whenever it is sent"},

	{class: AuthRejected, statuses: []int{400}, codes: []string{"invalid_api_key", "API_KEY_INVALID", "authentication_error"},
		source: "https://platform.openai.com/docs/guides/error-codes"},
	{class: AuthRejected, statuses: []int{400}, contains: "api key not valid",
		source: "https://ai.google.dev/gemini-api/docs/troubleshooting"},
	{class: AuthRejected, statuses: []int{400}, contains: "incorrect api key provided",
		source: "https://docs.x.ai/docs/key-information/debugging"},

	{class: ModelNotFound, statuses: []int{400}, codes: []string{"model_not_found", "model_decommissioned", "not_found_error"},
		source: "https://console.groq.com/docs/errors, https://platform.openai.com/docs/deprecations"},
	{class: ModelNotFound, statuses: []int{400}, codes: []string{"invalid_model", "DeploymentNotFound"},
		source: "seen from Mistral and Perplexity; https://learn.microsoft.com/azure/ai-services/openai/reference (errors)"},

	{class: ModelNotFound, statuses: []int{400}, contains: "model identifier is invalid",
		source: "seen from Bedrock, of models that a region does not have or has no longer"},
	{class: ModelNotFound, statuses: []int{400}, contains: "with on-demand throughput isn",
		source: "seen from Bedrock, of models that have to be called by an inference profile"},
	{class: ModelNotFound, statuses: []int{403}, contains: "you don't have access to the model",
		source: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-access.html"},
	{class: ModelNotFound, statuses: []int{400, 401}, codes: []string{"ModelError"},
		source: "seen from OpenCode Zen, whose 401 it is when a model is not to be had in a format"},

	// What a model thought is signed or encrypted for one account of one vendor, and a route
	// may mix them.
	{class: ThoughtsRefused, statuses: []int{400}, codes: []string{"invalid_encrypted_content"},
		source: "seen from OpenAI and Azure when a conversation moves to another organization"},
	{class: ThoughtsRefused, statuses: []int{400}, contains: "without its required 'reasoning' item",
		source: "seen from OpenAI when a conversation has the items that belong to a thought and not the thought"},
	{class: ThoughtsRefused, statuses: []int{400}, contains: "expected `thinking` or `redacted_thinking`",
		source: "https://platform.claude.com/docs/en/build-with-claude/extended-thinking (toggling thinking), also through Bedrock and Vertex"},
	{class: ThoughtsRefused, statuses: []int{400}, contains: "any thinking blocks, the first block must be",
		source: "seen from Anthropic"},
	{class: ThoughtsRefused, statuses: []int{400}, contains: "invalid `signature` in `thinking` block",
		source: "https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting"},
	{class: ThoughtsRefused, statuses: []int{400}, contains: "blocks in the latest assistant message cannot be modified",
		source: "https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting"},
	{class: ThoughtsRefused, statuses: []int{400, 422}, contains: "reasoning_content",
		source: "https://api-docs.deepseek.com/guides/thinking_mode (a call without it), and seen from vendors that do not know the field (Groq, Cerebras, vLLM)"},
	{class: ThoughtsRefused, statuses: []int{400}, contains: "thinking mode must be passed back",
		source: "the same, in DeepSeek's messages"},

	{class: Overloaded, codes: []string{"overloaded_error"}, statuses: []int{500, 503, 529},
		source: "https://docs.anthropic.com/en/api/errors"},
	{class: Overloaded, codes: []string{"server_is_overloaded", "slow_down"}, statuses: []int{500, 503, 529},
		source: "seen from OpenAI's responses and ChatGPT's codex backend; https://platform.openai.com/docs/guides/error-codes (slow down)"},

	{class: ServerError, statuses: []int{424}, codes: []string{"ModelErrorException", "ModelStreamErrorException"},
		source: bedrockErrors},
	{class: Timeout, statuses: []int{408}, codes: []string{"ModelTimeoutException"}, source: bedrockErrors},
	{class: BadRequest, statuses: []int{400}, codes: []string{"ValidationException"}, source: bedrockErrors},

	// Said inside a 200 these would else count as the server's failure, though another
	// target would say the same, and a tool goes on by the code: Codex compacts.
	{class: BadRequest, codes: []string{"context_length_exceeded", "invalid_prompt", "invalid_image", "invalid_image_format", "invalid_base64_image",
		"invalid_image_url", "image_too_large", "image_too_small", "image_parse_error", "image_content_policy_violation", "invalid_image_mode",
		"image_file_too_large", "unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found"}, statuses: []int{400},
		source: "https://platform.openai.com/docs/api-reference/responses/object (error.code)"},
}

// ruleFor is the class of the first rule that holds, or empty.
func ruleFor(status int, said llm.Said) Class {
	text := strings.ToLower(said.Message)
	for i := range rules {
		r := &rules[i]
		if r.statuses != nil && !slices.Contains(r.statuses, status) {
			// An error inside a stream may have no status of its own.
			if status != 0 {
				continue
			}
		}
		if r.codes != nil && !slices.Contains(r.codes, said.Code) && !slices.Contains(r.codes, said.Type) && !slices.Contains(r.codes, said.ErrorCode) {
			continue
		}
		if r.contains != "" && !strings.Contains(text, r.contains) {
			continue
		}
		if r.unless != "" && said.Type == r.unless {
			continue
		}
		return r.class
	}
	return ""
}
