package rest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

var (
	generatedFor  = flag.Duration("generated", 8*time.Second, "how long to send generated requests")
	generatedSeed = flag.Uint64("generated-seed", 0, "send what this seed generates; 0: another each time")
)

// perGround is how many generated requests an organization takes before there is a new
// one: it fills, and what was in it is deleted.
const perGround = 400

// TestGeneratedRequests sends what the document allows and what it just does not: whatever
// comes is answered as the document says, refused in the envelope, and never a 5xx.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	seed := *generatedSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./controlplane/rest -run TestGeneratedRequests -generated-seed %d", seed)
	db, end := storetest.Shared(t), time.Now().Add(*generatedFor)
	good := map[string]int{}
	for round := uint64(0); time.Now().Before(end) && !t.Failed(); round++ {
		g := &generator{ground: newGround(t, db), Rand: rand.New(rand.NewPCG(seed, round))}
		g.pool = slices.Sorted(maps.Values(g.has))
		ops := slices.DeleteFunc(contractOperations(t), func(c contractOperation) bool {
			return c.id == "logout" || c.id == "changePassword" || c.id == "createToken" // they would end the caller
		})
		for range perGround {
			c := pick(g, ops)
			if c.method == http.MethodDelete && !g.oneIn(6) || c.method == http.MethodGet && !g.oneIn(3) {
				c = pick(g, ops) // what is deleted is missed by all that comes after, and reads have little to spoil
			}
			if g.send(t, c) < 300 {
				good[c.id]++
			}
			if time.Now().After(end) || t.Failed() {
				break
			}
		}
	}

	if len(good) < 40 && !t.Failed() {
		t.Errorf("only %d operations ever succeeded: nothing generated fits them", len(good))
	}
}

// generator makes requests of the document.
type generator struct {
	*ground
	*rand.Rand
	pool []string // ids and names that are there
	keys []string // Idempotency-Keys that were used
}

func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, of []T) T { return of[g.IntN(len(of))] }

// send sends one request of the operation and returns its status.
func (g *generator) send(t *testing.T, c contractOperation) int {
	t.Helper()
	by := g.api
	switch {
	case strings.HasPrefix(c.path, userPath):
		by = g.person
	case g.oneIn(10):
		by = pick(g, []*api{g.person, g.member})
	}
	path, header, body := g.path(c), g.header(c), ""
	if c.body {
		schema := c.RequestBody.Value.Content["application/json"].Schema
		value := g.value(schema, "")
		if !slices.Contains(standing, c.id) && !g.oneIn(3) { // one that is known to be taken, or nearly
			o, _ := g.offered(t, c.described)
			value = g.with(o.body, schema.Value)
			if path = o.path; g.oneIn(20) {
				path = g.path(c)
			}
			by = o.by
		}
		body = g.body(value)
	}
	sent := fmt.Sprintf("%s %s %v\n%.2000s", c.method, path, header, body)
	if _, err := url.Parse(path); err != nil {
		return 400 // no client can send it
	}
	r := by.send(t, c.method, path, body, func(req *http.Request) {
		for name, value := range header {
			req.Header[http.CanonicalHeaderKey(name)] = []string{value}
		}
	})
	switch {
	case r.status >= 500:
		t.Errorf("%s\ngot %d %s", sent, r.status, r.body)
	case r.status >= 400 && (r.errorField(t, "message") == "" || r.errorField(t, "type") == ""):
		t.Errorf("%s\nnot in the envelope: %d %s", sent, r.status, r.body)
	case t.Failed(): // it does not match the document
		t.Log(sent)
	}
	return r.status
}

// standing are operations whose recipe needs a provider, which may be deleted meanwhile.
var standing = []string{"addRouteTargets", "renameRoute", "duplicateRoute", "reorderModelMappings"}

