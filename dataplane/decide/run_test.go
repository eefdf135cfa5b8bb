package decide

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// route makes a route of n chat targets, each on a provider of its own.
func route(n int) *Route {
	board, r := NewBoard(), &Route{Name: "r"}
	for i := range n {
		model := string(rune('a' + i))
		r.Targets = append(r.Targets, &Target{
			Position: i + 1, Provider: &Provider{Name: "p" + model, Endpoints: takes(llm.Chat)}, UpstreamModel: model,
			Cooldown: node.DefaultCooldown(), Health: board.Cell(HealthKey{UpstreamModel: model}).View(node.DefaultCooldown()),
		})
	}
	return r
}

// takes are the endpoints of a provider that takes the dialects.
func takes(dialects ...llm.Dialect) (e Endpoints) {
	for _, d := range dialects {
		e[d] = &Endpoint{URL: new(url.URL)}
	}
	return e
}

// answer is what a target is scripted to say.
func verdict(status int) Verdict {
	return Classify(Evidence{Phase: Answered, Status: status, Now: now})
}

// walk runs the route against one status per target; 0 is cooling down.
func walk(r *Route, statuses ...int) (*Run, []int) {
	run := NewRun(r, llm.Chat, 1, Own{}, nil)
	var asked []int
	for {
		t, _, ok := run.Next(now)
		if !ok {
			return &run, asked
		}
		asked = append(asked, t.Position)
		v := verdict(statuses[t.Position-1])
		if !v.Failover {
			return &run, asked
		}
		run.Fail(t, v, time.Millisecond)
	}
}

