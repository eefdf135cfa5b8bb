package decide

import (
	"net/url"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// bedrockEndpoints are where Bedrock takes calls of one model: Anthropic's in their own
// dialect, all others in Bedrock's. Streams have addresses of their own. There is no Count:
// Bedrock counts for foundation models only, and refuses the inference profiles that newer
// models are called by.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
func bedrockEndpoints(p *node.Provider, base *url.URL, model string) (e Endpoints) {
	root := bedrockRoot(base) + "/model/" + awsEscape(model)
	if ofAnthropic(model, modelAPIFamily(p.Settings)) {
		e[llm.Messages] = &Endpoint{URL: onHostEscaped(base, root+"/invoke"), Stream: onHostEscaped(base, root+"/invoke-with-response-stream"), Form: llm.BedrockForm}
	} else {
		e[llm.Converse] = &Endpoint{URL: onHostEscaped(base, root+"/converse"), Stream: onHostEscaped(base, root+"/converse-stream")}
	}
	return e
}

// bedrockRoot is what goes before "/model", whatever of an address people copied. AWS's own
// hosts have nothing there; a proxy may.
func bedrockRoot(base *url.URL) string {
	if _, _, isAWS := node.AWSHost(base.Hostname()); isAWS {
		return ""
	}
	path, _, _ := strings.Cut(base.EscapedPath(), "/model/")
	return strings.TrimSuffix(strings.TrimRight(path, "/"), "/model")
}

// ofAnthropic reports whether a model is one of Anthropic's, by its id, that of an inference
// profile ("us.anthropic.claude-..."), or the ARN of either. The ARN of an application's own
// inference profile, of provisioned throughput or of a custom deployment does not name its
// model; there the provider's setting says it.
// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-use.html
func ofAnthropic(model, setting string) bool {
	kind, id := "", model
	if strings.HasPrefix(model, "arn:") {
		resource := model[strings.LastIndexByte(model, ':')+1:]
		if i := strings.Index(model, ":foundation-model/"); i >= 0 { // its id may have a ':'
			resource = model[i+1:]
		} else if i := strings.Index(model, ":inference-profile/"); i >= 0 {
			resource = model[i+1:]
		}
		kind, id, _ = strings.Cut(resource, "/")
		if kind != "foundation-model" && kind != "inference-profile" {
			return setting == "anthropic"
		}
	}
	first, rest, _ := strings.Cut(id, ".")
	return first == "anthropic" || strings.HasPrefix(rest, "anthropic.")
}

// awsEscape writes a name into a path as AWS's own clients do, and as it is signed: all but
// the unreserved characters of RFC 3986 are escaped, the ':' and '/' of an ARN too.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func awsEscape(name string) string {
	const hexDigits = "0123456789ABCDEF"
	out := make([]byte, 0, len(name)+16)
	for i := range len(name) {
		c := name[i]
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-._~", c) >= 0 {
			out = append(out, c)
			continue
		}
		out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
	}
	return string(out)
}

// awsRegionOf is the region that requests are signed for: what the settings say, else what
// the host does. Empty where neither does, or where they disagree.
func awsRegionOf(p *node.Provider, base *url.URL) string {
	_, hosts, isAWS := node.AWSHost(base.Hostname())
	setting := settingsOf(p).Region
	switch {
	case setting == "":
		return hosts
	case !node.IsAWSRegion(setting), isAWS && hosts != setting:
		return ""
	}
	return setting
}

// bedrockBase is the base with the host that serves models: see node.BedrockHost.
func bedrockBase(base *url.URL) *url.URL {
	host, _ := node.BedrockHost(base.Host) // of something else: it refuses what it is sent
	served := *base
	served.Host = host
	return &served
}
