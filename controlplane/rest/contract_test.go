package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/test/provider"
)

// ground is an organization with one of everything, in which every operation can be called.
type ground struct {
	*api
	has    foreign
	nodes  *fleet
	person *api // an administrator, by session
	member *api // a service account that may do little
}

func newGround(t *testing.T, db *storetest.Database) *ground {
	t.Helper()
	g := &ground{nodes: new(fleet)}
	g.nodes.finds(node.ProbeOK, "")
	g.api = setupFleet(t, db, g.nodes)
	g.person = g.api.person(t, unique(), "admin")
	g.has = g.everything(t)
	member := *g.api
	id, secret, err := g.db.Store.CreateServiceAccount(t.Context(), g.org, "member", tenant.RoleMember)
	if err != nil {
		t.Fatal(err)
	}
	member.token = g.signIn(t, id, secret)
	g.member = &member
	return g
}

// offer is a call that succeeds.
type offer struct {
	by   *api
	path string
	body any
}

// made creates something that the call may use up.
func (g *ground) made(t *testing.T, path string, body fields) string {
	t.Helper()
	r := g.call(t, "POST", path, body)
	if r.status != 200 && r.status != 201 {
		t.Fatalf("POST %s: %s", path, r.body)
	}
	return r.id(t)
}

// ownKey is a key of the person's.
func (g *ground) ownKey(t *testing.T) string {
	t.Helper()
	return userPath + "api-keys/" + g.person.call(t, "POST", userPath+"api-keys", fields{"name": "own"}).want(t, 200).id(t)
}

func (g *ground) route(t *testing.T) string {
	t.Helper()
	alias := uuid.NewString()
	g.call(t, "POST", routesPath, routeTo(alias, onProvider(g.has["providers"], "m"))).want(t, 200)
	return routesPath + "/" + alias
}

// offered is the call of an operation that succeeds. Reads need no more than the id of
// what is there; who adds another operation adds a recipe.
func (g *ground) offered(t *testing.T, op described) (offer, bool) {
	t.Helper()
	if recipe, ok := recipes[op.id]; ok {
		o := recipe(t, g)
		if o.by == nil {
			o.by = g.api
		}
		if o.path == "" {
			o.path = op.fill(g.has.idFor(op.path))
		}
		return o, true
	}
	by := g.api
	if strings.HasPrefix(op.path, userPath) {
		by = g.person
	}
	path := op.fill(g.has.idFor(op.path))
	if strings.HasPrefix(op.path, userPath+"api-keys/") {
		path = g.ownKey(t)
	}
	return offer{by: by, path: path}, op.method == http.MethodGet
}

// sends is a recipe of a body alone.
func sends(body any) func(*testing.T, *ground) offer {
	return func(*testing.T, *ground) offer { return offer{body: body} }
}

// called is a recipe of a body that has a name of its own each time.
func called(field string, body fields) func(*testing.T, *ground) offer {
	return func(*testing.T, *ground) offer { return offer{body: newName(field, body)} }
}

func newName(field string, body fields) fields {
	changes := fields{field: uuid.NewString()}
	if body["email"] != nil {
		changes["email"] = unique()
	}
	return with(body, changes)
}

// oneStreamMore listens once more than a caller may.
func oneStreamMore(t *testing.T, g *ground, o offer) answer {
	t.Helper()
	a := setupFleet(t, storetest.Shared(t), &fleet{watched: watched{changed: make(chan struct{})}})
	for range 16 {
		next, leave := a.listen(t, o.path)
		defer leave()
		next()
	}
	return a.call(t, "GET", o.path, nil)
}

// ends is a recipe of deleting what it makes.
func ends(collection string, body fields) func(*testing.T, *ground) offer {
	field := map[string]string{"model-pricing": "model_pattern", "routing-policies": "model_alias", "rate-limits": "target_model_alias",
		"budgets": "target_model_alias"}[collection]
	if field == "" {
		field = "name"
	}
	if collection == "rate-limits" || collection == "budgets" {
		body = with(body, fields{"name": "N"})
	}
	return func(t *testing.T, g *ground) offer {
		path := adminPath + collection
		in := path
		if collection == "routing-rules" {
			in += "?policy_id=" + g.has["routing-policies"]
		}
		return offer{path: path + "/" + g.made(t, in, newName(field, body))}
	}
}

