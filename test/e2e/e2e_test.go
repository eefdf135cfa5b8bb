// Package e2e holds user stories against the whole system: an admin's calls, a
// caller's requests, providers that fail, nodes that share what they see.
package e2e

import (
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

func TestMain(m *testing.M) {
	if err := onAWS(); err != nil {
		panic(err)
	}
	env.Main(m)
}

// The first start leaves something to try: a route over two providers, in all
// dialects, streamed and not.
func TestDemoRouteAnswers(t *testing.T) {
	t.Parallel()
	e := env.Start(t, env.Options{})
	for name, a := range map[string]env.Answer{
		"Chat": e.Chat(0, "demo", false), "ChatStreamed": e.Chat(0, "demo", true),
		"Responses": e.Responses(0, "demo", false), "ResponsesStreamed": e.Responses(0, "demo", true),
		"Messages": e.Messages(0, "demo", false), "MessagesStreamed": e.Messages(0, "demo", true),
	} {
		if a.Status != 200 || len(a.Body) == 0 {
			t.Errorf("%s: status %d: %s", name, a.Status, a.Body)
		}
	}
}
