package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
	"github.com/spillway-gateway/spillway/api/client"
)

func healthActs() []act {
	return []act{
		{"health", "list", "", "list the targets whose health has a history, on all nodes", healthList},
		{"health", "reset", "PROVIDER/MODEL", "end a target's cooldown on every node", healthReset},
	}
}

func statusActs() []act {
	return []act{
		{"nodes", "", "", "see which nodes serve which configuration", nodes},
		{"config-status", "", "", "the same as nodes", nodes},
		{"explain", "", "MODEL", "what the gateway would do with a request, without making it", explain},
		{"audit", "", "", "see who changed what, the newest first", audit},
	}
}

func healthList(ctx context.Context, a *adminCall) error {
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	r, err := a.ListRouteHealthWithResponse(ctx)
	if err != nil {
		return err
	}
	if silent := r.JSON200.Nodes.Silent; len(silent) > 0 {
		fmt.Fprintf(a.stderr, "No answer from: %s.\n", strings.Join(silent, ", "))
	}
	return a.show(r.Body, func(t *table) {
		t.row("TARGET", "STATE", "REASON", "RECOVERS IN", "FAILURES")
		for _, h := range r.JSON200.Routes {
			recovers := any(nil)
			if h.EjectRemainingSecs > 0 {
				recovers = seconds(h.EjectRemainingSecs)
			}
			t.row(h.ProviderName+"/"+h.UpstreamModel, healthWord(h.State), strings.ReplaceAll(cell(or(h.CooldownReason)), "_", " "), recovers, h.ConsecutiveFailures)
		}
	})
}

// healthWord is a state in the words of the rest of the product.
func healthWord(s admin.RouteHealthState) string {
	switch s {
	case admin.RouteHealthStateEjected:
		return "cooling down"
	case admin.RouteHealthStateHalfOpen:
		return "recovering"
	}
	return string(s)
}

func healthReset(ctx context.Context, a *adminCall) error {
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	targets, err := a.resolve(ctx, args)
	if err != nil {
		return err
	}
	done, err := a.ResetRouteHealthWithResponse(ctx, targets[0].ProviderId, nil, admin.RouteHealthReset{UpstreamModel: targets[0].UpstreamModel})
	if err != nil {
		return err
	}
	if !done.JSON200.WasEjected {
		return a.say(done.Body, "%s was healthy.", args[0])
	}
	return a.say(done.Body, "%s is healthy on every node.", args[0])
}

