package decide

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/node"
)

// Org is one organization's compiled configuration. It is never changed after
// Compile; a newer version is a new value.
type Org struct {
	ID      uuid.UUID
	Epoch   int64
	Version int64
	// routes by what callers write in "model": a route's name, or
	// "<provider>/<upstream model>".
	routes map[string]*Route
	keys   map[node.Hash]*Key
	models []Model
	access *accessList
	// providers by id, those without a target too.
	providers map[uuid.UUID]*Provider
	Activity  *Activity // of its requests on this node
	views     map[*Cell][]*View
}

// Key is a gateway key's owner and limits.
type Key struct {
	ID        uuid.UUID
	Name      string
	UserID    *uuid.UUID
	GroupName string
	Access    *Access // what it may call
	Disabled  bool
	ExpiresAt time.Time // zero: never
	Use       *KeyUse   // nil: of a caller that is only thought of
}

// Model is one entry of the callers' model list.
type Model struct {
	ID      string // what to put in "model"
	Created time.Time
}

// Route is a client-facing model name and its targets, in order.
type Route struct {
	Name string
	// Direct is set where Name is the address of one provider's model,
	// "<provider>/<upstream model>".
	Direct  bool
	Targets []*Target // at least one
}

// Target is one provider model of a route.
type Target struct {
	Position      int // as people count them, from 1
	Provider      *Provider
	UpstreamModel string
	// Unservable is why the configuration keeps the target from serving, or empty.
	Unservable Reason

	RetryOn429   int           // further tries on a 429, 0 to 10
	RetryMaxWait time.Duration // 0: about a second, Retry-After ignored
	Timeout      time.Duration // of a whole non-streaming try
	StreamIdle   time.Duration // between streamed chunks, and to the first
	AnyVectors   bool          // may be asked for embeddings though its model is not the route's for them
	Cooldown     node.Cooldown
	Health       *View
	board        *Board
	endpoints    *Endpoints // of the model, where the family's addresses name it; else nil
	called       string     // see Called; empty: as UpstreamModel says
}

// OwnHealth is the record of a caller's own credential on the target, or nil where
// there is none. It is judged by the target's policy, whose threshold of 0 speaks
// of everyone only.
func (t *Target) OwnHealth(credential string) *View {
	key := t.Health.Cell.Key
	key.Credential = credential
	c, ok := t.board.credentials.Load(key)
	if !ok {
		return nil
	}
	return c.(*Cell).View(ownPolicy(t.Cooldown))
}

// OwnCell is where what happens to a caller's own credential is reported.
func (t *Target) OwnCell(credential string, now time.Time) *Cell {
	key := t.Health.Cell.Key
	key.Credential = credential
	return t.board.Credential(key, now)
}

func ownPolicy(p node.Cooldown) node.Cooldown {
	p.FailureThreshold = max(p.FailureThreshold, 1)
	return p
}

// Called is what bodies call the model: UpstreamModel, or the same as the family writes it.
func (t *Target) Called() string {
	if t.called != "" {
		return t.called
	}
	return t.UpstreamModel
}

// Passthrough reports whether the target is asked with the caller's own credential.
func (t *Target) Passthrough() bool { return t.Provider.Auth.Vendor() != NoVendor }

// Provider is where targets send to.
type Provider struct {
	ID     uuid.UUID
	OrgID  uuid.UUID
	Name   string
	Family string
	// Endpoints are those of targets that have none of their own: see Target.Endpoint.
	Endpoints Endpoints
	Base      *url.URL
	// Check is what is read with the credential to see whether it is good; nil: nothing is
	// known to tell.
	Check  *url.URL
	Auth   Auth
	Region string // of AWS, that requests are signed for
	Sealed *node.Sealed
	// Attached is upstream's own: the opened credential, which lives and dies with
	// this configuration.
	Attached atomic.Value
}

// Defect is what is wrong with a snapshot.
type Defect struct {
	Where string // the entry, such as providers[2]; empty: the snapshot itself
	Field string // of the entry, as the admin API names it
	What  string
}

func (d *Defect) Error() string {
	text := d.Field + ": " + d.What
	if d.Where != "" {
		text = d.Where + ": " + text
	}
	return text
}