// ofPerson is a recipe of what is the person's own.
func ofPerson(path string, body any) func(*testing.T, *ground) offer {
	return func(_ *testing.T, g *ground) offer { return offer{by: g.person, path: path, body: body} }
}

func ownKeyCall(suffix string, body any) func(*testing.T, *ground) offer {
	return func(t *testing.T, g *ground) offer {
		return offer{by: g.person, path: g.ownKey(t) + suffix, body: body}
	}
}

func (g *ground) mapped(alias string) fields {
	return fields{"provider_id": g.has["providers"], "model_alias": alias, "upstream_model": "m"}
}

// recipes are the calls that succeed, by operation.
var recipes = map[string]func(*testing.T, *ground) offer{
	"createProvider":   called("name", openAI("Made")),
	"updateProvider":   sends(fields{"change_note": "contract"}),
	"deleteProvider":   ends("providers", openAI("")),
	"probeProvider":    sends(nil),
	"validateProvider": sends(with(openAI("Tried"), fields{"api_key": "k"})),
	"validateAwsRole":  sends(fields{"role_arn": "arn:aws:iam::123456789012:role/r", "region": "eu-west-1"}),
	"validateGoogleVertex": func(*testing.T, *ground) offer {
		account := json.RawMessage(provider.New(provider.Config{}).GoogleServiceAccount("a@p.iam.gserviceaccount.com"))
		return offer{body: fields{"project": "p", "credentials": account}}
	},
	"getAwsTrustInfo": func(t *testing.T, g *ground) offer {
		id := g.made(t, connectionsPath, fields{"name": uuid.NewString(), "model_provider": "bedrock", "base_url": "https://bedrock-runtime.us-east-1.amazonaws.com"})
		return offer{path: connectionsPath + "/" + id + "/aws-trust-info"}
	},
	"createModelMapping": func(_ *testing.T, g *ground) offer {
		return offer{body: g.mapped(uuid.NewString())}
	},
	"reorderModelMappings": func(t *testing.T, g *ground) offer {
		id := g.made(t, mappingsPath, g.mapped(uuid.NewString()))
		return offer{body: fields{"entries": []any{fields{"id": id, "priority": 1}}}}
	},
	"updateModelMapping": sends(fields{"priority": 3}),
	"deleteModelMapping": func(t *testing.T, g *ground) offer {
		return offer{path: mappingsPath + "/" + g.made(t, mappingsPath, g.mapped(uuid.NewString()))}
	},
	"createRoute": func(_ *testing.T, g *ground) offer {
		return offer{body: routeTo(uuid.NewString(), onProvider(g.has["providers"], "m"))}
	},
	"renameRoute": func(t *testing.T, g *ground) offer {
		return offer{path: g.route(t) + "/rename", body: fields{"model_alias": uuid.NewString()}}
	},
	"addRouteTargets": func(t *testing.T, g *ground) offer {
		return offer{path: g.route(t) + "/targets", body: fields{"targets": []any{onProvider(g.has["providers"], uuid.NewString())}, "enable_models": true}}
	},
	"duplicateRoute": func(t *testing.T, g *ground) offer {
		return offer{path: g.route(t) + "/duplicate", body: fields{"model_alias": uuid.NewString()}}
	},
	"deleteRoute":               func(t *testing.T, g *ground) offer { return offer{path: g.route(t)} },
	"createModelAccess":         called("name", accessPolicy("")),
	"updateModelAccess":         sends(fields{"enabled": false}),
	"deleteModelAccess":         ends("model-access", accessPolicy("")),
	"createModelRouteGroup":     called("name", fields{}),
	"updateModelRouteGroup":     sends(fields{"description": "d"}),
	"deleteModelRouteGroup":     ends("model-route-groups", fields{}),
	"addModelRouteGroupMembers": sends(fields{"model_aliases": []any{"theirs", "more"}}),
	"removeModelRouteGroupMember": func(t *testing.T, g *ground) offer {
		id := g.made(t, groupsPath, fields{"name": uuid.NewString(), "model_aliases": []any{"x"}})
		return offer{path: groupsPath + "/" + id + "/members/x"}
	},
	"updateGovernanceConfig": sends(fields{"require_pricing_for_mappings": false}),
	"createApiKey":           sends(fields{"name": "made"}),
	"updateApiKey":           sends(fields{"disabled": false}),
	"revokeApiKey":           ends("api-keys", fields{}),
	"rotateApiKey":           sends(fields{"grace_secs": 60}),
	"resetRouteHealth": func(_ *testing.T, g *ground) offer {
		return offer{path: adminPath + "llm-gw/route-health/" + g.has["providers"] + "/reset", body: fields{"upstream_model": "m"}}
	},
	"classifyResult":   sends(fields{"status": 429}),
	"explainRequest":   sends(fields{"model": "theirs"}),
	"createConnection": called("name", connection("")),
	"updateConnection": sends(fields{"change_note": "contract"}),
	"deleteConnection": ends("connections", connection("")),
	"createUser":       called("name", fields{"email": "@"}),
	"updateUser":       sends(fields{"name": "N"}),
	"deleteUser":       ends("users", fields{"email": "@"}),
	"endUserSessions":  sends(nil),
	"createGroup":      called("name", fields{}),
	"updateGroup":      sends(fields{"description": "d"}),
	"deleteGroup":      ends("groups", fields{}),
	"addGroupMembers": func(_ *testing.T, g *ground) offer {
		return offer{body: fields{"user_ids": []any{g.has["users"]}}}
	},
	"removeGroupMember": func(t *testing.T, g *ground) offer {
		id := g.made(t, peopleGroupsPath, fields{"name": uuid.NewString(), "user_ids": []any{g.has["users"]}})
		return offer{path: peopleGroupsPath + "/" + id + "/members/" + g.has["users"]}
	},
	"updateProfile":  ofPerson(userPath+"profile", fields{"name": "Dana"}),
	"changePassword": ofPerson(userPath+"password", fields{"current_password": password, "new_password": password}),
	"endOwnSession": func(t *testing.T, g *ground) offer {
		list := g.person.call(t, "GET", userPath+"sessions", nil).want(t, 200).list(t)
		email := g.person.call(t, "GET", userPath+"profile", nil).field(t, "email").(string)
		g.signedIn(t, email, password)
		had := fmt.Sprint(list)
		for _, s := range g.person.call(t, "GET", userPath+"sessions", nil).list(t) {
			if id := s["id"].(string); !strings.Contains(had, id) {
				return offer{by: g.person, path: userPath + "sessions/" + id}
			}
		}
		t.Fatal("no second session")
		return offer{}
	},
	"createOwnApiKey": ofPerson(userPath+"api-keys", fields{"name": "mine"}),
	"updateOwnApiKey": ownKeyCall("", fields{"disabled": true}),
	"revokeOwnApiKey": ownKeyCall("", nil),
	"rotateOwnApiKey": ownKeyCall("/rotate", fields{}),
	"login": func(t *testing.T, g *ground) offer {
		email := unique()
		g.call(t, "POST", usersPath, fields{"email": email, "name": "L", "password": password}).want(t, 200)
		return offer{path: "/auth/login", body: fields{"email": email, "password": password}}
	},
	"logout": func(t *testing.T, g *ground) offer {
		return offer{by: g.api.person(t, unique(), "member"), path: "/auth/logout"}
	},
	"createModelPricing":         called("model_pattern", price("", 1)),
	"importModelPricingDefaults": sends(fields{}),
	"syncModelPricingDefaults":   sends(nil),
	"updateModelPricing":         sends(fields{"change_reason": "r"}),
	"deleteModelPricing":         ends("model-pricing", price("", 1)),
	"restoreModelPricing": func(t *testing.T, g *ground) offer {
		id := g.made(t, pricesPath, price(uuid.NewString(), 1))
		g.call(t, "DELETE", pricesPath+"/"+id, nil).want(t, 200)
		return offer{path: pricesPath + "/" + id + "/restore"}
	},
	"listModelPricingHistory": func(*testing.T, *ground) offer { return offer{path: pricesPath + "/history?model_pattern=m"} },
	"createRateLimit":         called("target_model_alias", rateLimit("Made")),
	"updateRateLimit":         sends(fields{"name": "N"}),
	"deleteRateLimit":         ends("rate-limits", rateLimit("")),
	"createBudget":            called("target_model_alias", budget("Made")),
	"updateBudget":            sends(fields{"name": "N"}),
	"deleteBudget":            ends("budgets", budget("")),
	"createRoutingPolicy":     called("model_alias", routingPolicy("")),
	"updateRoutingPolicy":     sends(fields{"posture": "savings"}),
	"deleteRoutingPolicy":     ends("routing-policies", routingPolicy("")),
	"createRoutingRule": func(_ *testing.T, g *ground) offer {
		return offer{path: rulesPath + "?policy_id=" + g.has["routing-policies"], body: with(routingRule(""), fields{"name": uuid.NewString()})}
	},
	"listRoutingRules": func(_ *testing.T, g *ground) offer {
		return offer{path: rulesPath + "?policy_id=" + g.has["routing-policies"]}
	},
	"updateRoutingRule": sends(fields{"name": "N"}),
	"deleteRoutingRule": ends("routing-rules", routingRule("")),
}

