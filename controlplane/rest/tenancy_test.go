package rest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// described is an operation of the document that needs a token.
type described struct {
	id, method, path string
}

// fill puts an id into the path. A route's id is its name.
func (d described) fill(id string) string {
	if !strings.Contains(d.path, "{id}") && !strings.Contains(d.path, "{provider_id}") {
		path := strings.ReplaceAll(d.path, "{alias}", id)
		if path == rulesPath {
			path += "?policy_id=" + id
		}
		return path
	}
	return strings.NewReplacer("{id}", id, "{provider_id}", id, "{alias}", "theirs", "{user_id}", uuid.Nil.String()).Replace(d.path)
}

func operations(t *testing.T) (list []described) {
	t.Helper()
	doc := theDocument()
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Security == nil {
				list = append(list, described{op.OperationID, method, path})
			}
		}
	}
	slices.SortFunc(list, func(a, b described) int { return strings.Compare(a.id, b.id) })
	if len(list) < 19 {
		t.Fatalf("only %d operations in the document", len(list))
	}
	return list
}

func TestDocument(t *testing.T) {
	t.Parallel()
	doc := theDocument()
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var public []string
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if op.Security != nil {
				public = append(public, op.OperationID)
			}
		}
	}
	if diff := cmp.Diff([]string{"createToken", "login"}, slices.Sorted(slices.Values(public))); diff != "" {
		t.Errorf("operations without a token (-want +got):\n%s", diff)
	}
}

func TestPermissionTableIsTheDocument(t *testing.T) {
	t.Parallel()
	var documented []string
	for _, op := range operations(t) {
		documented = append(documented, op.id)
	}
	var permitted []string
	for _, op := range tenant.Operations() {
		permitted = append(permitted, string(op))
	}
	if diff := cmp.Diff(documented, permitted); diff != "" {
		t.Errorf("(-document +permission table):\n%s", diff)
	}
}

// foreign is what another organization has, by the collection of the path.
type foreign map[string]string

func (a *api) everything(t *testing.T) foreign {
	t.Helper()
	f := foreign{"providers": a.provider(t, "Theirs", "m")}
	f["model-mappings"] = a.call(t, "GET", mappingsPath, nil).want(t, 200).list(t)[0]["id"].(string)
	f["routes"] = a.call(t, "POST", routesPath, routeTo("theirs", onProvider(f["providers"], "m"))).want(t, 200).field(t, "model_alias").(string)
	f["model-route-groups"] = a.call(t, "POST", groupsPath, fields{"name": "Theirs", "model_aliases": []any{"theirs"}}).want(t, 200).id(t)
	f["model-access"] = a.call(t, "POST", accessPath, accessPolicy("Theirs")).want(t, 200).id(t)
	f["api-keys"] = a.call(t, "POST", keysPath, fields{"name": "theirs"}).want(t, 200).id(t)
	a.call(t, "POST", mappingsPath, fields{"provider_id": f["providers"], "model_alias": "cheap", "upstream_model": "m"}).want(t, 200)
	a.call(t, "POST", mappingsPath, fields{"provider_id": f["providers"], "model_alias": "strong", "upstream_model": "m"}).want(t, 200)
	f["routing-policies"] = a.policy(t, "theirs-auto")
	f["routing-rules"] = a.call(t, "POST", rulesPath+"?policy_id="+f["routing-policies"], routingRule("Theirs")).want(t, 201).id(t)
	f["rate-limits"] = a.call(t, "POST", limitsPath, rateLimit("Theirs")).want(t, 200).id(t)
	f["budgets"] = a.call(t, "POST", budgetsPath, budget("Theirs")).want(t, 200).id(t)
	f["model-pricing"] = a.price(t, with(price("m", 1), fields{"effective_from": farFuture})).id(t)
	f["connections"] = a.call(t, "POST", connectionsPath, connection("Theirs")).want(t, 200).id(t)
	person := a.person(t, "theirs@other.example", "member")
	f["users"] = person.call(t, "GET", userPath+"profile", nil).want(t, 200).id(t)
	f["sessions"] = person.call(t, "GET", userPath+"sessions", nil).want(t, 200).list(t)[0]["id"].(string)
	f["groups"] = a.call(t, "POST", peopleGroupsPath, fields{"name": "theirs", "user_ids": []string{f["users"]}}).want(t, 200).id(t)
	return f
}

func (f foreign) idFor(path string) string {
	return f[strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, adminPath), userPath), "/")[0]]
}