// Compile turns a snapshot into what requests read. Health records come from board,
// so that they outlive a configuration. The error is a *Defect, which names the entry
// that is wrong; a snapshot that does not compile must not replace one that did.
func Compile(s *node.Snapshot, board *Board) (*Org, error) {
	c := compiler{snapshot: s, board: board, providers: map[uuid.UUID]*compiledProvider{}, enabled: map[providerModel]bool{}}
	for i := range s.Providers {
		if err := c.provider(&s.Providers[i]); err != nil {
			return nil, &Defect{fmt.Sprintf("providers[%d]", i), "base_url", err.Error()}
		}
	}
	for i := range s.Mappings {
		m := &s.Mappings[i]
		if c.providers[m.ProviderID] == nil {
			return nil, &Defect{fmt.Sprintf("mappings[%d]", i), "provider_id", fmt.Sprintf("provider %s is not in the snapshot", m.ProviderID)}
		}
		if m.Alias == m.UpstreamModel && m.Enabled {
			c.enabled[providerModel{m.ProviderID, m.UpstreamModel}] = true
		}
	}
	access, err := compileAccess(s)
	if err != nil {
		return nil, err
	}
	org := &Org{ID: s.OrganizationID, Epoch: s.Epoch, Version: s.Version, routes: c.routes(), keys: make(map[node.Hash]*Key, len(s.Keys)),
		access: access, providers: make(map[uuid.UUID]*Provider, len(c.providers)), Activity: board.Activity(s.OrganizationID)}
	uses := board.uses(s.OrganizationID, s.Keys)
	for i := range s.Keys {
		k := &s.Keys[i]
		key := &Key{ID: k.ID, Name: k.Name, UserID: k.UserID, GroupName: k.GroupName, Access: access.of(k), Disabled: k.Disabled, Use: uses[k.ID]}
		if k.ExpiresAt != nil {
			key.ExpiresAt = *k.ExpiresAt
		}
		org.keys[k.Hash] = key
	}
	org.models, org.views = c.models(org.routes), viewsOf(org.routes)
	for id, p := range c.providers {
		org.providers[id] = p.Provider
	}
	return org, nil
}

type providerModel struct {
	provider uuid.UUID
	model    string
}

type compiledProvider struct {
	*Provider
	slug       string
	unservable Reason
	source     *node.Provider
}

type compiler struct {
	snapshot  *node.Snapshot
	board     *Board
	providers map[uuid.UUID]*compiledProvider
	enabled   map[providerModel]bool // 1:1 rows that are on
}

func (c *compiler) provider(p *node.Provider) error {
	base, err := baseOf(p)
	if err != nil {
		return err
	}
	out := &compiledProvider{
		Provider: &Provider{ID: p.ID, OrgID: c.snapshot.OrganizationID, Name: p.Name, Family: p.Family, Base: base, Endpoints: endpointsOf(p, base),
			Auth: authOf(p), Region: awsRegionOf(p, base), Sealed: p.Credential},
		slug: ProviderSlug(p.Name), source: p,
	}
	out.Check = checkURLOf(p, base, &out.Endpoints)
	switch {
	case !p.Enabled:
		out.unservable = ProviderDisabled
	case !p.Serving:
		out.unservable = ProviderNotServing
	default:
		out.unservable = out.unsendable(c.board.Ambient)
	}
	c.providers[p.ID] = out
	return nil
}

// unsendable is why nothing can be sent to the provider with its credential, or empty.
// ambient is whether the node's own identity may be used.
func (p *Provider) unsendable(ambient bool) Reason {
	switch {
	case p.Auth == NoAuth, p.Sealed == nil && p.Auth.stored(), p.Auth.Signs() && p.Region == "":
		return NotSupported
	case p.Auth.Ambient() || p.Auth == AWSRole && p.Sealed == nil: // else the role is the organization's
		if !ambient {
			return AmbientForbidden
		}
	}
	return ""
}

