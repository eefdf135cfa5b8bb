package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// Two providers with a model each, a route over both, and one over the first alone.
var (
	eu, us     = uuid.UUID{1}, uuid.UUID{2}
	accessUser = uuid.UUID{9}
	aGroup     = uuid.UUID{8}
)

// Keys of the fixture, by their owner.
const (
	userKey = iota
	groupKey
	plainKey
)

func accessSnapshot() *node.Snapshot {
	provider := func(id uuid.UUID, name string) node.Provider {
		return node.Provider{ID: id, Name: name, Family: "openai", BaseURL: "https://llm.example/v1", AuthType: "bearer_api_key", Enabled: true, Serving: true, Credential: &node.Sealed{}}
	}
	row := func(n byte, alias string, provider uuid.UUID, model string) node.Mapping {
		return node.Mapping{ID: uuid.UUID{3, n}, Alias: alias, ProviderID: provider, UpstreamModel: model, Enabled: true, BareAlias: alias != model, Priority: int(n)}
	}
	return &node.Snapshot{
		OrganizationID: uuid.UUID{7}, Providers: []node.Provider{provider(eu, "Open AI"), provider(us, "Other")},
		Mappings: []node.Mapping{row(1, "gpt", eu, "gpt"), row(2, "glm", us, "glm"), row(3, "fast", eu, "gpt"), row(4, "fast", us, "glm"), row(5, "team/x", eu, "gpt")},
		Keys: []node.Key{{ID: uuid.UUID{5, userKey}, Hash: node.Hash{userKey}, UserID: &accessUser}, {ID: uuid.UUID{5, groupKey}, Hash: node.Hash{groupKey}, Groups: []string{"eng", "ops"}},
			{ID: uuid.UUID{5, plainKey}, Hash: node.Hash{plainKey}}},
		RouteGroups: []node.RouteGroup{{ID: aGroup, Aliases: []string{"team/x", "OPEN AI/gpt"}}},
	}
}

func compiled(t testing.TB, s *node.Snapshot) *Org {
	t.Helper()
	org, err := Compile(s, NewBoard())
	if err != nil {
		t.Fatal(err)
	}
	return org
}

func callerOf(t testing.TB, org *Org, key byte) Caller {
	t.Helper()
	c, ok := org.Caller(uuid.UUID{5, key})
	if !ok {
		t.Fatal("the key is not there")
	}
	return c
}

// may are the targets that a caller may use, as "name positions", of all names.
func may(c Caller) string {
	var out []string
	for _, m := range c.Org.models {
		r, text := c.Org.routes[m.ID], ""
		for _, t := range r.Targets {
			if c.Key.Access.allows(r, t) {
				text += fmt.Sprint(t.Position)
			}
		}
		if text != "" {
			out = append(out, m.ID+":"+text)
		}
	}
	return strings.Join(out, " ")
}

const everything = "fast:12 open-ai/gpt:1 other/glm:1 team/x:1"

func alias(name string) node.AccessTarget { return node.AccessTarget{Kind: "model_alias", Alias: name} }

func allowing(targets ...node.AccessTarget) node.AccessPolicy {
	return node.AccessPolicy{Name: "allow", ScopeType: "org", Type: "allowlist", Targets: targets}
}

func denying(targets ...node.AccessTarget) node.AccessPolicy {
	return node.AccessPolicy{Name: "deny", ScopeType: "org", Type: "denylist", Targets: targets}
}