func nodes(ctx context.Context, a *adminCall) error {
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	r, err := a.GetConfigStatusWithResponse(ctx)
	if err != nil {
		return err
	}
	s := r.JSON200
	if err := a.show(r.Body, func(t *table) {
		t.row("NODE", "VERSION", "STATE")
		for _, n := range s.Nodes {
			t.row(n.Node, or(n.Version), nodeState(n))
		}
	}); err != nil || *a.output == "json" {
		return err
	}
	if !s.Reachable {
		_, err = fmt.Fprintf(a.stdout, "Version %d is the newest. The nodes cannot be asked.\n", s.Version)
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Version %d is live on %d of %d nodes.\n", s.Version, s.LiveNodes, len(s.Nodes))
	return err
}

func nodeState(n admin.ConfigNode) string {
	if refused, err := n.Refused.Get(); err == nil {
		raw, err := json.Marshal(refused)
		if err == nil {
			return "refused " + string(raw)
		}
	}
	switch {
	case !n.Answered:
		return "no answer"
	case n.Live:
		return "live"
	}
	return "behind"
}

// explainAnswer reads POSITION=STATUS, or POSITION=CAUSE.
func explainAnswer(text string) (answer admin.SimulatedAnswer, err error) {
	at, what, ok := strings.Cut(text, "=")
	position, err := strconv.Atoi(at)
	if !ok || err != nil || what == "" {
		return answer, usage(fmt.Errorf("--answer %q: write POSITION=STATUS or POSITION=CAUSE, such as 1=503 or 1=timeout", text))
	}
	answer.Position = &position
	if status, err := strconv.Atoi(what); err == nil {
		answer.Status = &status
		return answer, nil
	}
	answer.Cause = new(admin.SimulatedCause(what))
	return answer, nil
}

func explain(ctx context.Context, a *adminCall) error {
	key := a.flags.String("key", "", "the caller's gateway key: its name, id or first characters; default one that is nobody's")
	endpoint := a.flags.String("endpoint", "", "chat_completions, messages, responses or embeddings")
	stream := a.flags.Bool("stream", false, "the caller asks for a stream")
	ignore := a.flags.Bool("ignore-health", false, "take every target for healthy")
	answers := a.listFlag("answer", "POSITION=STATUS or POSITION=CAUSE of a target, such as 1=503; may be given several times")
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	question := admin.ExplainQuestion{Model: args[0], Stream: stream, IgnoreHealth: ignore}
	if *endpoint != "" {
		question.Endpoint = new(admin.ExplainEndpoint(*endpoint))
	}
	if *key != "" {
		k, _, err := a.key(ctx, *key)
		if err != nil {
			return err
		}
		question.ApiKeyId = &k.Id
	}
	var made []admin.SimulatedAnswer
	for _, text := range *answers {
		answer, err := explainAnswer(text)
		if err != nil {
			return err
		}
		made = append(made, answer)
	}
	if made != nil {
		question.Answers = &made
	}
	r, err := a.ExplainRequestWithResponse(ctx, question)
	if err != nil {
		return err
	}
	return a.showExplained(r.Body, *r.JSON200)
}

func (a *adminCall) showExplained(raw []byte, e admin.Explanation) error {
	if *a.output == "table" {
		fmt.Fprintln(a.stdout, plainText(e.Resolution.Reason))
	}
	if err := a.show(raw, func(t *table) {
		if len(e.Steps) > 0 {
			t.row("#", "TARGET", "DECISION", "WHY")
		}
		for _, s := range e.Steps {
			t.row(s.Position, s.ProviderName+"/"+s.UpstreamModel, strings.ReplaceAll(string(s.Decision), "_", " "), explainedWhy(s))
		}
	}); err != nil || *a.output == "json" {
		return err
	}
	o := e.Outcome
	line := "Outcome: " + string(o.Kind)
	if status, err := o.Status.Get(); err == nil {
		line += fmt.Sprintf(", status %d", status)
	}
	if at, err := o.Position.Get(); err == nil {
		line += fmt.Sprintf(", by target %d", at)
	}
	if message, err := o.Message.Get(); err == nil {
		line += ": " + message
	}
	_, err := fmt.Fprintln(a.stdout, plainText(line))
	return err
}

func explainedWhy(s admin.ExplainStep) string {
	var parts []string
	if reason, err := s.Reason.Get(); err == nil {
		parts = append(parts, strings.ReplaceAll(reason, "_", " "))
	}
	for _, text := range []*string{s.CooldownReason, s.DeniedBy, s.Message} {
		if text != nil && *text != "" {
			parts = append(parts, *text)
		}
	}
	for _, try := range s.Tries {
		word := strings.ReplaceAll(string(try.Class), "_", " ")
		if status, err := try.Status.Get(); err == nil {
			word = fmt.Sprintf("%d %s", status, word)
		}
		parts = append(parts, word+" -> "+strings.ReplaceAll(string(try.Next), "_", " "))
	}
	return strings.Join(parts, "; ")
}

func audit(ctx context.Context, a *adminCall) error {
	limit := a.flags.Int("limit", 20, "how many; at most 1000")
	operation := a.flags.String("operation", "", "only this operation, such as updateModelMapping")
	resource := a.flags.String("resource", "", "only what changed the resource with this id")
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	if *limit < 1 || *limit > 1000 {
		return usage(errors.New("--limit must be between 1 and 1000"))
	}
	params := &admin.ListAuditEventsParams{Limit: limit}
	if *operation != "" {
		params.Operation = operation
	}
	if *resource != "" {
		id, err := uuid.Parse(*resource)
		if err != nil {
			return usage(errors.New("--resource must be an id"))
		}
		params.ResourceId = &id
	}
	l := listed[admin.AuditEvent]{raw: []json.RawMessage{}}
	for raw, err := range client.List[json.RawMessage](ctx, a.ListAuditEvents, params) {
		if err != nil {
			return err
		}
		if l.raw = append(l.raw, raw); len(l.raw) == *limit {
			break
		}
	}
	if err := l.decode(); err != nil {
		return err
	}
	return a.show(l.raw, func(t *table) {
		t.row("VERSION", "AT", "WHO", "OPERATION", "CHANGES", "NOTE")
		for _, e := range l.items {
			var changes []string
			for _, c := range e.Changes {
				changes = append(changes, string(c.Action)+" "+c.Kind)
			}
			t.row(e.Version, e.At, e.ActorName, e.Operation, counted(changes), or(e.ChangeNote))
		}
	})
}

// counted puts equal words into one, with their number.
func counted(words []string) (out []string) {
	count := map[string]int{}
	for _, w := range words {
		if count[w]++; count[w] == 1 {
			out = append(out, w)
		}
	}
	for i, w := range out {
		if count[w] > 1 {
			out[i] = fmt.Sprintf("%s (%d)", w, count[w])
		}
	}
	return out
}