// bodies by operation, where one is needed; %s is an id of another organization.
var matrixBodies = map[string]string{
	"updateProvider":            `{}`,
	"resetRouteHealth":          `{"upstream_model":"m"}`,
	"createRoute":               `{"model_alias":"x","targets":[{"provider_id":"%s","upstream_model":"m"}]}`,
	"addRouteTargets":           `{"targets":[{"provider_id":"%s","upstream_model":"m"}]}`,
	"renameRoute":               `{"model_alias":"x"}`,
	"duplicateRoute":            `{"model_alias":"x"}`,
	"updateModelMapping":        `{}`,
	"updateApiKey":              `{"disabled":true}`,
	"rotateApiKey":              `{}`,
	"createModelMapping":        `{"provider_id":"%s","model_alias":"x","upstream_model":"m"}`,
	"reorderModelMappings":      `{"entries":[{"id":"%s","priority":1}]}`,
	"explainRequest":            `{"model":"m","api_key_id":"%s"}`,
	"createModelPricing":        `{"model_pattern":"m","input_cost_per_million_tokens":1,"output_cost_per_million_tokens":1,"provider_id":"%s"}`,
	"updateModelPricing":        `{}`,
	"updateRoutingPolicy":       `{}`,
	"updateRoutingRule":         `{}`,
	"createRoutingRule":         `{"name":"x","description":"d","floor_slot":1}`,
	"updateRateLimit":           `{"target_provider_id":"%s"}`,
	"createRateLimit":           `{"name":"x","scope_type":"org","requests_per_minute":1,"target_provider_id":"%s"}`,
	"updateBudget":              `{}`,
	"createBudget":              `{"name":"x","scope_type":"org","period":"daily","token_limit":1,"target_provider_id":"%s"}`,
	"updateModelAccess":         `{}`,
	"createModelAccess":         `{"name":"x","scope_type":"org","policy_type":"denylist","targets":[{"kind":"route_group","group_id":"%s"}]}`,
	"updateModelRouteGroup":     `{}`,
	"addModelRouteGroupMembers": `{"model_aliases":["x"]}`,
	"updateUser":                `{}`,
	"updateConnection":          `{}`,
	"createProvider":            `{"name":"x","model_provider":"openai","base_url":"https://api.openai.com/v1","connection_id":"%s"}`,
	"updateGroup":               `{}`,
	"createGroup":               `{"name":"x","user_ids":["%s"]}`,
	"addGroupMembers":           `{"user_ids":["00000000-0000-0000-0000-000000000000"]}`,
	"updateOwnApiKey":           `{"disabled":true}`,
	"rotateOwnApiKey":           `{}`,
}

// leaks calls every operation that takes an id with the id of another organization
// and with one that does not exist, and returns where the answers differ.
func (a *api) leaks(t *testing.T, theirs foreign) (found []string) {
	t.Helper()
	person := a.person(t, "mine@acme.example", "member")
	ask := func(op described, id string) string {
		body := matrixBodies[op.id]
		if strings.Contains(body, "%s") {
			body = fmt.Sprintf(body, id)
		}
		caller := a
		if strings.HasPrefix(op.path, userPath) {
			caller = person
		}
		r := caller.call(t, op.method, op.fill(id), body)
		return fmt.Sprint(r.status, strings.ReplaceAll(string(r.body), id, "ID"))
	}
	for _, op := range operations(t) {
		id := theirs.idFor(op.path)
		switch op.id {
		case "listRoutingRules", "createRoutingRule":
			id = theirs["routing-policies"]
		case "createModelMapping", "createModelPricing", "createRateLimit", "createBudget", "createRoute", "addRouteTargets", "resetRouteHealth":
			id = theirs["providers"]
		case "createModelAccess":
			id = theirs["model-route-groups"]
		case "explainRequest":
			id = theirs["api-keys"]
		case "createProvider":
			id = theirs["connections"]
		case "createGroup":
			id = theirs["users"]
		case "reorderModelMappings":
		default:
			if !strings.Contains(op.path, "{id}") && !strings.Contains(op.path, "{alias}") {
				continue
			}
		}
		got, want := ask(op, id), ask(op, uuid.NewString())
		if got != want || !strings.HasPrefix(want, "404") {
			found = append(found, op.id)
		}
	}
	return found
}

func TestAnotherOrganizationIsNotThere(t *testing.T) {
	t.Parallel()
	a := setup(t)
	theirs := a.as(t, "Other", tenant.RoleAdmin)
	theirID := theirs.everything(t)
	before := theirs.call(t, "GET", mappingsPath, nil).body
	if got := a.leaks(t, theirID); len(got) != 0 {
		t.Errorf("the answer tells whether another organization has the id: %v", got)
	}
	for _, path := range []string{providersPath, mappingsPath, keysPath, accessPath, groupsPath, routesPath, pricesPath, limitsPath, budgetsPath, policiesPath,
		usersPath, peopleGroupsPath, connectionsPath} {
		got := a.call(t, "GET", path, nil).want(t, 200).list(t)
		got = slices.DeleteFunc(got, func(row map[string]any) bool { return row["email"] == "mine@acme.example" })
		if len(got) != 0 {
			t.Errorf("GET %s lists another organization's: %v", path, got)
		}
	}
	if diff := cmp.Diff(string(before), string(theirs.call(t, "GET", mappingsPath, nil).body)); diff != "" {
		t.Errorf("another organization's rows changed:\n%s", diff)
	}
}

// TestMatrixSeesAMissingPolicy takes one policy away at a time: a test of the wall
// that stays green without the wall is no test.
func TestMatrixSeesAMissingPolicy(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"providers", "model_mappings", "api_keys", "model_route_groups", "model_access_policies", "model_pricing", "rate_limits", "budgets", "routing_policies", "routing_rules",
		"users", "groups", "connections"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			a := setupAlone(t)
			theirID := a.as(t, "Other", tenant.RoleAdmin).everything(t)
			if _, err := storetest.Connect(t, a.db.URL).Exec(t.Context(), `ALTER TABLE `+table+` DISABLE ROW LEVEL SECURITY`); err != nil {
				t.Fatal(err)
			}
			if len(a.leaks(t, theirID)) == 0 {
				t.Errorf("without the policy of %s every answer is still the same", table)
			}
		})
	}
}
