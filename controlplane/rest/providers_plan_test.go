package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// planned are the fields of a provider that an automation holds, of those it can
// read back.
var planned = []string{"name", "base_url", "auth_type", "connection_id", "settings", "enabled", "enforce_health_check",
	"request_timeout_secs", "stream_idle_timeout_secs", "model_sync_mode", "billing_mode", "billing_reason", "billing_note", "change_note"}

// stable is a provider without what every write changes.
func stable(p map[string]any) fields {
	out := fields{}
	for name, value := range p {
		if name != "updated_at" && !strings.HasPrefix(name, "last_modified_") {
			out[name] = value
		}
	}
	return out
}

func TestProviderSecondPlanIsEmpty(t *testing.T) {
	t.Parallel()
	a := setup(t)
	cases := map[string]struct{ sent, want fields }{
		"Minimal": {nil, fields{"model_sync_mode": "off", "billing_mode": "per_token", "settings": fields{}, "enabled": true,
			"enforce_health_check": true, "auth_type": "bearer_api_key"}},
		"All": {
			fields{"auth_type": "x_api_key", "settings": fields{"organization": "o", "x": []any{1.0}}, "enabled": false, "enforce_health_check": false,
				"request_timeout_secs": 5.0, "stream_idle_timeout_secs": 6.0, "model_sync_mode": "additive", "billing_mode": "not_metered",
				"billing_reason": "subscription", "billing_note": strings.Repeat("é", 200), "change_note": "why"},
			nil,
		},
		"Alias":           {fields{"auth_type": "api_key"}, fields{"auth_type": "bearer_api_key"}},
		"SyncFull":        {fields{"model_sync_mode": "full"}, nil},
		"SyncOff":         {fields{"model_sync_mode": "off"}, nil},
		"ReasonLocal":     {fields{"billing_mode": "not_metered", "billing_reason": "local"}, nil},
		"ReasonExternal":  {fields{"billing_mode": "not_metered", "billing_reason": "external"}, nil},
		"ReasonOther":     {fields{"billing_mode": "not_metered", "billing_reason": "other", "billing_note": ""}, nil},
		"ReasonOfMetered": {fields{"billing_mode": "per_token", "billing_reason": "local", "billing_note": "n"}, nil},
		"ReasonAlone":     {fields{"billing_reason": "local", "billing_note": "n"}, fields{"billing_mode": "per_token"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a.secondPlanIsEmpty(t, providersPath, with(openAI(name), c.sent), with(c.sent, c.want), planned)
		})
	}
}

func TestProviderFieldUpdates(t *testing.T) {
	t.Parallel()
	a := setup(t)
	created := a.call(t, "POST", providersPath, openAI("P")).want(t, 200)
	path := providersPath + "/" + created.id(t)
	a.fieldUpdates(t, path, []planStep{
		{"name", fields{"name": "Q"}, nil},
		{"base_url", fields{"base_url": "https://api.openai.com/v2"}, nil},
		{"auth_type", fields{"auth_type": "azure_api_key"}, nil},
		{"settings", fields{"settings": fields{"region": "eu"}}, nil},
		{"enabled", fields{"enabled": false}, nil},
		{"enforce_health_check", fields{"enforce_health_check": false}, nil},
		{"request_timeout_secs", fields{"request_timeout_secs": 7.0}, nil},
		{"stream_idle_timeout_secs", fields{"stream_idle_timeout_secs": 8.0}, nil},
		{"timeouts cleared", fields{"request_timeout_secs": nil, "stream_idle_timeout_secs": nil}, nil},
		{"model_sync_mode", fields{"model_sync_mode": "full"}, nil},
		{"not metered", fields{"billing_mode": "not_metered", "billing_reason": "subscription", "billing_note": "flat fee"}, nil},
		{"reason alone", fields{"billing_reason": "external"}, nil},
		{"mode alone", fields{"billing_mode": "not_metered"}, nil},
		{"note alone", fields{"billing_note": "partner"}, nil},
		{"note cleared", fields{"billing_note": nil}, nil},
		{"note again", fields{"billing_note": "partner"}, nil},
		{"metered again", fields{"billing_mode": "per_token"}, fields{"billing_reason": nil, "billing_note": nil}},
		{"reason of a metered one", fields{"billing_mode": "per_token", "billing_reason": "local", "billing_note": "n"}, nil},
		{"something else", fields{"model_sync_mode": "additive"}, nil},
		{"reason left out", fields{"billing_mode": "per_token"}, fields{"billing_reason": nil, "billing_note": nil}},
		{"reason and note cleared", fields{"billing_reason": nil, "billing_note": nil}, nil},
		{"connection detached", fields{"connection_id": nil}, nil},
		{"change_note", fields{"change_note": "why"}, fields{"last_change_note": "why"}},
		{"change_note left out", fields{}, fields{"change_note": nil, "last_change_note": nil}},
	})
}

