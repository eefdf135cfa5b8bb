package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// ExplainRequest walks a request through the organization's configuration with the
// code that the nodes run, in the order in which they look at it: key, model,
// route.
func (s *server) ExplainRequest(ctx context.Context, r admin.ExplainRequestRequestObject) (admin.ExplainRequestResponseObject, error) {
	b := r.Body
	dialect, served := decide.EndpointDialect(string(valueOr(b.Endpoint, admin.ExplainEndpointChatCompletions)))
	if !served {
		return nil, tenant.Invalid("endpoint", "endpoint must be 'chat_completions', 'messages', 'responses' or 'embeddings'")
	}
	stream := valueOr(b.Stream, false)
	if stream && !decide.Streams(dialect) {
		return nil, tenant.Invalid("stream", "stream must not be true: there are no streams of embeddings")
	}
	body, err := bodyOf(b)
	if err != nil {
		return nil, err
	}
	simulated, err := simulatedAnswers(b)
	if err != nil {
		return nil, err
	}
	e, err := s.rehearsal(ctx, b)
	if err != nil {
		return nil, err
	}
	if !e.out.Caller.Valid {
		e.refuse(admin.ExplainResolutionKindNotReached, "The gateway key does not let the caller in.", decide.InvalidKey())
		return admin.ExplainRequest200JSONResponse(e.out), nil
	}
	caller := e.org.Anyone()
	if b.ApiKeyId != nil {
		caller, _ = e.org.Caller(*b.ApiKeyId) // it is valid, and so it is there
	}
	route, refusal := caller.Route(b.Model, dialect)
	if refusal != nil {
		e.refused(caller, b.Model, refusal)
		return admin.ExplainRequest200JSONResponse(e.out), nil
	}
	script, err := scriptFor(route, simulated)
	if err != nil {
		return nil, err
	}
	e.walk(route, decide.Rehearse(route, decide.Question{
		Dialect: dialect, Stream: stream, Body: body, Own: valueOr(b.OwnCredential, false), Access: caller.Key.Access, Now: e.now, Answer: script.answer,
	}))
	return admin.ExplainRequest200JSONResponse(e.out), nil
}

// bodyOf is the caller's body, which asks for the question's model; nil: none was given.
func bodyOf(b *admin.ExplainQuestion) ([]byte, error) {
	if b.Body == nil {
		return nil, nil
	}
	body := maps.Clone(*b.Body)
	body["model"], body["stream"] = b.Model, valueOr(b.Stream, false)
	return json.Marshal(body)
}

// explanation is a request that is being explained.
type explanation struct {
	snapshot *node.Snapshot
	org      *decide.Org
	now      time.Time
	out      admin.Explanation
}

// rehearsal compiles the organization's newest configuration as a node would, over the
// health that the nodes report.
func (s *server) rehearsal(ctx context.Context, b *admin.ExplainQuestion) (*explanation, error) {
	by := principal(ctx)
	if err := s.knowKey(ctx, b.ApiKeyId); err != nil {
		return nil, err
	}
	snapshot, err := s.store.Snapshot(ctx, by.OrganizationID)
	if err != nil {
		return nil, err
	}
	board := decide.NewBoard()
	board.Ambient = true // whether nodes may use their own identity is their operator's to say, and not known here
	org, err := decide.Compile(snapshot, board)
	if err != nil {
		return nil, tenant.Uncompilable(err)
	}
	e := &explanation{snapshot: snapshot, org: org}
	e.out.Health.Answered, e.out.Health.Silent = []string{}, []string{}
	if !valueOr(b.IgnoreHealth, false) {
		s.assumeHealth(ctx, e, board)
	}
	if e.now.IsZero() {
		e.now = time.Now()
	}
	e.out.Configuration.Epoch, e.out.Configuration.Version = snapshot.Epoch, snapshot.Version
	e.out.Caller.Valid, e.out.Caller.Reason = true, orNull[string](nil)
	if b.ApiKeyId != nil {
		e.caller(*b.ApiKeyId)
	}
	e.out.Steps = []admin.ExplainStep{}
	return e, nil
}

// knowKey refuses a key that the organization never had.
func (s *server) knowKey(ctx context.Context, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	_, err := s.store.APIKeys().Get(ctx, principal(ctx), *id)
	if isKind(err, tenant.KindNotFound) {
		return tenant.UnknownAPIKey(*id)
	}
	return err
}

// assumeHealth puts what the nodes report on the board. Without them everything is
// healthy, and the answer says so.
func (s *server) assumeHealth(ctx context.Context, e *explanation, board *decide.Board) {
	reports, silent, err := s.fleet.Health(ctx, e.org.ID, uuid.Nil)
	e.now = time.Now() // what the nodes say runs from when they said it
	if err != nil {
		s.log.Warn("health not known", "error", err)
		return
	}
	for _, r := range reports {
		e.out.Health.Answered = append(e.out.Health.Answered, r.Node)
	}
	slices.Sort(e.out.Health.Answered)
	e.out.Health.Silent = append(e.out.Health.Silent, silent...)
	e.out.Health.Included = len(reports) > 0
	board.Assume(e.org.ID, merged(recordsOf(reports)), e.now)
}

// caller looks the key up as a node would. Why it is refused is told here only: an
// administrator may know.
func (e *explanation) caller(id uuid.UUID) {
	table := new(decide.Table).With(e.org)
	reason := "revoked" // such keys are in no snapshot
	for _, k := range e.snapshot.Keys {
		if k.ID != id {
			continue
		}
		if _, valid := table.Lookup(k.Hash, e.now); valid {
			return
		}
		reason = "expired"
		if k.Disabled {
			reason = "disabled"
		}
	}
	e.out.Caller.Valid, e.out.Caller.Reason = false, orNull(&reason)
}

// whyUnknown says what of the configuration comes nearest to a model that nothing
// answers to.
func whyUnknown(s *node.Snapshot, model string) string {
	slugs := map[uuid.UUID]string{}
	for _, p := range s.Providers {
		slugs[p.ID] = decide.ProviderSlug(p.Name)
	}
	for _, m := range s.Mappings {
		if m.Alias == model && !m.BareAlias {
			return fmt.Sprintf("The name %q is not callable by itself (bare_alias is false); %q is.", model, slugs[m.ProviderID]+"/"+m.UpstreamModel)
		}
	}
	for _, m := range s.Mappings {
		if m.BareAlias && strings.EqualFold(m.Alias, model) {
			return fmt.Sprintf("No route is named %q; names are told apart by case, and there is %q.", model, m.Alias)
		}
	}
	if provider, name, direct := strings.Cut(model, "/"); direct {
		for _, p := range s.Providers {
			if slugs[p.ID] == decide.ProviderSlug(provider) {
				return fmt.Sprintf("The provider %q has no model %q enabled.", p.Name, name)
			}
		}
	}
	return fmt.Sprintf("No route is named %q, and it is no provider's model.", model)
}

func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}
