package rest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// FuzzParseJSON holds the parser against encoding/json: it accepts nothing that is
// not JSON, means the same by what it accepts, and refuses valid JSON only for a
// reason that it names.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{``, `null`, `{}`, `[]`, `{"a":1,"a":2}`, `{"a":{"b":[1,2.5e3,"x",true,null]}}`, `{"a":1}}`, `[}`, `{]`, `{1:2}`,
		`{"a"}`, `{"a":}`, `[1,]`, `1 2`, `"\u0000"`, `"\ud800"`, "\"\xff\"", `{"\u0061":1,"a":2}`, strings.Repeat("[", 70) + strings.Repeat("]", 70), `-`, `01`, `tru`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseJSON(data)
		if err != nil {
			var domain *tenant.Error
			if !errors.As(err, &domain) || domain.Kind != tenant.KindInvalid {
				t.Fatalf("not the caller's error: %v", err)
			}
			if json.Valid(data) && utf8.Valid(data) && domain.Code == "invalid_json" &&
				!strings.Contains(domain.Message, "nested deeper") && !strings.Contains(domain.Message, "U+0000") {
				t.Fatalf("refused valid JSON: %v", err)
			}
			return
		}
		var want any
		decoder := json.NewDecoder(strings.NewReader(string(data)))
		decoder.UseNumber()
		if !json.Valid(data) || decoder.Decode(&want) != nil {
			t.Fatalf("accepted what is not JSON")
		}
		if plain := plainJSON(got); !reflect.DeepEqual(plain, want) {
			t.Fatalf("got %#v, want %#v", plain, want)
		}
	})
}