// oddText is text that something may stumble over.
var oddText = []string{"", " ", "\t\n", "a\u0301\u0301", "\u202eevil", "😀", "\ufffd", "null", "-1", "../..", "a/b", "%00", "%", "*", "a*b", "'; --", `"\`,
	"{id}", "\u00a0", "ǅ", "İ", strings.Repeat("x", 255), strings.Repeat("é", 256), strings.Repeat("x", 3000), strings.Repeat("/", 70000), "\x7f", "\u0001"}

var oddID = []string{"x", "", "00000000-0000-0000-0000-000000000000", "urn:uuid:0198c5a2-7d3e-7c41-9a55-0b8a4f6f2c11", "{0198c5a2-7d3e-7c41-9a55-0b8a4f6f2c11}",
	"0198C5A2-7D3E-7C41-9A55-0B8A4F6F2C11", "0198c5a27d3e7c419a550b8a4f6f2c11", "0198c5a2-7d3e-7c41-9a55-0b8a4f6f2c1", " ", "1"}

func (g *generator) text() string {
	if g.oneIn(4) {
		return pick(g, oddText)
	}
	if g.oneIn(2) {
		return pick(g, g.pool)
	}
	return fmt.Sprintf("%s-%d", pick(g, []string{"smart", "gpt-5", "Team", "x"}), g.IntN(1000))
}

func (g *generator) id() string {
	switch {
	case g.oneIn(8):
		return pick(g, oddID)
	case g.oneIn(4):
		return uuid.NewString()
	}
	return pick(g, g.pool)
}

// path is the operation's, mostly of something that is there.
func (g *generator) path(c contractOperation) string {
	path := c.path
	for _, p := range parametersOf(c) {
		if p.In != openapi3.ParameterInPath {
			continue
		}
		value := g.text()
		if p.Schema.Value.Format == "uuid" {
			value = g.id()
		}
		if own := g.has.idFor(strings.TrimPrefix(c.path, "/")); own != "" && !g.oneIn(3) && p.Name != "user_id" {
			value = own
		}
		if id := g.has.idFor(c.path); id != "" && !g.oneIn(4) && p.Name != "user_id" {
			value = id
		}
		if p.Name == "provider_id" && !g.oneIn(3) {
			value = g.has["providers"]
		}
		escaped := url.PathEscape(value)
		if g.oneIn(8) {
			escaped = pick(g, []string{"%00", "a%2F%00", "%ff", "a%2fb", "%25", ".."})
		}
		path = strings.ReplaceAll(path, "{"+p.Name+"}", escaped)
	}
	return path + g.query(c)
}

func (g *generator) query(c contractOperation) string {
	query := url.Values{}
	for _, p := range parametersOf(c) {
		if p.In != openapi3.ParameterInQuery || !p.Required && g.oneIn(2) || g.oneIn(10) {
			continue
		}
		value := g.text()
		switch schema := p.Schema.Value; {
		case schema.Format == "uuid":
			value = g.id()
			if p.Name == "policy_id" && !g.oneIn(4) {
				value = g.has["routing-policies"]
			}
		case schema.Type.Is("integer"):
			value = pick(g, []string{"1", "2", "1000", "1001", "0", "-1", "1e3", "", "+1", " 1", "99999999999999999999", "0x10", "1_0", "1.0", "01"})
		case schema.Type.Is("boolean"):
			value = pick(g, []string{"true", "false", "1", "", "TRUE", "t"})
		}
		query.Add(p.Name, value)
		if g.oneIn(15) {
			query.Add(p.Name, value+"x")
		}
	}
	if g.oneIn(20) {
		query.Add("bogus", g.text())
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

func parametersOf(c contractOperation) (list []*openapi3.Parameter) {
	item := theDocument().Paths.Value(c.path)
	for _, p := range slices.Concat(item.Parameters, c.Parameters) {
		list = append(list, p.Value)
	}
	return list
}

func (g *generator) header(c contractOperation) map[string]string {
	header := map[string]string{}
	if c.ifMatch && g.oneIn(3) {
		header["If-Match"] = pick(g, []string{"*", `"1"`, `W/"1"`, `"`, "1", `"a", *`, `""`, `,`, strings.Repeat(`"1",`, 500) + `"1"`, "\xff", `"é"`})
	}
	if c.idempotent && g.oneIn(3) {
		key := uuid.NewString()
		switch {
		case g.oneIn(4):
			key = pick(g, []string{" ", strings.Repeat("k", 255), strings.Repeat("k", 256), "é", "\xff", "a\tb"})
		case len(g.keys) > 0 && g.oneIn(2):
			key = pick(g, g.keys) // with another body, or at another operation
		default:
			g.keys = append(g.keys, key)
		}
		header["Idempotency-Key"] = key
	}
	if g.oneIn(40) {
		header["Content-Type"] = pick(g, []string{"text/plain", "application/json; charset=utf-16", "", "application/x-www-form-urlencoded"})
	}
	return header
}