func TestRunTriesInOrderAndSkips(t *testing.T) {
	t.Parallel()
	r := route(4)
	r.Targets[0].Unservable = TargetDisabled
	r.Targets[2].Provider.Endpoints = takes()
	run, asked := walk(r, 0, 503, 0, 200)
	if diff := cmp.Diff([]int{2, 4}, asked); diff != "" {
		t.Error(diff)
	}
	if run.Failed != 1 {
		t.Errorf("got failed %d, want 1: a skipped target is not counted", run.Failed)
	}
	var reasons []string
	for _, a := range run.Attempts {
		reasons = append(reasons, a.Outcome+" "+a.Reason)
	}
	want := []string{"skipped target_disabled", "failed server_error", "skipped dialect_not_supported"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestExhausted(t *testing.T) {
	t.Parallel()
	cooling := func(r *Route, i int, secs int64) {
		r.Targets[i].Health.Cell.Own(happened{0, node.HealthRateLimited, 0, float64(secs)}.event())
	}
	for name, c := range map[string]struct {
		prepare    func(*Route)
		statuses   []int
		status     int
		retryAfter int
	}{
		"SharedStatus":       {nil, []int{503, 503}, 503, 0},
		"SharedCredential":   {nil, []int{401, 401}, 401, 0},
		"Different":          {nil, []int{503, 500}, 502, 0},
		"AllRateLimited":     {nil, []int{429, 429}, 429, 30},
		"LimitedAndQuota":    {nil, []int{402, 429}, 429, 30},
		"QuotaAndLimited":    {nil, []int{429, 402}, 429, 30},
		"LimitedAndFailed":   {nil, []int{429, 500}, 502, 0},
		"AllCooling":         {func(r *Route) { cooling(r, 0, 12); cooling(r, 1, 7) }, []int{0, 0}, 429, 7},
		"CoolingAndFailed":   {func(r *Route) { cooling(r, 0, 12) }, []int{0, 503}, 503, 0},
		"CoolingAndDisabled": {func(r *Route) { cooling(r, 0, 12); r.Targets[1].Unservable = TargetDisabled }, []int{0, 0}, 429, 12},
		"AllDisabled":        {func(r *Route) { r.Targets[0].Unservable, r.Targets[1].Unservable = TargetDisabled, ProviderDisabled }, []int{0, 0}, 502, 0},
		"WrongDialect": {func(r *Route) {
			r.Targets[0].Provider.Endpoints, r.Targets[1].Provider.Endpoints = takes(), takes()
		}, []int{0, 0}, 400, 0},
		"RefusedAndFailed": {nil, []int{0, 503}, 502, 0},
		"FailedAndRefused": {nil, []int{503, 0}, 502, 0},
		"AllOverloaded":    {nil, []int{529, 529}, 529, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := route(2)
			if c.prepare != nil {
				c.prepare(r)
			}
			run, _ := walk(r, c.statuses...)
			e := run.Exhausted()
			if e.Status != c.status || e.RetryAfter != c.retryAfter {
				t.Errorf("got %d, Retry-After %d, want %d, %d", e.Status, e.RetryAfter, c.status, c.retryAfter)
			}
			if len(run.Attempts) != 2 {
				t.Errorf("got %d attempts, want every target listed", len(run.Attempts))
			}
		})
	}
}

// A target whose traffic is still returning is passed over for the next one, but not
// for nothing: it is healthy.
func TestReturningTargetsAreAskedLast(t *testing.T) {
	t.Parallel()
	returning := func(r *Route, i int) {
		c := r.Targets[i].Health.Cell
		c.Fold(happened{-11, node.HealthRateLimited, 0, 10}.event())
		for range 3 {
			c.Fold(own(-1, node.HealthProbeOK))
		}
	}
	walk := func(r *Route, seed uint64) (asked []int, run Run) {
		run = NewRun(r, llm.Chat, seed, Own{}, nil)
		for {
			target, _, ok := run.Next(now)
			if !ok {
				return asked, run
			}
			asked = append(asked, target.Position)
			run.Fail(target, verdict(503), 0)
		}
	}
	const late, early = 9 << 60, 1 << 50 // chances of 0.56 and nearly 0; the share is 0.19
	r := route(3)
	returning(r, 0)
	returning(r, 1)
	asked, run := walk(r, late)
	if diff := cmp.Diff([]int{3, 1, 2}, asked); diff != "" {
		t.Error(diff)
	}
	e := run.Exhausted()
	for i, a := range run.Attempts {
		if a.Position != i+1 {
			t.Errorf("attempt %d of the list is position %d: %+v", i, a.Position, e)
		}
	}
	if asked, _ := walk(r, early); !slices.Equal(asked, []int{1, 2, 3}) {
		t.Errorf("got %v: this request's turn has come", asked)
	}
}

// One caller's traffic is no crowd: their seat is back at once, not for a tenth of what
// they ask.
func TestAnOwnCredentialReturnsAtOnce(t *testing.T) {
	t.Parallel()
	r := route(1)
	target := r.Targets[0]
	target.Provider.Auth, target.board = ClaudeOAuth, NewBoard()
	c := target.OwnCell("h", now)
	c.Fold(happened{-11, node.HealthRateLimited, 0, 10}.event())
	for range 3 {
		c.Fold(own(-1, node.HealthProbeOK))
	}
	run := NewRun(r, llm.Chat, 9<<60, Own{Vendor: ClaudeOAuth.Vendor(), Hash: "h"}, nil)
	if _, _, ok := run.Next(now); !ok || run.Attempts != nil || len(run.later) != 0 {
		t.Errorf("%+v", run)
	}
	run = NewRun(r, llm.Chat, 9<<60, Own{Vendor: ClaudeOAuth.Vendor(), Hash: "h"}, nil)
	run.at = 0
	if got := run.admit(target, now, 0.99); !got.OK {
		t.Errorf("%+v", got)
	}
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		maxWait  time.Duration
		verdict  Verdict
		from, to time.Duration
	}{
		"AboutASecond":         {0, Verdict{Class: RateLimited, Failover: true, RetryAfter: time.Hour, HasRetry: true}, 800 * time.Millisecond, 1200 * time.Millisecond},
		"AsAsked":              {10 * time.Second, Verdict{Class: RateLimited, Failover: true, RetryAfter: 3 * time.Second, HasRetry: true}, 3 * time.Second, 3 * time.Second},
		"AtMost":               {10 * time.Second, Verdict{Class: RateLimited, Failover: true, RetryAfter: time.Hour, HasRetry: true}, 10 * time.Second, 10 * time.Second},
		"ASecondWhereNotAsked": {10 * time.Second, Verdict{Class: RateLimited, Failover: true}, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := route(1)
			r.Targets[0].RetryOn429, r.Targets[0].RetryMaxWait = 2, c.maxWait
			for seed := range uint64(50) {
				run := NewRun(r, llm.Chat, seed*0x9e3779b97f4a7c15, Own{}, nil)
				target, _, _ := run.Next(now)
				for range 2 {
					wait, again := run.Retry(target, c.verdict)
					if !again || wait < c.from || wait > c.to {
						t.Fatalf("got %v, %v", wait, again)
					}
				}
				if _, again := run.Retry(target, c.verdict); again {
					t.Fatal("more tries than 1 + retry_on_429_count")
				}
			}
		})
	}
}

