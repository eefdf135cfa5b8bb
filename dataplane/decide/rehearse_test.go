package decide

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

func TestAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		evidence Evidence
		want     Turn
	}{
		"Served":            {Evidence{Phase: Answered, Status: 200}, Served},
		"StreamedToItsEnd":  {Evidence{Phase: Committed, Status: 200}, Served},
		"RateLimited":       {Evidence{Phase: Answered, Status: 429}, TryAgain},
		"LimitedInContent":  {Evidence{Phase: Committed, Cause: ErrorInside, Status: 200, Body: []byte(`{"error":{"type":"rate_limit_error"}}`)}, Broke},
		"Failed":            {Evidence{Phase: Answered, Status: 500}, NextTarget},
		"BrokeInContent":    {Evidence{Phase: Committed, Cause: Broken, Status: 200}, Broke},
		"Refused":           {Evidence{Phase: Answered, Status: 400}, PassedOn},
		"Unknown":           {Evidence{Phase: Answered, Status: 418}, PassedOn},
		"CallerGone":        {Evidence{Phase: Sent, Cause: CallerGone}, CallerLeft},
		"CallerGoneContent": {Evidence{Phase: Committed, Cause: CallerGone, Status: 200}, CallerLeft},
		"NodesOwnFault":     {Evidence{Phase: Dialing, Cause: GatewayFault}, NextTarget},
	} {
		r := route(1)
		r.Targets[0].RetryOn429 = 1
		run := NewRun(r, llm.Chat, 1, Own{}, nil)
		target, _, _ := run.Next(now)
		if got, _ := run.After(target, Classify(c.evidence)); got != c.want {
			t.Errorf("%s: got turn %d, want %d", name, got, c.want)
		}
	}
}

// A conversation whose thoughts are refused goes to each target once more without them,
// and a second refusal is the caller's to see.
func TestAfterRefusedThoughts(t *testing.T) {
	t.Parallel()
	refused := Evidence{Phase: Answered, Status: 400, Body: []byte(`{"error":{"code":"invalid_encrypted_content"}}`)}
	run := NewRun(route(2), llm.Chat, 1, Own{}, nil)
	for range 2 {
		target, _, _ := run.Next(now)
		for try, want := range []Turn{TryBare, PassedOn, PassedOn} {
			if got, wait := run.After(target, Classify(refused)); got != want || wait != 0 {
				t.Errorf("try %d: got turn %d after %v, want %d", try, got, wait, want)
			}
		}
	}
	run = NewRun(route(1), llm.Chat, 1, Own{}, nil)
	target, _, _ := run.Next(now)
	refused.Phase, refused.Cause = Committed, ErrorInside
	if got, _ := run.After(target, Classify(refused)); got != Broke {
		t.Errorf("in the middle of an answer: got turn %d, want %d", got, Broke)
	}
	refused.Phase, refused.Cause = Answered, NoCause
	got := Rehearse(route(1), Question{Dialect: llm.Chat, Now: now, Answer: func(*Target, int) Evidence { return refused }})
	if got.Ended != PassedOn || len(got.Steps[0].Tries) != 1 || got.Steps[0].Health != "" {
		t.Errorf("rehearsed: %+v", got)
	}
}

// says makes a question of chat targets that answer with statuses by position, one for
// each try and the last for all further ones; 0 is a timeout.
func says(statuses ...[]int) Question {
	return Question{Dialect: llm.Chat, Now: now, Answer: func(t *Target, try int) Evidence {
		list := statuses[t.Position-1]
		if status := list[min(try, len(list))-1]; status != 0 {
			return Evidence{Phase: Answered, Status: status, Header: http.Header{}}
		}
		return Evidence{Phase: Sent, Cause: TimedOut}
	}}
}