// ProviderSlug is a provider's name as it stands before the slash in
// "<provider>/<upstream model>": lower case, spaces as '-'.
func ProviderSlug(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

// routes groups the mappings: by alias where the alias alone names the route, and
// each 1:1 row also as "<provider>/<upstream model>".
func (c *compiler) routes() map[string]*Route {
	rows := make([]*node.Mapping, len(c.snapshot.Mappings))
	for i := range rows {
		rows[i] = &c.snapshot.Mappings[i]
	}
	slices.SortFunc(rows, func(a, b *node.Mapping) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.CreatedAt.Compare(b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	routes := make(map[string]*Route, len(rows))
	add := func(name string, m *node.Mapping) {
		r := routes[name]
		if r == nil {
			r = &Route{Name: name}
			routes[name] = r
		}
		r.Targets = append(r.Targets, c.target(m, len(r.Targets)+1))
	}
	for _, m := range rows {
		if m.BareAlias {
			add(m.Alias, m)
		}
	}
	for _, m := range rows {
		direct := c.providers[m.ProviderID].slug + "/" + m.UpstreamModel
		// A route of the same name was named on purpose and goes first.
		if m.Alias == m.UpstreamModel && routes[direct] == nil {
			add(direct, m)
			routes[direct].Direct = true
		}
	}
	return routes
}

func (c *compiler) target(m *node.Mapping, position int) *Target {
	p := c.providers[m.ProviderID]
	t := &Target{
		Position: position, Provider: p.Provider, UpstreamModel: m.UpstreamModel,
		RetryOn429:   m.RetryOn429Count,
		RetryMaxWait: seconds(m.RetryOn429MaxWaitSecs),
		Timeout:      seconds(firstOf(m.RequestTimeoutSecs, p.source.RequestTimeoutSecs, node.DefaultRequestTimeoutSecs)),
		StreamIdle:   seconds(firstOf(m.StreamIdleTimeoutSecs, p.source.StreamIdleTimeoutSecs, node.DefaultStreamIdleTimeoutSecs)),
		AnyVectors:   m.EmbeddingsFailover == node.EmbeddingsAnyModel,
		Cooldown:     node.DefaultCooldown(),
	}
	if m.Cooldown != nil {
		t.Cooldown = *m.Cooldown
	}
	t.board = c.board
	t.Health = c.board.Cell(HealthKey{OrganizationID: c.snapshot.OrganizationID, ProviderID: m.ProviderID, UpstreamModel: m.UpstreamModel}).View(t.Cooldown)
	switch {
	case !m.Enabled:
		t.Unservable = TargetDisabled
	case p.unservable == ProviderDisabled:
		t.Unservable = ProviderDisabled
	case !c.enabled[providerModel{m.ProviderID, m.UpstreamModel}]:
		t.Unservable = ProviderModelDisabled // before the rest, as the admin API's serving_status has it
	default:
		t.Unservable = p.unservable
	}
	e, called, named := endpointsOfModel(p.source, p.Base, m.UpstreamModel)
	if t.called = called; named {
		t.endpoints = &e
	}
	if t.Unservable == "" && *t.takes() == (Endpoints{}) {
		t.Unservable = NotSupported
	}
	return t
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func firstOf(row, provider *int, otherwise int) int {
	switch {
	case row != nil:
		return *row
	case provider != nil:
		return *provider
	}
	return otherwise
}

// models lists what callers may put in "model": every name with a target that
// the configuration lets serve.
func (c *compiler) models(routes map[string]*Route) []Model {
	created := map[string]time.Time{}
	for i := range c.snapshot.Mappings {
		m := &c.snapshot.Mappings[i]
		for _, name := range []string{m.Alias, c.providers[m.ProviderID].slug + "/" + m.UpstreamModel} {
			if at, ok := created[name]; !ok || m.CreatedAt.Before(at) {
				created[name] = m.CreatedAt
			}
		}
	}
	var out []Model
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		if routes[name].Servable() {
			out = append(out, Model{ID: name, Created: created[name]})
		}
	}
	return out
}

// Servable reports whether the configuration lets any target serve.
func (r *Route) Servable() bool {
	return slices.ContainsFunc(r.Targets, func(t *Target) bool { return t.Unservable == "" })
}

// Resolve finds the route for what a caller wrote in "model". A provider's part
// is read without case, its model with.
func (o *Org) Resolve(model string) *Route {
	if r := o.routes[model]; r != nil {
		return r
	}
	if provider, name, ok := strings.Cut(model, "/"); ok {
		return o.routes[ProviderSlug(provider)+"/"+name]
	}
	return nil
}