// written is JSON as it is to be written: valid or not.
type written string

// member is a field of an object, which may stand there twice.
type member struct {
	name  string
	value any
}

// with is a body with up to two more fields.
func (g *generator) with(body any, schema *openapi3.Schema) any {
	had, ok := body.(fields)
	if !ok {
		return body
	}
	raw, err := json.Marshal(had)
	if err != nil {
		panic(err)
	}
	list := members(raw)
	for range g.IntN(3) {
		name := pick(g, slices.Sorted(maps.Keys(schema.Properties)))
		if _, set := had[name]; !set {
			had = with(had, fields{name: true})
			list = append(list, member{name, g.value(schema.Properties[name], name)})
		}
	}
	return list
}

// members are those of a JSON object, down to its leaves.
func members(raw []byte) []member {
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		panic(err)
	}
	return opened(object).([]member)
}

func opened(value any) any {
	switch v := value.(type) {
	case map[string]any:
		list := []member{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, member{name, opened(v[name])})
		}
		return list
	case []any:
		for i := range v {
			v[i] = opened(v[i])
		}
	}
	return value
}

func (g *generator) body(value any) string {
	if !g.oneIn(3) {
		value = g.spoil(value)
	}
	text := render(value)
	if g.oneIn(60) {
		text = pick(g, []string{"", "{", text + "{}", text[:len(text)/2], "\ufeff" + text, "\xff", strings.Repeat("[", 10000), "// x\n" + text, "null", `"x"`, "1e999"})
	}
	return text
}

// value is one that the schema allows; name is its field's.
func (g *generator) value(ref *openapi3.SchemaRef, name string) any {
	schema := ref.Value
	if len(schema.AllOf) == 1 {
		return g.value(schema.AllOf[0], name)
	}
	switch {
	case schema.Nullable && g.oneIn(5):
		return nil
	case len(schema.Enum) > 0:
		return pick(g, schema.Enum)
	case schema.Type == nil:
		return pick(g, []any{true, "x", 1, nil, []any{}})
	case schema.Type.Is("object"):
		return g.object(schema)
	case schema.Type.Is("array"):
		list := []any{}
		for range max(int(schema.MinItems), g.IntN(4)) {
			list = append(list, g.value(schema.Items, name))
		}
		return list
	case schema.Type.Is("boolean"):
		return g.oneIn(2)
	case schema.Type.Is("integer"):
		return g.integer(schema)
	case schema.Type.Is("number"):
		return written(pick(g, []string{"0", "1", "0.25", "1.50", "12.3456", "1e2", "99999999.9999"}))
	}
	return g.string(schema, name)
}

func (g *generator) integer(schema *openapi3.Schema) any {
	least, most := 0, 1000
	if schema.Min != nil {
		least = int(*schema.Min)
	}
	if schema.Max != nil {
		most = int(*schema.Max)
	}
	return pick(g, []int{least, most, least + g.IntN(most-least+1)})
}

