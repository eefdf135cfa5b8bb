package tenant

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/spillway-gateway/spillway/api/node"
)

// bedrockAPIFamilies are the dialects that a model may be asked in whose id does not name it.
var bedrockAPIFamilies = []string{"anthropic", "converse"}

// checkBedrock refuses what a node could not sign, or would send to what serves no models.
func checkBedrock(c ProviderConfig, base *url.URL) error {
	if _, ok := node.BedrockHost(base.Host); !ok {
		service, region, _ := node.AWSHost(base.Hostname())
		return Invalid("base_url", "base_url is that of AWS's %s, which serves no models this way: use https://bedrock-runtime.%s.amazonaws.com", service, region)
	}
	region, err := c.setting("region")
	if err != nil {
		return err
	}
	_, hosts, _ := node.AWSHost(base.Hostname())
	switch {
	case region != "" && !node.IsAWSRegion(region):
		return Invalid("settings.region", "settings.region must be the code of an AWS region, like us-east-1")
	case region != "" && hosts != "" && region != hosts:
		return Invalid("settings.region", "settings.region is %s, but base_url is in %s: leave settings.region out or make them agree", region, hosts)
	case region == "" && hosts == "" && c.AuthType != AuthBedrockAPIKey:
		return Invalid("settings.region", "settings.region is required: base_url does not name the region that requests are signed for, as https://bedrock-runtime.{region}.amazonaws.com would")
	}
	family, err := c.setting("model_api_family")
	if err != nil || family == "" {
		return err
	}
	return oneOf("settings.model_api_family", family, bedrockAPIFamilies)
}

// field is one of a structured credential.
type field struct {
	name     string
	required bool
	form     *regexp.Regexp
	words    string // that say the form
}

var (
	printable = regexp.MustCompile(`^[!-~]+$`)
	// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
	roleARN    = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,576}$`)
	externalID = regexp.MustCompile(`^[\w+=,.@:/-]{1,1000}$`)
)

// awsFields are those of credentials, by auth_type.
var awsFields = map[string][]field{
	AuthAWSKeys: {
		{"access_key_id", true, printable, "printable ASCII without spaces"},
		{"secret_access_key", true, printable, "printable ASCII without spaces"},
		{"session_token", false, printable, "printable ASCII without spaces"},
	},
	AuthAWSRole: {
		{"role_arn", true, roleARN, "the ARN of a role, like arn:aws:iam::123456789012:role/spillway"},
		{"external_id", false, externalID, "at most 1000 letters, digits and +=,.@:/_-"},
	},
}

// checkAWS refuses a credential that lacks what a node needs, or has a name that nothing
// reads. The value is never quoted.
func checkAWS(auth string, credentials json.RawMessage) error {
	fields := awsFields[auth]
	var given map[string]json.RawMessage
	if json.Unmarshal(credentials, &given) != nil {
		return Invalid("credentials", "credentials must be a JSON object")
	}
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
		value, there := given[f.name]
		delete(given, f.name)
		var text string
		switch {
		case !there && f.required:
			return Invalid("credentials."+f.name, "credentials.%s is required for auth_type '%s'", f.name, auth)
		case !there:
		case json.Unmarshal(value, &text) != nil || !f.form.MatchString(text):
			return Invalid("credentials."+f.name, "credentials.%s must be %s", f.name, f.words)
		}
	}
	if len(given) > 0 {
		return Invalid("credentials", "credentials of auth_type '%s' are %s and nothing else", auth, strings.Join(names, ", "))
	}
	return nil
}
