package clients

import (
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-gateway/spillway/test/env"
	"github.com/spillway-gateway/spillway/test/provider"
)

// cli is one of the tools, as the tests use all of them.
type cli struct {
	dialect string // where it would ask its own vendor
	route   string // of the settings; tools look a model up by how its name begins
	start   func(t *testing.T, e *env.Env, key string) *tool
	ask     func(t *testing.T, c *tool, model, prompt string, args ...string) reply
	// read and look are how a model calls for a text file and for a picture; look is nil
	// where the tool shows pictures to models only that it knows.
	read, look func(t *testing.T, path string) *provider.ToolCall
	ways       []way
	// foreign is an upstream that does not understand the arguments and the environment
	// that are beside it, since they ask for what only the tool's own vendor has.
	foreign     upstream
	foreignArgs []string
	foreignEnv  []string
	// hasty makes it try again less often.
	hasty func(c *tool) (args []string)
	says  map[string]string // of each failure, by its name
}

// reply is what the person sees.
type reply struct {
	outcome
	words    string   // of the model, the last
	thoughts []string // of the model
	failure  string   // what went wrong, as the tool says it
}

// scenario is a conversation of one prompt: what the model does with each request of it,
// and what must have come of that.
type scenario struct {
	name  string
	steps func(t *testing.T, of *cli, c *tool) []provider.Behavior
	check func(t *testing.T, of *cli, o *opened, got reply, asked []provider.Request)
}

var scenarios = []scenario{
	{"Text", func(*testing.T, *cli, *tool) []provider.Behavior { return make([]provider.Behavior, 1) },
		func(*testing.T, *cli, *opened, reply, []provider.Request) {}},
	{"Tool", func(t *testing.T, of *cli, c *tool) []provider.Behavior {
		return []provider.Behavior{{Thinks: "I must look.", Tool: of.read(t, filepath.Join(c.work, "word.txt"))}, {Thinks: "That is it."}}
	}, checkTool},
	{"Image", func(t *testing.T, of *cli, c *tool) []provider.Behavior {
		return []provider.Behavior{{Tool: of.look(t, filepath.Join(c.work, "dot.png"))}, {}}
	}, checkImage},
}

// checkTool: the model thinks and asks for a file, the tool reads it, and the model gets
// what is in it. The thought goes back to the vendor whose it is, and to no other.
func checkTool(t *testing.T, of *cli, o *opened, got reply, asked []provider.Request) {
	before, after := string(asked[0].Body), string(asked[1].Body)
	if strings.Contains(before, secret) || !strings.Contains(after, "the word is "+secret) {
		t.Error("the model did not get the file")
	}
	if want := []string{"I must look.", "That is it."}; !o.mute && !slices.Equal(got.thoughts, want) {
		t.Errorf("the person sees the thoughts %q, want %q", got.thoughts, want)
	}
	own := o.serves(0) == o.serves(1) && o.serves(0).path == of.dialect
	// In chat a thought is bound to nobody, and some vendors want it back.
	if o.serves(1).path != of.dialect || of.dialect != chatPath {
		if strings.Contains(after, "I must look.") != own {
			t.Errorf("the model gets its thought back: %t, want %t", !own, own)
		}
	}
}

// checkImage: the model asks for a picture and gets it, in the form of its dialect.
func checkImage(t *testing.T, _ *cli, o *opened, _ reply, asked []provider.Request) {
	data := base64.StdEncoding.EncodeToString(dot(t))
	form := map[string]string{
		messagesPath: `"data":"` + data + `"`, chatPath: `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data,
		responsesPath: `"image_url":"data:image/png;base64,` + data,
	}[o.serves(1).path]
	if !strings.Contains(string(asked[1].Body), form) {
		t.Errorf("the model did not get the picture: %s", asked[1].Body)
	}
}

// tellScenarios runs each scenario over each way.
func tellScenarios(t *testing.T, of *cli) {
	t.Helper()
	e := env.Start(t, env.Options{})
	type telling struct {
		scenario
		*opened
		person  *tool
		answers int
	}
	var all []telling
	for _, s := range scenarios {
		for _, w := range of.ways {
			if s.name == "Image" && of.look == nil {
				continue
			}
			person := of.start(t, e, e.APIKey)
			furnish(t, person)
			steps := s.steps(t, of, person)
			if w.down >= len(steps) {
				continue // there is no coming back
			}
			all = append(all, telling{s, w.open(e, strings.ToLower(of.route+"-"+s.name+"-"+w.name), steps...), person, len(steps)})
		}
	}
	e.Live()
	for _, x := range all {
		t.Run(x.scenario.name+"/"+x.way.name, func(t *testing.T) {
			t.Parallel()
			got := of.ask(t, x.person, x.route, "Which word is in word.txt?", x.args...)
			last := x.serves(x.answers - 1).model
			if got.code != 0 || got.failure != "" || !strings.Contains(got.words, "Hello from "+last) {
				t.Fatalf("no answer of %s but %q and the failure %q; %s", last, got.words, got.failure, got.outcome)
			}
			x.check(t, of, x.opened, got, x.asked(t, e, x.answers))
		})
	}
}
