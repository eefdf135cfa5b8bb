// Package e2e holds user stories against the whole system: an admin's calls, a
// caller's requests, providers that fail, nodes that share what they see.
package e2e

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
)

func TestMain(m *testing.M) {
	if err := onAWS(); err != nil {
		panic(err)
	}
	waitTogether()
	env.Main(m)
}

// waitTogether lets more tests run at a time than there are processors: most of them wait
// for a browser, for Node.js, or for a target that hangs.
func waitTogether() {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // the flag is there, and takes a number
	}
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