// provocations are what provokes a status where the rule for all operations does not.
var provocations = map[string]map[int]func(*testing.T, *ground, offer) answer{
	"listRoutingRules":  {404: missingPolicy},
	"createRoutingRule": {404: missingPolicy},

	"listModelMappings": {503: func(t *testing.T, g *ground, o offer) answer {
		g.nodes.err = tenant.Unavailable()
		defer func() { g.nodes.err = nil }()
		return g.call(t, "GET", o.path+"?unhealthy=true", nil) // the others it lists without nodes
	}},
	"watchChanges":    {429: oneStreamMore},
	"watchOwnChanges": {429: oneStreamMore},
	"getAwsTrustInfo": {400: func(t *testing.T, g *ground, _ offer) answer {
		return g.call(t, "GET", connectionsPath+"/"+g.has["connections"]+"/aws-trust-info", nil)
	}},
	"validateProvider": {404: func(t *testing.T, g *ground, o offer) answer {
		return g.call(t, "POST", o.path, fields{"name": "T", "model_provider": "openai", "base_url": "https://api.openai.com/v1", "connection_id": uuid.NewString()})
	}},
	"updateProvider": {409: second(providersPath, "name", openAI("Second"))},
	"updateModelMapping": {409: func(t *testing.T, g *ground, _ offer) answer {
		id := g.made(t, mappingsPath, g.mapped(uuid.NewString()))
		return g.call(t, "PUT", mappingsPath+"/"+id, fields{"model_alias": "theirs"})
	}},
	"renameRoute":           {409: changed(func(*ground) fields { return fields{"model_alias": "theirs"} })},
	"updateModelRouteGroup": {409: second(groupsPath, "name", fields{"name": "Second"})},
	"deleteModelRouteGroup": {409: func(t *testing.T, g *ground, o offer) answer {
		group := o.path[strings.LastIndex(o.path, "/")+1:]
		policy := g.made(t, accessPath, with(accessPolicy("Holds"), fields{"targets": []any{fields{"kind": "route_group", "group_id": group}}}))
		r := g.call(t, "DELETE", o.path, nil)
		g.call(t, "DELETE", accessPath+"/"+policy, nil).want(t, 200)
		return r
	}},
	"updateApiKey": {409: func(t *testing.T, g *ground, _ offer) answer {
		path := keysPath + "/" + g.made(t, keysPath, fields{"name": "revoked"})
		g.call(t, "DELETE", path, nil).want(t, 200)
		return g.call(t, "PATCH", path, fields{"disabled": true})
	}},
	"updateOwnApiKey": {409: func(t *testing.T, g *ground, _ offer) answer {
		path := g.ownKey(t)
		g.person.call(t, "DELETE", path, nil).want(t, 200)
		return g.person.call(t, "PATCH", path, fields{"disabled": true})
	}},
	"explainRequest":   {409: uncompilable},
	"listOwnModels":    {409: uncompilable},
	"updateConnection": {409: second(connectionsPath, "name", connection("Second"))},
	"deleteConnection": {409: func(t *testing.T, g *ground, o offer) answer {
		path, user := g.sharing(t)
		r := g.call(t, "DELETE", path, nil)
		g.call(t, "DELETE", user, nil).want(t, 200)
		return r
	}},
	"updateUser": {409: second(usersPath, "email", fields{"email": "second@acme.example", "name": "S"})},
	"deleteUser": {409: func(t *testing.T, g *ground, _ offer) answer {
		return g.call(t, "DELETE", usersPath+"/"+g.person.call(t, "GET", userPath+"profile", nil).want(t, 200).id(t), nil)
	}},
	"updateModelPricing": {409: func(t *testing.T, g *ground, _ offer) answer {
		g.price(t, with(price("instants", 1), fields{"effective_from": farFuture}))
		id := g.made(t, pricesPath, with(price("instants", 2), fields{"effective_from": "2999-01-02T00:00:00Z"}))
		return g.call(t, "PUT", pricesPath+"/"+id, fields{"effective_from": farFuture})
	}},
	"updateRateLimit":            {409: second(limitsPath, "traffic_type", with(rateLimit("Second"), fields{"traffic_type": "llm"}))},
	"updateBudget":               {409: second(budgetsPath, "period", with(budget("Second"), fields{"period": "daily"}))},
	"updateRoutingPolicy":        {409: second(policiesPath, "model_alias", routingPolicy("second"))},
	"updateGroup":                {404: changed(func(*ground) fields { return fields{"user_ids": []any{uuid.NewString()}} })},
	"importModelPricingDefaults": {404: changed(func(*ground) fields { return fields{"ids": []any{uuid.NewString()}} })},
	"login": {
		401: changed(func(*ground) fields { return fields{"password": "wrong"} }),
		403: func(t *testing.T, g *ground, o offer) answer {
			return g.sendJSON(t, "POST", o.path, o.body, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
		},
		429: func(t *testing.T, g *ground, o offer) answer {
			email := unique()
			for range 10 {
				g.call(t, "POST", o.path, fields{"email": email, "password": "wrong"}).want(t, 401)
			}
			return g.call(t, "POST", o.path, fields{"email": email, "password": "wrong"})
		},
	},

	"getRoute":    {400: func(t *testing.T, g *ground, _ offer) answer { return g.call(t, "GET", routesPath+"/a%00b", nil) }},
	"deleteRoute": {400: func(t *testing.T, g *ground, _ offer) answer { return g.call(t, "DELETE", routesPath+"/a%2Fb%00", nil) }},
	"logout":      {400: func(t *testing.T, g *ground, o offer) answer { return g.api.call(t, "POST", o.path, nil) }}, // by a token, which has no session
	"restoreModelPricing": {409: func(t *testing.T, g *ground, o offer) answer {
		g.call(t, "POST", o.path, nil).want(t, 200)
		return g.call(t, "POST", o.path, nil)
	}},
	"changePassword": {429: func(t *testing.T, g *ground, o offer) answer {
		other := g.api.person(t, unique(), "member")
		wrong := fields{"current_password": "wrong", "new_password": password}
		for range 10 {
			other.call(t, "PUT", o.path, wrong).want(t, 400)
		}
		return other.call(t, "PUT", o.path, wrong)
	}},
}

// second makes another resource, and gives the one of the offer what only one may have.
func second(path, field string, body fields) func(*testing.T, *ground, offer) answer {
	return func(t *testing.T, g *ground, o offer) answer {
		t.Helper()
		g.made(t, path, body)
		return g.call(t, "PUT", o.path, fields{field: body[field]})
	}
}

func missingPolicy(t *testing.T, g *ground, o offer) answer {
	t.Helper()
	method := http.MethodGet
	if o.body != nil {
		method = http.MethodPost
	}
	return g.call(t, method, rulesPath+"?policy_id="+uuid.NewString(), o.body)
}

// changed sends the offer with a change to its body.
func changed(change func(*ground) fields) func(*testing.T, *ground, offer) answer {
	return func(t *testing.T, g *ground, o offer) answer {
		t.Helper()
		method := map[bool]string{true: http.MethodPut, false: http.MethodPost}[!strings.HasSuffix(o.path, "login") && !strings.HasSuffix(o.path, "import-defaults")]
		body, _ := o.body.(fields)
		return o.by.call(t, method, o.path, with(body, change(g)))
	}
}

// uncompilable asks while the stored configuration is one that no node takes.
func uncompilable(t *testing.T, g *ground, o offer) answer {
	t.Helper()
	conn := storetest.Connect(t, g.db.SuperuserURL)
	var was string
	err := conn.QueryRow(t.Context(), `UPDATE providers p SET base_url = 'llm.example' FROM providers o WHERE p.id = $1 AND o.id = p.id RETURNING o.base_url`, g.has["providers"]).Scan(&was)
	if err != nil {
		t.Fatal(err)
	}
	method := http.MethodGet
	if o.body != nil {
		method = http.MethodPost
	}
	r := o.by.call(t, method, o.path, o.body)
	if _, err := conn.Exec(t.Context(), `UPDATE providers SET base_url = $2 WHERE id = $1`, g.has["providers"], was); err != nil {
		t.Fatal(err)
	}
	return r
}

// contractOperation is an operation of the document as the test asks it.
type contractOperation struct {
	described
	*openapi3.Operation
	ifMatch, idempotent, limited, body bool
	ids                                bool // in the path
}

func contractOperations(t *testing.T) (list []contractOperation) {
	t.Helper()
	for path, item := range theDocument().Paths.Map() {
		for method, op := range item.Operations() {
			c := contractOperation{described: described{op.OperationID, method, path}, Operation: op}
			c.body = op.RequestBody != nil && op.RequestBody.Value.Content["application/json"] != nil
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				c.ifMatch = c.ifMatch || p.Value.Name == "If-Match"
				c.idempotent = c.idempotent || p.Value.Name == "Idempotency-Key"
				c.limited = c.limited || p.Value.Name == "limit"
				c.ids = c.ids || p.Value.In == "path" && p.Value.Schema.Value.Format == "uuid"
			}
			list = append(list, c)
		}
	}
	order := map[string]int{"POST": 0, "GET": 1, "PUT": 2, "PATCH": 3, "DELETE": 4} // what is used up goes last
	slices.SortFunc(list, func(a, b contractOperation) int {
		if d := order[a.method] - order[b.method]; d != 0 {
			return d
		}
		return strings.Compare(a.id, b.id)
	})
	return list
}

