package rest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/test/provider"
)

// A connection is checked as it would be stored, and nothing of it is.
func TestValidateProvider(t *testing.T) {
	t.Parallel()
	nodes := &fleet{probe: node.ProbeReport{Node: "node-1", Outcome: node.ProbeOK}}
	a := setupFleet(t, storetest.Shared(t), nodes)
	path := providersPath + "/validate"
	r := a.call(t, "POST", path, with(openAI("P"), fields{"api_key": "canary-key"})).want(t, 200)
	if diff := cmp.Diff(map[string]any{"valid": true, "outcome": "ok", "detail": "", "node": "node-1"}, r.object(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asked := nodes.tried
	plain, err := openSeal(a, asked.Credential)
	if err != nil || !strings.Contains(string(plain), "canary-key") {
		t.Errorf("the node cannot open it: %v", err)
	}
	if asked.Family != "openai" || asked.BaseURL != "https://api.openai.com/v1" || asked.AuthType != "bearer_api_key" {
		t.Errorf("asked about %+v", asked)
	}
	nodes.probe = node.ProbeReport{Node: "node-2", Outcome: node.ProbeRejected, Detail: "the provider refused the credential (401)"}
	r = a.call(t, "POST", path, openAI("P")).want(t, 200)
	if diff := cmp.Diff(map[string]any{"valid": false, "outcome": "rejected", "detail": "the provider refused the credential (401)", "node": "node-2"}, r.object(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := a.call(t, "GET", providersPath, nil).list(t); len(list) != 0 {
		t.Errorf("stored: %v", list)
	}
	if events := a.call(t, "GET", adminPath+"audit-events", nil).list(t); len(events) != 2 { // the organization, its service account
		t.Errorf("the trail tells of %v", events)
	}
	a.call(t, "POST", path, fields{"name": "P", "model_provider": "openai", "base_url": "https://api.openai.com/v1"}).wantError(t, 400, "invalid_request_error", "api_key is required for API-key auth providers")
	a.call(t, "POST", path, fields{"name": "P", "model_provider": "anthropic", "auth_type": "claude_oauth", "base_url": "https://api.anthropic.com"}).
		wantError(t, 400, "invalid_request_error", "a provider that passes on the caller's own token is never checked: the gateway has no credential to check it with")
	shared := a.call(t, "POST", adminPath+"connections", fields{"name": "C", "model_provider": "openai", "base_url": "https://api.openai.com/v1", "api_key": "shared"}).id(t)
	a.call(t, "POST", path, fields{"name": "P", "model_provider": "openai", "base_url": "https://api.openai.com/v1", "connection_id": shared}).want(t, 200)
	if got := nodes.tried.Credential; got == nil || got.CredentialID.String() != shared {
		t.Errorf("asked with %+v", got)
	}
	nodes.finds(node.ProbeBehind, "") // it has not heard of what it is asked for: nothing is known of the credential
	a.call(t, "POST", path, openAI("P")).want(t, 503)
	nodes.err = errors.New("away")
	a.call(t, "POST", path, openAI("P")).want(t, 503)
}

// The same for credentials of the clouds, by the fields that they are known by.
func TestValidateClouds(t *testing.T) {
	t.Parallel()
	nodes := &fleet{probe: node.ProbeReport{Node: "node-1", Outcome: node.ProbeOK}}
	a := setupFleet(t, storetest.Shared(t), nodes)
	role := fields{"role_arn": "arn:aws:iam::123456789012:role/r", "external_id": "prod", "region": "eu-west-1"}
	awsPath, googlePath := adminPath+"connections/aws-role-validate", adminPath+"connections/google-vertex-validate"
	a.call(t, "POST", awsPath, role).want(t, 200)
	if p := nodes.tried; p.BaseURL != "https://bedrock-runtime.eu-west-1.amazonaws.com" || p.AuthType != "aws_role" || string(p.Settings) != `{"region":"eu-west-1"}` {
		t.Errorf("asked about %+v", p)
	}
	plain, err := openSeal(a, nodes.tried.Credential)
	var stored struct{ Credentials map[string]string }
	if err != nil || json.Unmarshal(plain, &stored) != nil || stored.Credentials["role_arn"] != role["role_arn"] || stored.Credentials["external_id"] != "prod" {
		t.Errorf("sealed %s, %v", plain, err)
	}
	a.call(t, "POST", awsPath, with(role, fields{"region": "cn-north-1"})).want(t, 200)
	if p := nodes.tried; p.BaseURL != "https://bedrock-runtime.cn-north-1.amazonaws.com.cn" {
		t.Errorf("asked about %+v", p)
	}
	a.call(t, "POST", awsPath, with(role, fields{"region": "../x"})).wantError(t, 400, "invalid_request_error", "region must be the code of an AWS region, like us-east-1")
	a.call(t, "POST", awsPath, with(role, fields{"role_arn": "r"})).
		wantError(t, 400, "invalid_request_error", "role_arn must be the ARN of a role, like arn:aws:iam::123456789012:role/spillway")
	a.call(t, "POST", awsPath, fields{"role_arn": role["role_arn"]}).wantError(t, 422, "invalid_request_error", "missing field `region`")

	account := json.RawMessage(provider.New(provider.Config{}).GoogleServiceAccount("a@p.iam.gserviceaccount.com"))
	a.call(t, "POST", googlePath, fields{"credentials": account, "project": "p", "location": "us-east5"}).want(t, 200)
	if p := nodes.tried; p.BaseURL != "https://us-east5-aiplatform.googleapis.com" || p.AuthType != "google_service_account" {
		t.Errorf("asked about %+v", p)
	}
	a.call(t, "POST", googlePath, fields{"credentials": account, "project": "p"}).want(t, 200)
	if p := nodes.tried; p.BaseURL != "https://aiplatform.googleapis.com" {
		t.Errorf("asked about %+v", p)
	}
	a.call(t, "POST", googlePath, fields{"credentials": account, "project": "a/b"}).
		wantError(t, 400, "invalid_request_error", "project must be the id of a Google Cloud project")
	a.call(t, "POST", googlePath, fields{"credentials": fields{"type": "x"}, "project": "p"}).
		wantError(t, 400, "invalid_request_error", "type must be 'service_account'")
}

// A role trusts the nodes on the condition of the organization's own id.
func TestAWSTrust(t *testing.T) {
	t.Parallel()
	a := setup(t)
	got := a.call(t, "GET", adminPath+"connections/aws-role-config", nil).want(t, 200).object(t)
	want := map[string]any{"external_id": a.org.String(), "principal_arns": []any{},
		"trust_policy": fields{"Version": "2012-10-17", "Statement": []any{fields{"Effect": "Allow", "Action": "sts:AssumeRole",
			"Principal": fields{"AWS": []any{"arn:aws:iam::{account of the gateway's nodes}:role/{role of the gateway's nodes}"}},
			"Condition": fields{"StringEquals": fields{"sts:ExternalId": a.org.String()}}}}},
		"permissions_policy": fields{"Version": "2012-10-17", "Statement": []any{fields{"Effect": "Allow", "Resource": "*",
			"Action": []any{"bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream", "bedrock:ListAsyncInvokes"}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	connections := adminPath + "connections"
	role := a.call(t, "POST", connections, fields{"name": "R", "model_provider": "bedrock", "base_url": "https://bedrock-runtime.us-east-1.amazonaws.com",
		"credentials": fields{"role_arn": "arn:aws:iam::123456789012:role/r"}}).want(t, 200).id(t)
	if diff := cmp.Diff(want, a.call(t, "GET", connections+"/"+role+"/aws-trust-info", nil).want(t, 200).object(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	key := a.call(t, "POST", connections, fields{"name": "K", "model_provider": "openai", "base_url": "https://api.openai.com/v1", "api_key": "k"}).want(t, 200).id(t)
	a.call(t, "GET", connections+"/"+key+"/aws-trust-info", nil).
		wantError(t, 400, "invalid_request_error", "the credential is no role of AWS: its auth_type is 'bearer_api_key'")
}
