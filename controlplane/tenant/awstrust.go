package tenant

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// AWSTrust is what a role of an organization's has to allow for the nodes to use it.
type AWSTrust struct {
	ExternalID  string
	Principals  []string // identities of the nodes; none: the operator does not tell
	Trust       map[string]any
	Permissions map[string]any
}

// unknownPrincipal is where a person fills in what the operator did not tell.
const unknownPrincipal = "arn:aws:iam::{account of the gateway's nodes}:role/{role of the gateway's nodes}"

// TrustOf is what a role of the organization's has to allow. The external id keeps other
// organizations of the installation from using it.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-prereq.html
func TrustOf(organization uuid.UUID, principals []string) AWSTrust {
	t := AWSTrust{ExternalID: organization.String(), Principals: principals}
	trusted := principals
	if len(trusted) == 0 {
		trusted = []string{unknownPrincipal}
	}
	t.Trust = policy(map[string]any{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"AWS": trusted},
		"Condition": map[string]any{"StringEquals": map[string]any{"sts:ExternalId": t.ExternalID}}})
	t.Permissions = policy(map[string]any{"Effect": "Allow", "Resource": "*",
		"Action": []string{"bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream", "bedrock:ListAsyncInvokes"}})
	return t
}

func policy(statement map[string]any) map[string]any {
	return map[string]any{"Version": "2012-10-17", "Statement": []any{statement}}
}

// RoleTrial is a provider that uses a role in a region, as far as a check needs one.
func RoleTrial(arn string, externalID *string, region string) (ProviderCreate, error) {
	if !node.IsAWSRegion(region) {
		return ProviderCreate{}, Invalid("region", "region must be the code of an AWS region, like us-east-1")
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	credentials := map[string]string{"role_arn": arn}
	if externalID != nil {
		credentials["external_id"] = *externalID
	}
	raw, err := json.Marshal(credentials)
	return trial("bedrock", AuthAWSRole, "https://bedrock-runtime."+region+"."+domain, raw, map[string]string{"region": region}), err
}

// VertexTrial is a provider that uses a Google credential, as far as a check needs one.
func VertexTrial(credentials json.RawMessage, project, location string) ProviderCreate {
	return trial("vertex", AuthGoogleServiceAccount, "https://"+node.VertexHost(location), credentials, map[string]string{"project": project, "location": location})
}

func trial(family, auth, base string, credentials json.RawMessage, settings map[string]string) ProviderCreate {
	name, secret := family, NewSecret(string(credentials))
	raw, _ := json.Marshal(settings) // text always marshals
	return ProviderCreate{Family: family, ProviderPatch: ProviderPatch{Name: &name, BaseURL: &base, AuthType: &auth, Credentials: &secret, Settings: raw}}
}

// OfTrial is err about a trial's provider in the words of a request that has its parts
// without what a provider has them under.
func OfTrial(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	short := *e
	for _, under := range []string{"credentials.", "settings."} {
		short.Message = strings.TrimPrefix(short.Message, under)
		short.Param = strings.TrimPrefix(short.Param, under)
	}
	return &short
}