// statuses are those that the document names, the good one last: it may use something up.
func (c contractOperation) statuses() (list []int) {
	for code := range c.Responses.Map() {
		status, _ := strconv.Atoi(code)
		list = append(list, status)
	}
	slices.SortFunc(list, func(a, b int) int { return b - a })
	return list
}

// provoke makes the status come. What an operation shares with all others is here.
func (g *ground) provoke(t *testing.T, c contractOperation, o offer, status int) answer {
	t.Helper()
	if own := provocations[c.id][status]; own != nil {
		return own(t, g, o)
	}
	send := func(header, value string) answer {
		return o.by.sendJSON(t, c.method, o.path, o.body, func(r *http.Request) { r.Header.Set(header, value) })
	}
	switch status {
	case 400:
		return g.provokeBadRequest(t, c, o, send)
	case 401:
		return o.by.sendJSON(t, c.method, o.path, o.body, func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Del("Cookie") })
	case 403:
		if least, _ := tenant.LeastRole(tenant.Operation(c.id)); least != tenant.RoleMember {
			return g.member.call(t, c.method, o.path, o.body)
		}
		if c.method == http.MethodGet { // what is the caller's own: a service account is nobody
			return g.api.call(t, c.method, o.path, o.body)
		}
		return g.person.sendJSON(t, c.method, o.path, o.body, func(r *http.Request) { r.Header.Del("X-Spillway-Request") })
	case 404:
		body := any(nil)
		if text, ok := matrixBodies[c.id]; ok {
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, uuid.NewString())
			}
			body = text
		}
		if !c.body {
			body = nil
		}
		return o.by.call(t, c.method, c.fill(uuid.NewString()), body)
	case 409:
		key := uuid.NewString()
		send("Idempotency-Key", key)
		g.atWork(t, key)
		return send("Idempotency-Key", key)
	case 412:
		return send("If-Match", `"99999999"`)
	case 413:
		return o.by.call(t, c.method, o.path, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	case 422:
		if c.body {
			return o.by.call(t, c.method, o.path, `[]`)
		}
		key := uuid.NewString()
		send("Idempotency-Key", key).want(t, 200)
		return o.by.sendJSON(t, c.method, o.path, `{}`, func(r *http.Request) { r.Header.Set("Idempotency-Key", key) })
	case 503:
		g.nodes.err = tenant.Unavailable()
		defer func() { g.nodes.err = nil }()
		return o.by.call(t, c.method, o.path, o.body)
	}
	return o.by.call(t, c.method, o.path, o.body)
}