// Whatever targets say: none is asked more than its tries allow, none is returned
// to, none that cools is asked, and nothing follows a refusal of the request's own.
// What had to wait before it is sent asks again: nothing is sent to a target that has
// begun to cool down, and the attempt list says why.
func TestWhatWaitedIsNotSentToACoolingTarget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		caller bool // the record is the caller's own
		kind   node.HealthKind
		reason Reason
		wait   int
	}{
		"NoSlot":     {false, "", Recovering, 1},
		"Everyone":   {false, node.HealthRateLimited, CoolingDown, 20},
		"OwnLimit":   {true, node.HealthRateLimited, CredentialCooling, 20},
		"OwnRefusal": {true, node.HealthAuthRejected, CredentialRejected, 290},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := route(1)
			target := r.Targets[0]
			target.board = NewBoard()
			target.Provider.Auth, target.Provider.Endpoints = ClaudeOAuth, takes(llm.Messages)
			run := NewRun(r, llm.Messages, 1, Own{Vendor: Claude, Hash: "caller"}, nil)
			if _, _, ok := run.Next(at(0)); !ok || run.Cooling(target, at(0)) {
				t.Fatal("nothing has happened yet")
			}
			cell := target.Health.Cell
			if c.caller {
				target.OwnCell("another", at(0)).Own(own(0, node.HealthRateLimited))
				if run.Cooling(target, at(10)) {
					t.Fatal("another caller's limit concerns nobody else")
				}
				cell = target.OwnCell("caller", at(0))
			}
			if c.kind != "" {
				cell.Own(own(0, c.kind))
			}
			if got := run.Cooling(target, at(10)); got != (c.kind != "") {
				t.Errorf("got cooling %v", got)
			}
			run.Pass(target, at(10))
			if a := run.Attempts[0]; a.Reason != string(c.reason) || a.Outcome != OutcomeSkipped || a.RetryAfterSecs == nil || *a.RetryAfterSecs != c.wait {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// passthrough makes a route whose first target is asked with the caller's own credential.
func passthrough() (*Route, *Target) {
	r := route(2)
	for _, t := range r.Targets {
		t.Provider.Endpoints, t.board = takes(llm.Messages), NewBoard()
	}
	r.Targets[0].Provider.Auth = ClaudeOAuth
	return r, r.Targets[0]
}

// Without the caller's own credential the walk ends: another account would answer.
func TestAPassthroughTargetNeedsTheCallersCredential(t *testing.T) {
	t.Parallel()
	r, _ := passthrough()
	run := NewRun(r, llm.Messages, 1, Own{}, nil)
	if target, _, ok := run.Next(at(0)); ok {
		t.Fatalf("target %d was to be asked", target.Position)
	}
	if e := run.Exhausted(); e.Status != 401 || e.Code != "upstream_credential_missing" {
		t.Errorf("got %+v", e)
	}
}

// A caller's own record keeps that caller away, and nobody else.
func TestACallersOwnCooldownIsTheCallers(t *testing.T) {
	t.Parallel()
	r, first := passthrough()
	first.OwnCell("me", at(0)).Own(own(0, node.HealthRateLimited))
	mine, others := NewRun(r, llm.Messages, 1, Own{Vendor: Claude, Hash: "me"}, nil), NewRun(r, llm.Messages, 1, Own{Vendor: Claude, Hash: "another"}, nil)
	if target, _, ok := mine.Next(at(1)); !ok || target.Position != 2 || mine.Attempts[0].Reason != string(CredentialCooling) {
		t.Errorf("got %+v", mine.Attempts)
	}
	if target, a, ok := others.Next(at(1)); !ok || target.Position != 1 || a.Probing() {
		t.Errorf("got %+v", others.Attempts)
	}
}

// Where the record for everyone refuses, the slot of the caller's own is not kept.
func TestARefusedProbeKeepsNoSlot(t *testing.T) {
	t.Parallel()
	r, first := passthrough()
	mine := first.OwnCell("me", at(0))
	mine.Own(own(0, node.HealthRateLimited))
	run := NewRun(r, llm.Messages, 1, Own{Vendor: Claude, Hash: "me"}, nil)
	_, a, _ := run.Next(at(31))
	if a.Own == nil || !a.Own.Probe() || a.Probe() || !a.Probing() || mine.probes != 1 {
		t.Fatalf("a probe of the caller's own record: got %+v, %d counted", a, mine.probes)
	}
	a.Release()
	first.Health.Cell.Own(own(31, node.HealthRateLimited))
	run = NewRun(r, llm.Messages, 1, Own{Vendor: Claude, Hash: "me"}, nil)
	if target, _, ok := run.Next(at(32)); !ok || target.Position != 2 || mine.probes != 0 {
		t.Errorf("%d slots of the caller's own record are counted", mine.probes)
	}
}

func TestRunProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "targets")
		r := route(n)
		for _, target := range r.Targets {
			target.RetryOn429 = rapid.IntRange(0, 3).Draw(t, "retries")
			if rapid.Bool().Draw(t, "cooling") {
				target.Health.Cell.Own(own(0, node.HealthUsageLimit))
			}
		}
		run := NewRun(r, llm.Chat, rapid.Uint64().Draw(t, "seed"), Own{}, nil)
		last := 0
		for {
			target, admission, ok := run.Next(now)
			if !ok {
				break
			}
			if target.Position <= last {
				t.Fatal("returned to a target it had left")
			}
			last = target.Position
			if h := target.Health.Health(); h.At(now) == StandingCooling {
				t.Fatal("asked a cooling target")
			}
			for tries := 1; ; tries++ {
				if tries > 1+target.RetryOn429 {
					t.Fatal("too many tries")
				}
				v := verdict(rapid.SampledFrom([]int{429, 429, 500, 529, 404}).Draw(t, "status"))
				if _, again := run.Retry(target, v); !again {
					run.Fail(target, v, 0)
					break
				}
			}
			admission.Release()
		}
		if len(run.Attempts) != n {
			t.Fatalf("%d targets, %d attempts listed", n, len(run.Attempts))
		}
		if e := run.Exhausted(); e.Status < 400 || e.RetryAfter < 0 || e.RetryAfter > 300 {
			t.Fatalf("%+v", e)
		}
	})
}