// TestProviderNullsOnCreate: null reads as absent.
func TestProviderNullsOnCreate(t *testing.T) {
	t.Parallel()
	a := setup(t)
	minimal := openAI("P")
	explicit := openAI("P")
	for _, name := range planned {
		if _, sent := explicit[name]; !sent {
			explicit[name] = nil
		}
	}
	for _, name := range []string{"credentials", "models"} {
		explicit[name] = nil
	}
	got := a.call(t, "POST", providersPath, explicit).want(t, 200).object(t)
	want := a.as(t, "Other", tenant.RoleAdmin).call(t, "POST", providersPath, minimal).want(t, 200).object(t)
	for _, own := range []string{"id", "org_id", "secret_path", "created_at", "created_by_name"} {
		delete(got, own)
		delete(want, own)
	}
	if diff := cmp.Diff(stable(want), stable(got)); diff != "" {
		t.Errorf("(-absent +null):\n%s", diff)
	}
}

func TestProviderBillingRefusals(t *testing.T) {
	t.Parallel()
	a := setup(t)
	valid := openAI("P")
	created := a.call(t, "POST", providersPath, openAI("Existing")).want(t, 200)
	path := providersPath + "/" + created.id(t)
	const (
		required = "billing_reason is required when billing_mode is 'not_metered': 'subscription', 'local', 'external' or 'other'"
		reasons  = "billing_reason must be 'subscription', 'local', 'external' or 'other'"
	)
	cases := []struct {
		change         fields
		message, param string
	}{
		{fields{"model_sync_mode": "sometimes"}, "model_sync_mode must be 'off', 'additive' or 'full'", "model_sync_mode"},
		{fields{"model_sync_mode": ""}, "model_sync_mode must be 'off', 'additive' or 'full'", "model_sync_mode"},
		{fields{"billing_mode": "free"}, "billing_mode must be 'per_token' or 'not_metered'", "billing_mode"},
		{fields{"billing_mode": "not_metered"}, required, "billing_reason"},
		{fields{"billing_mode": "not_metered", "billing_note": "n"}, required, "billing_reason"},
		{fields{"billing_mode": "not_metered", "billing_reason": "because"}, reasons, "billing_reason"},
		{fields{"billing_mode": "not_metered", "billing_reason": ""}, reasons, "billing_reason"},
		{fields{"billing_reason": "because"}, reasons, "billing_reason"},
		{fields{"billing_note": strings.Repeat("é", 201)}, "billing_note must be at most 200 characters", "billing_note"},
	}
	for _, c := range cases {
		for _, r := range []answer{a.call(t, "POST", providersPath, with(valid, c.change)), a.call(t, "PUT", path, c.change)} {
			r.wantError(t, 400, "invalid_request_error", c.message)
			if got := r.errorField(t, "param"); got != c.param {
				t.Errorf("%s: got param %q, want %q", c.message, got, c.param)
			}
		}
	}
	a.call(t, "PUT", path, `{"billing_mode":"not_metered","billing_reason":null}`).wantError(t, 400, "invalid_request_error", required)
	read := a.call(t, "GET", path, nil).want(t, 200)
	if diff := cmp.Diff(string(created.body), string(read.body)); diff != "" {
		t.Errorf("a refused update changed something:\n%s", diff)
	}
	a.call(t, "PUT", path, fields{"billing_mode": "not_metered", "billing_reason": "other"}).want(t, 200)
	a.call(t, "PUT", path, `{"billing_reason":null}`).wantError(t, 400, "invalid_request_error", required)
}

// TestProviderConnection: a connection that is not there can neither be attached nor stand
// in for a key.
func TestProviderConnection(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := uuid.NewString()
	created := a.call(t, "POST", providersPath, openAI("P")).want(t, 200)
	path := providersPath + "/" + created.id(t)
	attach := fields{"connection_id": id}
	for _, r := range []answer{
		a.call(t, "POST", providersPath, with(openAI("Q"), attach)),
		a.call(t, "POST", providersPath, with(openAI("Q"), fields{"connection_id": id, "api_key": nil})),
		a.call(t, "PUT", path, attach),
		a.call(t, "PUT", path, fields{"connection_id": id, "api_key": "k"}),
	} {
		r.wantError(t, 404, "not_found_error", "connection "+id+" not found")
		if got := r.errorField(t, "param"); got != "connection_id" {
			t.Errorf("got param %q, want connection_id", got)
		}
	}
	stranger := uuid.NewString()
	a.call(t, "PUT", providersPath+"/"+stranger, attach).wantError(t, 404, "not_found_error", "provider {id: "+stranger+"} not found")
	a.call(t, "POST", providersPath, `{"name":"Q","model_provider":"openai","base_url":"https://api.openai.com/v1","connection_id":null}`).
		wantError(t, 400, "invalid_request_error", "api_key is required for API-key auth providers")
	kept := a.call(t, "PUT", path, `{"connection_id":null}`).want(t, 200)
	for _, name := range []string{"connection_id", "secret_path"} {
		if diff := cmp.Diff(created.field(t, name), kept.field(t, name)); diff != "" {
			t.Errorf("null changed %s:\n%s", name, diff)
		}
	}
}
