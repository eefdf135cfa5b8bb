package sim

import (
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/decide"
)

// mood is how a provider model behaves for a while.
type mood string

const (
	healthy     mood = "healthy"
	slow        mood = "slow"         // answers after seconds, sometimes too late
	flaky       mood = "flaky"        // a part of the answers are 5xx
	failing     mood = "failing"      // 5xx
	limiting    mood = "limiting"     // 429
	limitingFor mood = "limiting for" // 429 with Retry-After
	overloaded  mood = "overloaded"   // 529, with Retry-After or without
	exhausted   mood = "exhausted"    // 402
	rejecting   mood = "rejecting"    // 401
	hanging     mood = "hanging"      // no answer until the try's time is up
	refusing    mood = "refusing"     // no connection
	breaking    mood = "breaking"     // breaks after the first content
	missing     mood = "missing"      // 404
	refusingYou mood = "refusing you" // 400: the request's own fault
)

// spell is one mood and how long it lasts.
type spell struct {
	mood  mood
	until time.Duration
}

// provider is one provider model, and how it treats a caller.
type provider struct {
	spells  []spell
	callers map[string][]spell // of a passthrough provider
}

// newProviders draws the good and bad times of every provider model. The second
// organization has good ones only.
func newProviders(w *world) map[asked]*provider {
	out := map[asked]*provider{}
	for o, org := range w.config.orgs {
		for _, sp := range spots {
			p := &provider{callers: map[string][]spell{}}
			if o == 0 {
				p.spells = spells(w, healthy, healthy, healthy, slow, flaky, failing, failing, limiting, limitingFor, overloaded, exhausted, rejecting,
					hanging, refusing, breaking, missing, refusingYou)
			}
			for _, caller := range w.config.callers {
				if o == 0 && sp.provider == passthroughProvider && w.chance(0.7) {
					p.callers[caller] = spells(w, healthy, healthy, limiting, limitingFor, exhausted, rejecting)
				}
			}
			out[asked{org, providerID(sp.provider), sp.model}] = p
		}
	}
	return out
}

func spells(w *world, moods ...mood) (out []spell) {
	if w.chance(0.15) {
		return nil // always healthy
	}
	for at := time.Duration(0); at < w.plan.chaos+time.Minute; {
		at += w.between(5*time.Second, 90*time.Second)
		out = append(out, spell{pick(w, moods...), at})
	}
	return out
}

func moodAt(spells []spell, now time.Duration) mood {
	for _, s := range spells {
		if now < s.until {
			return s.mood
		}
	}
	return healthy
}

// moodOf is how a target treats a caller now.
func (w *world) moodOf(t *decide.Target, caller string) mood {
	if w.allHealed {
		return healthy
	}
	p := w.providers[asked{t.Provider.OrgID, t.Provider.ID, t.UpstreamModel}]
	if m := moodAt(p.spells, w.now); m != healthy || !t.Passthrough() {
		return m
	}
	return moodAt(p.callers[caller], w.now)
}

// statuses are what a provider answers quickly in a mood.
var statuses = map[mood][]int{
	failing: {500, 502, 503}, limiting: {429}, limitingFor: {429}, overloaded: {529}, exhausted: {402}, rejecting: {401}, missing: {404}, refusingYou: {400},
}

// answer is how an attempt ends, and when.
func (w *world) answer(t *decide.Target, m mood) (e decide.Evidence, took time.Duration) {
	e.Phase, e.Header = decide.Answered, http.Header{}
	if m == flaky {
		m = pick(w, healthy, failing)
	}
	if list := statuses[m]; list != nil {
		e.Status = pick(w, list...)
		w.askToWait(e.Header, m)
		return e, w.between(20*time.Millisecond, 400*time.Millisecond)
	}
	switch m {
	case slow:
		took = w.between(time.Second, 14*time.Second)
	case hanging:
		took = t.Timeout
	case refusing:
		e.Cause, e.Phase = decide.Refused, decide.Dialing
		return e, w.between(time.Millisecond, 50*time.Millisecond)
	case breaking:
		e.Cause, e.Phase, e.Status = decide.Broken, decide.Committed, 200
		return e, w.between(time.Second, 10*time.Second)
	default:
		took = w.between(50*time.Millisecond, min(1500*time.Millisecond, t.Timeout))
	}
	if took >= t.Timeout {
		e.Cause, e.Phase = decide.TimedOut, decide.Sent
		return e, t.Timeout
	}
	e.Status = 200
	return e, took
}

// askToWait sets what the provider asks for: seconds, or a moment by its own clock.
func (w *world) askToWait(h http.Header, m mood) {
	var secs int
	switch {
	case m == limitingFor:
		secs = pick(w, 0, 1, 5, 17, 40, 1_587_827)
	case m == overloaded && w.chance(0.3):
		secs = pick(w, 1, 3, 25)
	default:
		return
	}
	h.Set("Retry-After", strconv.Itoa(secs))
	if w.chance(0.3) {
		h.Set("Date", w.busTime().Format(http.TimeFormat))
		h.Set("Retry-After", w.busTime().Add(time.Duration(secs)*time.Second).Format(http.TimeFormat))
	}
}