func TestAccessTargets(t *testing.T) {
	t.Parallel()
	model := func(name string) node.AccessTarget { return node.AccessTarget{Kind: "model", Model: name} }
	at := func(p uuid.UUID, name string) node.AccessTarget {
		return node.AccessTarget{Kind: "provider_model", ProviderID: p, Model: name}
	}
	provider := node.AccessTarget{Kind: "provider", ProviderID: eu}
	group := node.AccessTarget{Kind: "route_group", GroupID: aGroup}
	for name, c := range map[string]struct {
		policies []node.AccessPolicy
		fallback string
		want     string
	}{
		"None":              {nil, "", everything},
		"DefaultAllow":      {nil, "allow", everything},
		"DefaultDeny":       {nil, "deny", ""},
		"AllowOverDefault":  {[]node.AccessPolicy{allowing(alias("fast"))}, "deny", "fast:12"},
		"AllowAlias":        {[]node.AccessPolicy{allowing(alias("fast"))}, "", "fast:12"},
		"AllowTwo":          {[]node.AccessPolicy{allowing(alias("fast")), allowing(alias("team/x"))}, "", "fast:12 team/x:1"},
		"AllowBeginning":    {[]node.AccessPolicy{allowing(alias("f*"), alias("team/*"))}, "", "fast:12 team/x:1"},
		"AllowStar":         {[]node.AccessPolicy{allowing(alias("*"))}, "deny", everything},
		"AliasIsLiteral":    {[]node.AccessPolicy{allowing(alias("Fast"), alias("fas"))}, "", ""},
		"AllowAddress":      {[]node.AccessPolicy{allowing(alias("OPEN ai/gpt"))}, "", "open-ai/gpt:1"},
		"AddressOfModel":    {[]node.AccessPolicy{allowing(alias("open-ai/GPT"))}, "", ""},
		"AllowAddresses":    {[]node.AccessPolicy{allowing(alias("Open*"))}, "", "open-ai/gpt:1"},
		"AllowModel":        {[]node.AccessPolicy{allowing(model("gpt"))}, "", "fast:1 open-ai/gpt:1 team/x:1"},
		"AllowModels":       {[]node.AccessPolicy{allowing(model("gl*"))}, "", "fast:2 other/glm:1"},
		"AllowProvider":     {[]node.AccessPolicy{allowing(provider)}, "", "open-ai/gpt:1"},
		"DenyProvider":      {[]node.AccessPolicy{denying(provider)}, "", "fast:2 other/glm:1"},
		"AllowAt":           {[]node.AccessPolicy{allowing(at(eu, "fast"))}, "", "fast:1"},
		"AllowAtAddress":    {[]node.AccessPolicy{allowing(at(eu, "gpt"))}, "", "open-ai/gpt:1"},
		"DenyAtAlias":       {[]node.AccessPolicy{denying(at(us, "fast"))}, "", "fast:1 open-ai/gpt:1 other/glm:1 team/x:1"},
		"DenyAtModel":       {[]node.AccessPolicy{denying(at(eu, "gp*"))}, "", "fast:2 other/glm:1"},
		"AllowGroup":        {[]node.AccessPolicy{allowing(group)}, "", "open-ai/gpt:1 team/x:1"},
		"DenyGroup":         {[]node.AccessPolicy{denying(group)}, "", "fast:12 other/glm:1"},
		"AllowGoneGroup":    {[]node.AccessPolicy{allowing(node.AccessTarget{Kind: "route_group", GroupID: eu})}, "", ""},
		"DenyGoneGroup":     {[]node.AccessPolicy{denying(node.AccessTarget{Kind: "route_group", GroupID: eu})}, "", everything},
		"DenyBeatsAllow":    {[]node.AccessPolicy{allowing(alias("*")), denying(alias("fast"))}, "", "open-ai/gpt:1 other/glm:1 team/x:1"},
		"DenyBeatsDefault":  {[]node.AccessPolicy{denying(model("gpt"))}, "allow", "fast:2 other/glm:1"},
		"DenyLeavesDefault": {[]node.AccessPolicy{denying(model("gpt"))}, "deny", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := accessSnapshot()
			s.AccessPolicies, s.DefaultModelAccess = c.policies, c.fallback
			if got := may(callerOf(t, compiled(t, s), plainKey)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whom a policy is for: the others have everything.
func TestAccessScopes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scopeType string
		id        *uuid.UUID
		value     string
		want      []bool // by key
	}{
		"Org":        {"org", nil, "", []bool{true, true, true}},
		"AnyKey":     {"api_key", nil, "", []bool{true, true, true}},
		"Key":        {"api_key", &uuid.UUID{5, groupKey}, "", []bool{false, true, false}},
		"AnyUser":    {"user", nil, "", []bool{true, false, false}},
		"User":       {"user", &accessUser, "", []bool{true, false, false}},
		"OtherUser":  {"user", &uuid.UUID{4}, "", []bool{false, false, false}},
		"AnyGroup":   {"group", nil, "", []bool{false, true, false}},
		"Group":      {"group", nil, "ops", []bool{false, true, false}},
		"OtherGroup": {"group", nil, "Ops", []bool{false, false, false}},
		"Team":       {"team", &accessUser, "", []bool{false, false, false}},
		"Role":       {"role", nil, "eng", []bool{false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := accessSnapshot()
			s.AccessPolicies = []node.AccessPolicy{{Name: "P", ScopeType: c.scopeType, ScopeID: c.id, ScopeValue: c.value, Type: "denylist", Targets: []node.AccessTarget{alias("*")}}}
			org := compiled(t, s)
			for key, denied := range c.want {
				want := everything
				if denied {
					want = ""
				}
				if got := may(callerOf(t, org, byte(key))); got != want {
					t.Errorf("key %d: got %q, want %q", key, got, want)
				}
			}
		})
	}
}

// A control plane from before groups says only the one that a key is bound to.
func TestAccessOfGroupName(t *testing.T) {
	t.Parallel()
	s := accessSnapshot()
	s.Keys[plainKey].GroupName = "eng"
	s.AccessPolicies = []node.AccessPolicy{{Name: "P", ScopeType: "group", ScopeValue: "eng", Type: "denylist", Targets: []node.AccessTarget{alias("*")}}}
	if got := may(callerOf(t, compiled(t, s), plainKey)); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// What a node does not know it refuses: to pass over it would let callers in.
func TestAccessRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*node.Snapshot){
		`access_policies[1]: policy_type: "greylist" is not known here`:                     func(s *node.Snapshot) { s.AccessPolicies[1].Type = "greylist" },
		`access_policies[1]: scope_type: "planet" is not known here`:                        func(s *node.Snapshot) { s.AccessPolicies[1].ScopeType = "planet" },
		`access_policies[1]: targets: the kind "moon" is not known here`:                    func(s *node.Snapshot) { s.AccessPolicies[1].Targets[0].Kind = "moon" },
		`default_model_access: "maybe" is neither allow nor deny`:                           func(s *node.Snapshot) { s.DefaultModelAccess = "maybe" },
		`providers[1]: base_url: "x" is not an absolute http or https address`:              func(s *node.Snapshot) { s.Providers[1].BaseURL = "x" },
		`mappings[0]: provider_id: provider ` + aGroup.String() + ` is not in the snapshot`: func(s *node.Snapshot) { s.Mappings[0].ProviderID = aGroup },
	} {
		s := accessSnapshot()
		s.AccessPolicies = []node.AccessPolicy{allowing(alias("a")), denying(alias("b"))}
		change(s)
		_, err := Compile(s, NewBoard())
		var defect *Defect
		if !errors.As(err, &defect) || defect.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestCallerRoute(t *testing.T) {
	t.Parallel()
	s := accessSnapshot()
	s.AccessPolicies = []node.AccessPolicy{denying(node.AccessTarget{Kind: "model", Model: "gpt"})}
	c := callerOf(t, compiled(t, s), plainKey)
	if r, refusal := c.Route("fast", llm.Chat); refusal != nil || r.Name != "fast" {
		t.Errorf("a route with a target left: %v, %v", r, refusal)
	}
	for d, status := range map[llm.Dialect]int{llm.Chat: 403, llm.Messages: 403, llm.Embeddings: 403, llm.Responses: 400} {
		_, refusal := c.Route("team/x", d)
		want := &Refusal{Status: status, Code: "model_access_denied", Param: "model", Hopeless: true, Message: `You may not use the model "team/x": model access policy "deny" does not allow it.`}
		if diff := cmp.Diff(want, refusal); diff != "" {
			t.Errorf("%v (-want +got)\n%s", d, diff)
		}
	}
	if _, refusal := c.Route("nothing", llm.Chat); refusal == nil || refusal.Status != 404 {
		t.Errorf("nothing answers to it: %v", refusal)
	}
	s.AccessPolicies, s.DefaultModelAccess = nil, "deny"
	_, refusal := compiled(t, s).Anyone().Route("fast", llm.Chat)
	if want := `You may not use the model "fast": no model access policy allows it, and the organization denies by default.`; refusal == nil || refusal.Message != want {
		t.Errorf("got %v, want %s", refusal, want)
	}
}

// A user sees what a key of theirs would, whichever it is.
func TestUserIsWhatTheirKeysHave(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]node.AccessPolicy{
		"User":  {ScopeType: "user", ScopeID: &accessUser, Type: "denylist"},
		"Group": {ScopeType: "group", ScopeValue: "eng", Type: "denylist"},
	} {
		s := accessSnapshot()
		p.Targets = []node.AccessTarget{alias("fast")}
		s.AccessPolicies = []node.AccessPolicy{p}
		org := compiled(t, s)
		if got, want := may(org.User(accessUser, []string{"eng"})), "open-ai/gpt:1 other/glm:1 team/x:1"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := may(org.User(uuid.UUID{4}, nil)); got != everything {
			t.Errorf("%s: another: %q", name, got)
		}
	}
}

// A list has what use would serve, and nothing else.
func TestModelsOfACaller(t *testing.T) {
	t.Parallel()
	s := accessSnapshot()
	s.Mappings[3].Enabled = false // the second target of "fast"
	s.AccessPolicies = []node.AccessPolicy{denying(node.AccessTarget{Kind: "model", Model: "gpt"})}
	var got []string
	for _, m := range callerOf(t, compiled(t, s), plainKey).Models() {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff([]string{"other/glm"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The run asks on every hop, whatever else there is to say of a target.
func TestRunSkipsWhatIsDenied(t *testing.T) {
	t.Parallel()
	s := accessSnapshot()
	s.AccessPolicies = []node.AccessPolicy{denying(node.AccessTarget{Kind: "model", Model: "glm"})}
	c := callerOf(t, compiled(t, s), plainKey)
	r, refusal := c.Route("fast", llm.Chat)
	if refusal != nil {
		t.Fatal(refusal)
	}
	r.Targets[1].Unservable = ProviderDisabled
	run := NewRun(r, llm.Chat, 1, Own{}, c.Key.Access)
	first, _, ok := run.Next(now)
	if !ok || first.Position != 1 {
		t.Fatalf("got %v", first)
	}
	run.Fail(first, verdict(503), 0)
	if second, _, ok := run.Next(now); ok {
		t.Fatalf("asked %d, which is denied", second.Position)
	}
	if a := run.Attempts[1]; a.Reason != "access_denied" || a.Outcome != OutcomeSkipped || a.Message != `model access policy "deny" does not allow it` {
		t.Errorf("got %+v", a)
	}
	if e := run.Exhausted(); e.Status != 503 {
		t.Errorf("status %d: what is denied counted", e.Status)
	}
	asked := NewRun(&Route{Name: "fast", Targets: r.Targets[1:]}, llm.Chat, 1, Own{}, c.Key.Access)
	if would := asked.Would(now); would != nil {
		t.Error("a count of tokens would ask what is denied")
	}
	step := Rehearse(r, Question{Dialect: llm.Chat, Access: c.Key.Access, Now: now, Answer: func(*Target, int) Evidence {
		return Evidence{Phase: Answered, Status: 503}
	}}).Steps[1]
	if step.Skipped == nil || step.Skipped.Reason != "access_denied" {
		t.Errorf("a rehearsal: %+v", step)
	}
}

// The vectors that a caller gets are of the first model that it may use.
func TestEmbeddingsOfWhatIsAllowed(t *testing.T) {
	t.Parallel()
	s := accessSnapshot()
	s.AccessPolicies = []node.AccessPolicy{denying(node.AccessTarget{Kind: "model", Model: "gpt"})}
	c := callerOf(t, compiled(t, s), plainKey)
	run := NewRun(c.Org.Resolve("fast"), llm.Embeddings, 1, Own{}, c.Key.Access)
	if target, _, ok := run.Next(now); !ok || target.UpstreamModel != "glm" {
		t.Errorf("got %v", target)
	}
}

// plainly is the rule as it is told, without anything compiled.
func plainly(s *node.Snapshot, k *node.Key, r *Route, t *Target) bool {
	match := func(pattern, name string) bool {
		begin, open := strings.CutSuffix(pattern, "*")
		return pattern == name || open && strings.HasPrefix(name, begin)
	}
	called := func(pattern string) bool {
		if !r.Direct {
			return match(pattern, r.Name)
		}
		provider, _, _ := strings.Cut(pattern, "/")
		slug := strings.ReplaceAll(strings.ToLower(provider), " ", "-")
		return match(slug+strings.TrimPrefix(pattern, provider), r.Name)
	}
	allowlists, granted := 0, false
	for _, p := range s.AccessPolicies {
		is := p.ScopeType == "org" || p.ScopeType == "api_key" && (p.ScopeID == nil || *p.ScopeID == k.ID) ||
			p.ScopeType == "user" && k.UserID != nil && (p.ScopeID == nil || *p.ScopeID == *k.UserID) ||
			p.ScopeType == "group" && len(k.Groups) > 0 && (p.ScopeValue == "" || slices.Contains(k.Groups, p.ScopeValue))
		if !is {
			continue
		}
		deny := p.Type == "denylist"
		names := false
		for _, x := range p.Targets {
			switch x.Kind {
			case "model_alias":
				names = names || called(x.Alias)
			case "model":
				names = names || match(x.Model, t.UpstreamModel)
			case "provider":
				names = names || x.ProviderID == t.Provider.ID && (deny || r.Direct)
			case "provider_model":
				names = names || x.ProviderID == t.Provider.ID && (match(x.Model, r.alias()) || deny && match(x.Model, t.UpstreamModel))
			case "route_group":
				for _, g := range s.RouteGroups {
					names = names || g.ID == x.GroupID && slices.ContainsFunc(g.Aliases, func(a string) bool { return called(strings.ReplaceAll(a, "*", "\x00")) })
				}
			}
		}
		if deny && names {
			return false
		}
		if !deny {
			allowlists++
			granted = granted || names
		}
	}
	if allowlists > 0 {
		return granted
	}
	return s.DefaultModelAccess != "deny"
}

func TestAccessIsThePlainRule(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"fast", "team/x", "open-ai/gpt", "Open AI/gpt", "gpt", "glm", "other/glm", "*", "f*", "open*", "g*", "team/*", "nothing"})
	target := rapid.Custom(func(t *rapid.T) node.AccessTarget {
		x := node.AccessTarget{Kind: rapid.SampledFrom([]string{"model_alias", "model", "provider", "provider_model", "route_group"}).Draw(t, "kind")}
		x.Alias, x.Model = names.Draw(t, "alias"), names.Draw(t, "model")
		x.ProviderID, x.GroupID = rapid.SampledFrom([]uuid.UUID{eu, us, {}}).Draw(t, "provider"), rapid.SampledFrom([]uuid.UUID{aGroup, {}}).Draw(t, "group")
		return x
	})
	policy := rapid.Custom(func(t *rapid.T) node.AccessPolicy {
		p := node.AccessPolicy{Name: "p", ScopeType: rapid.SampledFrom([]string{"org", "user", "api_key", "group", "team"}).Draw(t, "scope"),
			Type: rapid.SampledFrom([]string{"allowlist", "denylist"}).Draw(t, "type"), Targets: rapid.SliceOfN(target, 1, 4).Draw(t, "targets")}
		switch p.ScopeType {
		case "user", "api_key":
			p.ScopeID = rapid.Ptr(rapid.SampledFrom([]uuid.UUID{accessUser, {5, userKey}, {5, groupKey}, {5, plainKey}}), true).Draw(t, "id")
		case "group":
			p.ScopeValue = rapid.SampledFrom([]string{"", "eng", "nobody"}).Draw(t, "value")
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		s := accessSnapshot()
		s.AccessPolicies = rapid.SliceOfN(policy, 0, 4).Draw(t, "policies")
		s.DefaultModelAccess = rapid.SampledFrom([]string{"", "allow", "deny"}).Draw(t, "default")
		org, err := Compile(s, NewBoard())
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Keys {
			k := org.keys[s.Keys[i].Hash]
			for _, r := range org.routes {
				for _, target := range r.Targets {
					if got, want := k.Access.allows(r, target), plainly(s, &s.Keys[i], r, target); got != want {
						t.Fatalf("key %d, %s target %d: got %t, want %t", i, r.Name, target.Position, got, want)
					}
				}
			}
		}
	})
}

func TestAccessAllocatesNothing(t *testing.T) {
	s := accessSnapshot()
	for i := range 1000 {
		s.AccessPolicies = append(s.AccessPolicies, allowing(alias(fmt.Sprintf("%d*", i)), alias("fas*")))
	}
	c := callerOf(t, compiled(t, s), plainKey)
	r := c.Org.Resolve("fast")
	if n := testing.AllocsPerRun(100, func() { c.Key.Access.Closes(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Ten thousand keys with a policy each and ten thousand routes: nothing is of the size of
// their product.
func BenchmarkCompileAccess(b *testing.B) {
	s := accessSnapshot()
	for i := range 10000 {
		id := uuid.UUID{6, byte(i >> 8), byte(i)}
		s.Keys = append(s.Keys, node.Key{ID: id, Hash: node.Hash(append(id[:], id[:]...)), Groups: []string{"eng"}})
		s.AccessPolicies = append(s.AccessPolicies, node.AccessPolicy{ScopeType: "api_key", ScopeID: &id, Type: "allowlist", Targets: []node.AccessTarget{alias("fast")}})
	}
	for b.Loop() {
		if _, err := compileAccess(s); err != nil {
			b.Fatal(err)
		}
	}
}