func (g *ground) provokeBadRequest(t *testing.T, c contractOperation, o offer, send func(header, value string) answer) answer {
	t.Helper()
	switch {
	case c.body:
		return o.by.call(t, c.method, o.path, `{"bogus":1}`)
	case c.limited:
		return o.by.call(t, c.method, c.fill(g.has.idFor(c.path))+"?limit=0", nil)
	case c.ifMatch:
		return send("If-Match", "7")
	case c.idempotent:
		return send("Idempotency-Key", strings.Repeat("x", 256))
	case c.ids:
		return o.by.call(t, c.method, c.fill("x"), nil)
	}
	return o.by.call(t, c.method, c.path, o.body) // without what its address needs
}

// atWork makes a call that was answered one that is being made.
func (g *ground) atWork(t *testing.T, key string) {
	t.Helper()
	tag, err := storetest.Connect(t, g.db.SuperuserURL).Exec(t.Context(),
		`UPDATE idempotency_keys SET status = NULL, answer = NULL, version = NULL, begun_at = now() WHERE key = $1`, key)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("the key is not kept: %v", err)
	}
}

// TestContract walks the document: every operation is made to succeed and to give every
// status that it is said to give. What is answered is held against the document by every
// call of every test (matchesDocument).
func TestContract(t *testing.T) {
	t.Parallel()
	g := newGround(t, storetest.Shared(t))
	for _, c := range contractOperations(t) {
		if c.id == "createToken" { // RFC 6749 has words of its own: token_test.go
			continue
		}
		t.Run(c.id, func(t *testing.T) {
			for _, status := range c.statuses() {
				o, ok := g.offered(t, c.described)
				if !ok {
					t.Fatal("there is no recipe for a call that succeeds")
				}
				if status == http.StatusInternalServerError {
					continue // see TestContractOfFailure
				}
				if r := g.provoke(t, c, o, status); r.status != status {
					t.Errorf("nothing provokes %d: got %d %s", status, r.status, r.body)
				}
			}
		})
	}
	for id := range maps.Keys(recipes) {
		if !slices.ContainsFunc(contractOperations(t), func(c contractOperation) bool { return c.id == id }) {
			t.Errorf("the recipe %s is of no operation", id)
		}
	}
}

// TestContractOfFailure: whatever breaks, the answer is 500 in the envelope, and says
// nothing of what broke.
func TestContractOfFailure(t *testing.T) {
	t.Parallel()
	g := newGround(t, storetest.New(t))
	type call struct {
		contractOperation
		offer
	}
	var calls []call
	for _, c := range contractOperations(t) {
		if c.id != "createToken" {
			o, _ := g.offered(t, c.described)
			calls = append(calls, call{c, o})
		}
	}
	g.db.Store.Close()
	for _, c := range calls {
		r := g.person.call(t, c.method, c.path, c.offer.body)
		r.want(t, 500)
		if message := r.errorField(t, "message"); message != "internal error; request id "+r.header.Get("X-Request-Id") {
			t.Errorf("%s: got %q", c.id, message)
		}
	}
	g.form(t, url.Values{"grant_type": {"client_credentials"}, "client_id": {g.clientID}, "client_secret": {g.clientSecret}}, nil).want(t, 500)
}