// plainJSON turns objects into the maps that encoding/json makes.
func plainJSON(value any) any {
	switch v := value.(type) {
	case jsonObject:
		out := map[string]any{}
		for _, m := range v {
			out[m.name] = plainJSON(m.value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plainJSON(item)
		}
		return out
	}
	return value
}

// bodyTypes is what each operation's body is bound to.
var bodyTypes = map[tenant.Operation]func() any{
	tenant.CreateProvider:             func() any { return new(admin.CreateProviderJSONRequestBody) },
	tenant.UpdateProvider:             func() any { return new(admin.UpdateProviderJSONRequestBody) },
	tenant.CreateModelMapping:         func() any { return new(admin.CreateModelMappingJSONRequestBody) },
	tenant.UpdateModelMapping:         func() any { return new(admin.UpdateModelMappingJSONRequestBody) },
	tenant.ReorderModelMappings:       func() any { return new(admin.ReorderModelMappingsJSONRequestBody) },
	tenant.CreateAPIKey:               func() any { return new(admin.CreateApiKeyJSONRequestBody) },
	tenant.UpdateAPIKey:               func() any { return new(admin.UpdateApiKeyJSONRequestBody) },
	tenant.RotateAPIKey:               func() any { return new(admin.RotateApiKeyJSONRequestBody) },
	tenant.ResetRouteHealth:           func() any { return new(admin.ResetRouteHealthJSONRequestBody) },
	tenant.ExplainRequest:             func() any { return new(admin.ExplainRequestJSONRequestBody) },
	tenant.CreateRoutingPolicy:        func() any { return new(admin.CreateRoutingPolicyJSONRequestBody) },
	tenant.UpdateRoutingPolicy:        func() any { return new(admin.UpdateRoutingPolicyJSONRequestBody) },
	tenant.CreateRoutingRule:          func() any { return new(admin.CreateRoutingRuleJSONRequestBody) },
	tenant.UpdateRoutingRule:          func() any { return new(admin.UpdateRoutingRuleJSONRequestBody) },
	tenant.CreateRateLimit:            func() any { return new(admin.CreateRateLimitJSONRequestBody) },
	tenant.UpdateRateLimit:            func() any { return new(admin.UpdateRateLimitJSONRequestBody) },
	tenant.CreateBudget:               func() any { return new(admin.CreateBudgetJSONRequestBody) },
	tenant.UpdateBudget:               func() any { return new(admin.UpdateBudgetJSONRequestBody) },
	tenant.CreateModelPricing:         func() any { return new(admin.CreateModelPricingJSONRequestBody) },
	tenant.UpdateModelPricing:         func() any { return new(admin.UpdateModelPricingJSONRequestBody) },
	tenant.ImportModelPricingDefaults: func() any { return new(admin.ImportModelPricingDefaultsJSONRequestBody) },
	tenant.ClassifyResult:             func() any { return new(admin.ClassifyResultJSONRequestBody) },
	tenant.CreateModelAccess:          func() any { return new(admin.CreateModelAccessJSONRequestBody) },
	tenant.UpdateModelAccess:          func() any { return new(admin.UpdateModelAccessJSONRequestBody) },
	tenant.CreateModelRouteGroup:      func() any { return new(admin.CreateModelRouteGroupJSONRequestBody) },
	tenant.UpdateModelRouteGroup:      func() any { return new(admin.UpdateModelRouteGroupJSONRequestBody) },
	tenant.AddModelRouteGroupMembers:  func() any { return new(admin.AddModelRouteGroupMembersJSONRequestBody) },
	tenant.UpdateGovernanceConfig:     func() any { return new(admin.UpdateGovernanceConfigJSONRequestBody) },
	tenant.CreateRoute:                func() any { return new(admin.CreateRouteJSONRequestBody) },
	tenant.AddRouteTargets:            func() any { return new(admin.AddRouteTargetsJSONRequestBody) },
	tenant.RenameRoute:                func() any { return new(admin.RenameRouteJSONRequestBody) },
	tenant.DuplicateRoute:             func() any { return new(admin.DuplicateRouteJSONRequestBody) },
	tenant.CreateConnection:           func() any { return new(admin.CreateConnectionJSONRequestBody) },
	tenant.UpdateConnection:           func() any { return new(admin.UpdateConnectionJSONRequestBody) },
	tenant.CreateUser:                 func() any { return new(admin.CreateUserJSONRequestBody) },
	tenant.ValidateProvider:           func() any { return new(admin.ValidateProviderJSONRequestBody) },
	tenant.ValidateAwsRole:            func() any { return new(admin.ValidateAwsRoleJSONRequestBody) },
	tenant.ValidateGoogleVertex:       func() any { return new(admin.ValidateGoogleVertexJSONRequestBody) },
	tenant.UpdateUser:                 func() any { return new(admin.UpdateUserJSONRequestBody) },
	tenant.CreateGroup:                func() any { return new(admin.CreateGroupJSONRequestBody) },
	tenant.UpdateGroup:                func() any { return new(admin.UpdateGroupJSONRequestBody) },
	tenant.AddGroupMembers:            func() any { return new(admin.AddGroupMembersJSONRequestBody) },
	tenant.UpdateProfile:              func() any { return new(admin.UpdateProfileJSONRequestBody) },
	tenant.ChangePassword:             func() any { return new(admin.ChangePasswordJSONRequestBody) },
	tenant.CreateOwnAPIKey:            func() any { return new(admin.CreateOwnApiKeyJSONRequestBody) },
	tenant.UpdateOwnAPIKey:            func() any { return new(admin.UpdateOwnApiKeyJSONRequestBody) },
	tenant.RotateOwnAPIKey:            func() any { return new(admin.RotateOwnApiKeyJSONRequestBody) },
	"login":                           func() any { return new(admin.LoginJSONRequestBody) },
}

// FuzzBody holds the document against the generated types: what fits a request body
// in the document can be bound, and what does not is the caller's error.
func FuzzBody(f *testing.F) {
	doc, err := loadDocument()
	if err != nil {
		f.Fatal(err)
	}
	var bodies []operation
	for _, op := range doc.operations {
		if op.body == nil {
			continue
		}
		if bodyTypes[op.id] == nil {
			f.Fatalf("%s is not in bodyTypes", op.id)
		}
		bodies = append(bodies, op)
	}
	const id = "0198c5a2-7d3e-7c41-9a55-0b8a4f6f2c11"
	for _, seed := range []string{`{"name":"x"}`, `{"entries":[{"id":"` + id + `","priority":1}]}`, `{"disabled":null}`, `{"email":"a@b","name":"x","role":"admin","password":null}`, `{"user_ids":["` + id + `",1]}`,
		`{"current_password":"a","new_password":"b"}`, `{"email":"a@b","password":"c","organization":null}`, `{"disabled":true}`, `[null]`, `{}`,
		`{"name":"x","expires_at":"2027-01-01T00:00:00Z","scopes":[1]}`, `{"name":"x","expires_at":"2027-01-01T00:00:00,5Z"}`,
		`{"name":"x","user_id":"{` + id + `}","scopes":["a"]}`, `{"name":"x","user_id":"urn:uuid:` + id + `"}`,
		`{"provider_id":"` + id + `","model_alias":"a","upstream_model":"b","source":null,"priority":-1}`, `{"priority":99999999999999999999}`,
		`{"name":"x","model_provider":"openai","base_url":"u","credentials":{},"models":["m"],"settings":[1]}`,
		`{"request_timeout_secs":null,"settings":{"a":{}},"credentials":null}`,
		`{"model_alias":"a","slots":[{"model_alias":"b","label":null}],"context_breakpoints":[1],"floor_slot":null,"deny_slots":null,"name":"n","description":"d"}`,
		`{"name":"x","description":"d","floor_slot":2147483648,"deny_slots":[1]}`,
		`{"name":"x","scope_type":"user","scope_id":null,"period":"daily","token_limit":1,"cost_limit":0.5,"alert_thresholds":[1,2],"requests_per_minute":null}`,
		`{"model_pattern":"m","input_cost_per_million_tokens":1e-3,"output_cost_per_million_tokens":-0,"cache_read_cost_per_million_tokens":null,"long_context":{"threshold_prompt_tokens":1,"input_cost_per_million_tokens":1,"output_cost_per_million_tokens":2}}`,
		`{"name":"x","scope_type":"user","scope_id":null,"policy_type":"allowlist","targets":[{"kind":"provider","provider_id":"` + id + `"},null]}`,
		`{"status":200,"headers":{"A":"1","a":"2"},"body":"x","phase":"stream"}`, `{"status":200,"headers":{"A":null}}`, `{"status":200,"headers":null}`,
		`{"model":"m","api_key_id":"` + id + `","endpoint":"messages","stream":true,"answers":[{"position":1,"status":429,"headers":{"A":"1"}},{"provider_id":"` + id + `","upstream_model":"m","cause":"timeout"},null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := parseJSON(data)
		if err != nil {
			return
		}
		for _, op := range bodies {
			err := fits(op.body, value, "")
			var domain *tenant.Error
			if err != nil && !errors.As(err, &domain) {
				t.Fatalf("%s: not the caller's error: %v", op.id, err)
			}
			if err != nil {
				continue
			}
			if err := json.Unmarshal(data, bodyTypes[op.id]()); err != nil {
				t.Fatalf("%s: fits the document and not the type: %v", op.id, err)
			}
		}
	})
}