// told writes a rehearsal as one line for each target.
func told(r Rehearsal) (lines []string) {
	for _, s := range r.Steps {
		line := fmt.Sprint(s.Target.Position)
		if s.Skipped != nil {
			line += " skipped " + s.Skipped.Reason
		}
		if s.Probe {
			line += " probe"
		}
		for _, try := range s.Tries {
			line += fmt.Sprintf(" %s->%d", try.Verdict.Class, try.Turn)
		}
		if s.Health != "" {
			line += fmt.Sprintf(" %s cools %v own %t", s.Health, s.Cools, s.OwnRecord)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRehearse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare  func(*Route)
		question Question
		ended    Turn
		want     []string
	}{
		"FirstServes": {nil, says([]int{200}, []int{200}), Served, []string{"1 ok->2", "2"}},
		"FailsOver":   {nil, says([]int{503}, []int{200}), Served, []string{"1 server_error->0 failure cools 0s own false", "2 ok->2"}},
		"RetriesThenServes": {func(r *Route) { r.Targets[0].RetryOn429 = 2 }, says([]int{429, 429, 200}, nil), Served,
			[]string{"1 rate_limited->1 rate_limited->1 ok->2", "2"}},
		"RetriesInVain": {func(r *Route) { r.Targets[0].RetryOn429 = 1 }, says([]int{429}, []int{200}), Served,
			[]string{"1 rate_limited->1 rate_limited->0 rate_limited cools 30s own false", "2 ok->2"}},
		"Exhausted": {nil, says([]int{503}, []int{529}), NextTarget,
			[]string{"1 server_error->0 failure cools 0s own false", "2 overloaded->0 overloaded cools 10s own false"}},
		"PassedOn": {nil, says([]int{400}, nil), PassedOn, []string{"1 invalid_request->3", "2"}},
		"Cooling": {func(r *Route) { r.Targets[0].Health.Cell.Own(own(0, node.HealthUsageLimit)) }, says(nil, []int{200}), Served,
			[]string{"1 skipped cooling_down", "2 ok->2"}},
		"Probe": {func(r *Route) { r.Targets[0].Health.Cell.Own(happened{-40, node.HealthRateLimited, 0, 30}.event()) }, says([]int{200}, nil), Served,
			[]string{"1 probe ok->2 probe_ok cools 0s own false", "2"}},
		"FailedProbe": {func(r *Route) {
			for range 10 {
				r.Targets[0].Health.Cell.Own(own(-40, node.HealthFailure))
			}
		}, says([]int{500}, []int{200}), Served, []string{"1 probe server_error->0 failure cools 1m0s own false", "2 ok->2"}},
		"TenthFailure": {func(r *Route) {
			for range 9 {
				r.Targets[0].Health.Cell.Own(own(-1, node.HealthFailure))
			}
		}, says([]int{500}, []int{200}), Served, []string{"1 server_error->0 failure cools 30s own false", "2 ok->2"}},
		// Time passes by waits and timeouts: what cooled when the request came may serve
		// when its turn comes.
		"TimeoutOutlastsACooldown": {func(r *Route) {
			r.Targets[0].Timeout = 31 * time.Second
			r.Targets[1].Health.Cell.Own(own(0, node.HealthRateLimited))
		}, says([]int{0}, []int{200}), Served, []string{"1 timeout->0 failure cools 0s own false", "2 probe ok->2 probe_ok cools 0s own false"}},
		"WaitOutlastsACooldown": {func(r *Route) {
			r.Targets[0].RetryOn429, r.Targets[0].RetryMaxWait = 1, 10*time.Second
			r.Targets[1].Health.Cell.Own(happened{0, node.HealthRateLimited, 0, 1}.event())
		}, says([]int{429, 500}, []int{200}), Served,
			[]string{"1 rate_limited->1 server_error->0 failure cools 0s own false", "2 probe ok->2 probe_ok cools 0s own false"}},
		"NoDialect": {func(r *Route) { r.Targets[0].Provider.Endpoints = takes() }, says(nil, []int{200}), Served,
			[]string{"1 skipped dialect_not_supported", "2 ok->2"}},
		"OtherDialect": {func(r *Route) { r.Targets[0].Provider.Endpoints = takes(llm.Messages) }, says([]int{503}, []int{200}), Served,
			[]string{"1 server_error->0 failure cools 0s own false", "2 ok->2"}},
		"OtherDialectOfASubscription": {func(r *Route) {
			r.Targets[0].Provider.Endpoints, r.Targets[0].Provider.Auth = takes(llm.Messages), ClaudeOAuth
		}, says(nil, []int{200}), Served, []string{"1 skipped dialect_not_supported", "2 ok->2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := route(2)
			if c.prepare != nil {
				c.prepare(r)
			}
			got := Rehearse(r, c.question)
			if diff := cmp.Diff(c.want, told(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Ended != c.ended || (got.Last == nil) != (c.ended == NextTarget) {
				t.Errorf("ended by turn %d, last %v", got.Ended, got.Last)
			}
		})
	}
}

// On a passthrough target a limit or a rejection is the caller's own matter, a server's
// failure everyone's; without a credential the request ends there.
func TestRehearsePassthrough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own    bool
		status int
		want   []string
	}{
		"Served":    {true, 200, []string{"1 ok->2", "2"}},
		"Missing":   {false, 0, []string{"1 skipped credential_missing", "2"}},
		"Limited":   {true, 429, []string{"1 rate_limited->0 rate_limited cools 30s own true", "2 ok->2"}},
		"UsedUp":    {true, 402, []string{"1 usage_limit->0 usage_limit cools 5m0s own true", "2 ok->2"}},
		"Rejected":  {true, 401, []string{"1 auth_rejected->0 auth_rejected cools 5m0s own true", "2 ok->2"}},
		"Overload":  {true, 529, []string{"1 overloaded->0 overloaded cools 0s own false", "2 ok->2"}},
		"ServerErr": {true, 500, []string{"1 server_error->0 failure cools 0s own false", "2 ok->2"}},
	} {
		r := route(2)
		r.Targets[0].Provider.Auth = ClaudeOAuth
		// A threshold of 0 speaks of everyone only.
		r.Targets[0].board, r.Targets[0].Cooldown.FailureThreshold = NewBoard(), 0
		q := says([]int{c.status}, []int{200})
		q.Own = c.own
		got := Rehearse(r, q)
		if diff := cmp.Diff(c.want, told(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if missing := got.Exhausted.Code == "upstream_credential_missing"; missing == c.own {
			t.Errorf("%s: %+v", name, got.Exhausted)
		}
	}
}

// A made-up 2xx with a body is read as a real one would be.
func TestRehearseReadsAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream bool
		body   string
		want   Class
	}{
		"Answer": {false, `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`, Succeeded}, "HTML": {false, "<html>", BadAnswer}, "Empty": {false, "", BadAnswer},
		"ErrorInside":     {false, `{"error":{"type":"overloaded_error","message":"x"}}`, Overloaded},
		"WholeForAStream": {true, `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`, BadAnswer},
		"ErrorForAStream": {true, `{"error":{"type":"overloaded_error","message":"x"}}`, Overloaded},
		"HTMLForAStream":  {true, "<html>", BadAnswer},
		"NoModelsAnswer":  {false, `{"id":1}`, BadAnswer},
	} {
		got := Rehearse(route(1), Question{Dialect: llm.Chat, Stream: c.stream, Now: now, Answer: func(*Target, int) Evidence {
			return Evidence{Phase: Answered, Status: 200, Body: []byte(c.body)}
		}})
		if class := got.Steps[0].Tries[0].Verdict.Class; class != c.want {
			t.Errorf("%s: got %s, want %s", name, class, c.want)
		}
	}
}

// A target of another dialect is judged by its own words.
func TestRehearseReadsAnswersOfAnotherDialect(t *testing.T) {
	t.Parallel()
	r := route(1)
	r.Targets[0].Provider.Endpoints = takes(llm.Messages)
	for body, want := range map[string]Class{
		`{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}]}`: Succeeded,
		`{"choices":[{"message":{"role":"assistant","content":"x"}}]}`:                 BadAnswer,
		`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`:           Overloaded,
	} {
		got := Rehearse(r, Question{Dialect: llm.Chat, Now: now, Answer: func(*Target, int) Evidence {
			return Evidence{Phase: Answered, Status: 200, Body: []byte(body)}
		}})
		if class := got.Steps[0].Tries[0].Verdict.Class; class != want {
			t.Errorf("%s: got %s, want %s", body, class, want)
		}
	}
}

// An error event that no other target could better is told in the stream, which has a
// status by then; before that it is the answer itself.
func TestRehearseErrorEvents(t *testing.T) {
	t.Parallel()
	body := []byte(`{"error":{"code":"context_length_exceeded","message":"x"}}`)
	for name, c := range map[string]struct {
		stream bool
		cause  Cause
		want   Turn
	}{"Event": {true, ErrorInside, Broke}, "Whole": {false, NoCause, PassedOn}, "WholeForAStream": {true, NoCause, PassedOn}} {
		got := Rehearse(route(1), Question{Dialect: llm.Chat, Stream: c.stream, Now: now, Answer: func(*Target, int) Evidence {
			return Evidence{Phase: Answered, Cause: c.cause, Status: 200, Body: body}
		}})
		if got.Ended != c.want || got.Steps[0].Tries[0].Verdict.Class != BadRequest {
			t.Errorf("%s: ended by turn %d, want %d: %+v", name, got.Ended, c.want, got.Steps[0].Tries)
		}
	}
}

// Whatever is rehearsed: the board stays as it is, every target has a step, and the
// attempts are those a request of the same answers would have had.
func TestRehearseChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "targets")
		r := route(n)
		script := make([][]int, n)
		for i, target := range r.Targets {
			target.RetryOn429 = rapid.IntRange(0, 3).Draw(rt, "retries")
			target.Timeout = time.Duration(rapid.IntRange(1, 60).Draw(rt, "timeout")) * time.Second
			script[i] = rapid.SliceOfN(rapid.SampledFrom([]int{0, 200, 400, 404, 429, 429, 500, 529}), 1, 4).Draw(rt, "statuses")
			switch rapid.IntRange(0, 2).Draw(rt, "health") {
			case 1:
				target.Health.Cell.Own(own(0, node.HealthRateLimited))
			case 2:
				target.Health.Cell.Own(own(-31, node.HealthRateLimited))
			}
		}
		org := &Org{ID: uuid.UUID{1}, routes: map[string]*Route{"r": r}}
		before := org.Report(now)
		got := Rehearse(r, says(script...))
		if diff := cmp.Diff(before, org.Report(now)); diff != "" {
			rt.Fatalf("the board changed (-before +after):\n%s", diff)
		}
		if len(got.Steps) != n {
			rt.Fatalf("%d steps of %d targets", len(got.Steps), n)
		}
		failed := 0
		for i, s := range got.Steps {
			if s.Target != r.Targets[i] {
				rt.Fatal("steps are out of order")
			}
			if len(s.Tries) > 1+s.Target.RetryOn429 {
				rt.Fatal("too many tries")
			}
			if len(s.Tries) > 0 && s.Tries[len(s.Tries)-1].Turn == NextTarget {
				failed++
			}
		}
		if got.Failed != failed || got.Ended == NextTarget && len(got.Attempts) != n {
			rt.Fatalf("%d failed of %d, %d attempts, ended %d", got.Failed, failed, len(got.Attempts), got.Ended)
		}
	})
}
