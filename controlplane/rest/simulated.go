package rest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// simulated is a made-up answer and whose it is: a position, or a provider's model.
type simulated struct {
	path     string // of the answer in the request
	position int    // 0: provider and model
	provider uuid.UUID
	model    string
	evidence decide.Evidence
}

func simulatedAnswers(b *admin.ExplainQuestion) ([]simulated, error) {
	if b.Answers == nil {
		return nil, nil
	}
	out := make([]simulated, 0, len(*b.Answers))
	for i, a := range *b.Answers {
		s := simulated{path: fmt.Sprintf("answers[%d]", i)}
		byModel := a.ProviderId != nil && a.UpstreamModel != nil
		switch {
		case a.Position != nil && a.ProviderId == nil && a.UpstreamModel == nil:
			if s.position = *a.Position; s.position < 1 {
				return nil, tenant.Invalid(s.path+".position", "%s.position must be at least 1", s.path)
			}
		case a.Position == nil && byModel:
			s.provider, s.model = *a.ProviderId, *a.UpstreamModel
		default:
			return nil, tenant.Invalid(s.path, "%s: give either position, or provider_id and upstream_model", s.path)
		}
		var err error
		if s.evidence, err = evidenceOfAnswer(s.path, a, valueOr(b.Stream, false)); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

var simulatedPhases = map[admin.SimulatedPhase]decide.Phase{
	admin.SimulatedPhaseAnswered: decide.Answered,
	admin.SimulatedPhaseStream:   decide.Answered,
	admin.SimulatedPhaseContent:  decide.Committed,
}

var simulatedCauses = map[admin.SimulatedCause]decide.Cause{
	admin.SimulatedCauseTimeout:           decide.TimedOut,
	admin.SimulatedCauseConnection:        decide.Broken,
	admin.SimulatedCauseConnectionRefused: decide.Refused,
	admin.SimulatedCauseBadAnswer:         decide.NotAnAnswer,
	admin.SimulatedCauseCallerGone:        decide.CallerGone,
}

// evidenceOfAnswer reads a made-up answer, and refuses what no attempt can come to.
func evidenceOfAnswer(path string, a admin.SimulatedAnswer, stream bool) (decide.Evidence, error) {
	phase := valueOr(a.Phase, admin.SimulatedPhaseAnswered)
	e := decide.Evidence{Header: http.Header{}}
	var known bool
	if e.Phase, known = simulatedPhases[phase]; !known {
		return e, tenant.Invalid(path+".phase", "%s.phase must be 'answered', 'stream' or 'content'", path)
	}
	inStream := phase != admin.SimulatedPhaseAnswered
	if inStream && !stream {
		return e, tenant.Invalid(path+".phase", "%s.phase must be 'answered' where the request does not stream", path)
	}
	if a.Cause != nil {
		if e.Cause, known = simulatedCauses[*a.Cause]; !known {
			return e, tenant.Invalid(path+".cause", "%s.cause must be 'timeout', 'connection', 'connection_refused', 'bad_answer' or 'caller_gone'", path)
		}
	}
	if err := simulatedStatus(path, a, inStream, &e); err != nil {
		return e, err
	}
	if a.Body != nil {
		if a.Cause != nil {
			return e, tenant.Invalid(path+".body", "%s.body must not be given with a cause: it is not read", path)
		}
		e.Body = []byte(*a.Body)
	}
	readHeaders(e.Header, a.Headers)
	if e.Body != nil && e.Cause == decide.NoCause && stream && successful(e.Status) && strings.HasPrefix(e.Header.Get("Content-Type"), "text/event-stream") {
		return e, tenant.Invalid(path+".body", "%s.body must not be a whole event stream: give an error event's data, with phase 'stream' or 'content'", path)
	}
	return e, nil
}

// simulatedStatus reads the status, and from it how far the attempt got.
func simulatedStatus(path string, a admin.SimulatedAnswer, inStream bool, e *decide.Evidence) error {
	e.Status = valueOr(a.Status, 0)
	switch {
	case a.Status != nil && (e.Status < 100 || e.Status > 599):
		return tenant.Invalid(path+".status", "%s.status must be between 100 and 599", path)
	case a.Status == nil && a.Cause == nil && !inStream:
		return tenant.Invalid(path, "%s: give a status or a cause", path)
	case e.Cause == decide.Refused && (a.Status != nil || inStream):
		return tenant.Invalid(path+".cause", "%s.cause must not be 'connection_refused' where an answer came", path)
	case a.Status != nil && (a.Cause != nil || inStream) && !successful(e.Status):
		return tenant.Invalid(path+".status", "%s.status must be between 200 and 299 with a cause, and in a stream", path)
	case e.Cause == decide.Refused:
		e.Phase = decide.Dialing
	case a.Status != nil:
	case inStream, e.Cause == decide.NotAnAnswer:
		e.Status = http.StatusOK
	default:
		e.Phase = decide.Sent // no answer came
	}
	if inStream && e.Cause == decide.NoCause {
		e.Cause = decide.ErrorInside
	}
	return nil
}

func successful(status int) bool { return status >= 200 && status < 300 }

// readHeaders adds headers in the order of their names, so that of two names that
// differ in case the same one counts every time.
func readHeaders(into http.Header, headers *map[string]string) {
	if headers == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(*headers)) {
		into.Add(name, (*headers)[name])
	}
}

// script is what targets answer to their tries, by position.
type script map[int][]decide.Evidence

// scriptFor gives each answer to its target. One that is no target's is refused: what it
// was meant for would be explained as healthy.
func scriptFor(route *decide.Route, answers []simulated) (script, error) {
	type providerModel struct {
		provider uuid.UUID
		model    string
	}
	positions := map[providerModel]int{}
	for _, t := range route.Targets {
		positions[providerModel{t.Provider.ID, t.UpstreamModel}] = t.Position
	}
	out := script{}
	for _, a := range answers {
		position := a.position
		if position == 0 {
			position = positions[providerModel{a.provider, a.model}]
		}
		switch {
		case position == 0:
			return nil, tenant.Invalid(a.path, "%s: the route has no target of that provider and model", a.path)
		case position > len(route.Targets):
			return nil, tenant.Invalid(a.path+".position", "%s.position must be at most %d: the route has no more targets", a.path, len(route.Targets))
		}
		out[position] = append(out[position], a.evidence)
	}
	return out, nil
}

// answer is what a target says to a try: the last answer holds for all that follow, and
// a target without any answers as asked.
func (s script) answer(t *decide.Target, try int) decide.Evidence {
	answers := s[t.Position]
	if len(answers) == 0 {
		return decide.Evidence{Phase: decide.Answered, Status: http.StatusOK}
	}
	return answers[min(try, len(answers))-1]
}