func (g *generator) string(schema *openapi3.Schema, name string) string {
	switch {
	case schema.Format == "uuid" && name == "provider_id" || name == "target_provider_id" && !g.oneIn(3):
		return g.has["providers"]
	case schema.Format == "uuid" || name == "user_ids" || name == "ids":
		return g.id()
	case schema.Format == "date-time":
		return pick(g, []string{"2999-01-01T00:00:00Z", "2030-02-28T23:59:60Z", "2026-01-01T00:00:00+05:30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
			time.Now().Add(time.Hour).Format(time.RFC3339Nano)})
	case name == "base_url":
		return pick(g, []string{"https://api.openai.com/v1", "http://llm.example:8443", "https://[::1]/", "ftp://x", "https://user:pass@h/", "https://h/?q=1#f", "https://h/" + g.text()})
	case name == "model_provider" || name == "catalog_slug":
		return pick(g, []string{"openai", "anthropic", "azure_openai", "bedrock", "vertex", "custom", "xai"})
	case name == "scope_type":
		return pick(g, []string{"org", "user", "group", "api_key", "role", "team"})
	case name == "kind":
		return pick(g, []string{"model_alias", "model", "provider", "provider_model", "route_group"})
	case name == "upstream_model":
		return pick(g, []string{"m", "m", g.text()})
	case name == "email":
		return pick(g, []string{unique(), "x", "a@b", g.text() + "@acme.example"})
	case schema.Default != nil && !g.oneIn(3):
		return fmt.Sprint(schema.Default)
	}
	return g.text()
}

func (g *generator) object(schema *openapi3.Schema) any {
	list := []member{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if slices.Contains(schema.Required, name) || g.oneIn(3) {
			list = append(list, member{name, g.value(schema.Properties[name], name)})
		}
	}
	if len(schema.Properties) == 0 {
		list = append(list, member{g.text(), pick(g, []any{"x", 1, nil, true})})
	}
	return list
}

// odd are values that hardly a field takes.
var odd = []any{nil, true, "x", 0, -1, []any{}, []member{}, written("1.5"), written("1e308"), written("1e400"), written("1e-400"), written("-0"), written("2147483648"),
	written("9223372036854775808"), written("-9223372036854775809"), written(strings.Repeat("9", 400)), written("0." + strings.Repeat("1", 400)), written("1e2147483648"),
	written(`"\u0000"`), written(`"\ud800"`), written(`"\udc00\ud800"`), written(`"\ud83d\ude00"`), written(strings.Repeat("[", 63) + strings.Repeat("]", 63)),
	written(strings.Repeat("[", 200) + strings.Repeat("]", 200)), written(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)),
	written("01"), written("NaN"), written("+1"), written(`'x'`), written("\"\xff\""), written("\"\n\"")}

// spoil changes one thing somewhere in a value.
func (g *generator) spoil(value any) any {
	switch v := value.(type) {
	case []member:
		if len(v) > 0 && !g.oneIn(5) {
			i := g.IntN(len(v))
			v[i] = g.spoilMember(v[i], func(m member) { v = append(v, m) })
			if v[i].name == "" {
				v = slices.Delete(v, i, i+1)
			}
			return v
		}
		return append(v, member{pick(g, []string{"bogus", "", "id", "org_id", "__proto__", "\u0130d"}), 1})
	case []any:
		if len(v) > 0 && !g.oneIn(4) {
			i := g.IntN(len(v))
			v[i] = g.spoil(v[i])
			return v
		}
		return pick(g, []any{[]any{}, slices.Repeat(append(v, "x"), 60), append(v, nil), append(v, v...)})
	case string:
		if g.oneIn(2) {
			return pick(g, oddText)
		}
	}
	return pick(g, odd)
}

// spoilMember is a field under another name, twice, without one (which leaves it out), or
// with another value.
func (g *generator) spoilMember(m member, again func(member)) member {
	switch g.IntN(8) {
	case 0:
		return member{}
	case 1:
		again(m)
	case 2:
		m.name = strings.ToUpper(m.name[:min(1, len(m.name))]) + m.name[min(1, len(m.name)):]
	default:
		m.value = g.spoil(m.value)
	}
	return m
}

func render(value any) string {
	switch v := value.(type) {
	case written:
		return string(v)
	case []member:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = render(m.name) + ":" + render(m.value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = render(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
