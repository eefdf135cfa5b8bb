package decide

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-gateway/spillway/dataplane/llm"
)

// RetryAfter is how long a provider asks callers to wait, read from wherever it
// says so. The second result is false where it says nothing that can be read. A
// time in the past is 0; callers clamp the upper end. Moments are by the provider's
// clock, so they are reckoned from the moment that its answer is dated; now is for
// answers without a date: a node's own clock may be minutes off.
func RetryAfter(h http.Header, said llm.Said, now time.Time) (time.Duration, bool) {
	if dated, err := http.ParseTime(h.Get("Date")); err == nil {
		now = dated
	}
	// Azure and OpenAI send both; the finer one is meant.
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return fromSeconds(ms / 1000)
	}
	if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		// RFC 9110 section 10.2.3: seconds or a date; fractions are seen as well.
		if s, err := strconv.ParseFloat(v, 64); err == nil {
			return fromSeconds(s)
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(0, at.Sub(now)), true
		}
	}
	// https://cloud.google.com/apis/design/errors (RetryInfo)
	if d, err := time.ParseDuration(said.RetryDelay); err == nil {
		return max(0, d), true
	}
	return exhaustedWindow(h, now)
}

func fromSeconds(s float64) (time.Duration, bool) {
	if math.IsNaN(s) {
		return 0, false
	}
	// Beyond a day it is clamped anyway; a float must not overflow a Duration.
	return time.Duration(math.Round(min(max(s, 0), 86400) * float64(time.Second))), true
}

// windows are the limits whose headers say when they reset, each with the header
// that tells whether it is this one that is used up.
var windows = []struct {
	reset, left, exhausted string
}{
	// https://platform.openai.com/docs/guides/rate-limits
	{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Remaining-Requests", "0"},
	{"X-Ratelimit-Reset-Tokens", "X-Ratelimit-Remaining-Tokens", "0"},
	{"X-Ratelimit-Reset", "X-Ratelimit-Remaining", "0"},
	// https://docs.anthropic.com/en/api/rate-limits
	{"Anthropic-Ratelimit-Requests-Reset", "Anthropic-Ratelimit-Requests-Remaining", "0"},
	{"Anthropic-Ratelimit-Tokens-Reset", "Anthropic-Ratelimit-Tokens-Remaining", "0"},
	{"Anthropic-Ratelimit-Input-Tokens-Reset", "Anthropic-Ratelimit-Input-Tokens-Remaining", "0"},
	{"Anthropic-Ratelimit-Output-Tokens-Reset", "Anthropic-Ratelimit-Output-Tokens-Remaining", "0"},
	// Sent to subscriptions; seen from Claude Code.
	{"Anthropic-Ratelimit-Unified-Reset", "Anthropic-Ratelimit-Unified-Status", "rejected"},
	{"Anthropic-Ratelimit-Unified-5h-Reset", "Anthropic-Ratelimit-Unified-5h-Status", "rejected"},
	{"Anthropic-Ratelimit-Unified-7d-Reset", "Anthropic-Ratelimit-Unified-7d-Status", "rejected"},
}

// exhaustedWindow is the latest reset of the windows that say they are used up.
func exhaustedWindow(h http.Header, now time.Time) (wait time.Duration, found bool) {
	for _, w := range windows {
		if h.Get(w.left) != w.exhausted {
			continue
		}
		if d, ok := resetIn(h.Get(w.reset), now); ok {
			wait, found = max(wait, d), true
		}
	}
	for _, w := range codexWindows {
		if used, err := strconv.ParseFloat(h.Get(w.used), 64); err != nil || used < 100 {
			continue
		}
		d, ok := resetIn(h.Get(w.at), now)
		if !ok {
			d, ok = resetIn(h.Get(w.after), now)
		}
		if ok {
			wait, found = max(wait, d), true
		}
	}
	return wait, found
}

// codexWindows are those of a ChatGPT plan: the share that is used, in percent, and
// when it begins anew. Seen from ChatGPT's codex backend.
var codexWindows = []struct{ used, at, after string }{
	{"X-Codex-Primary-Used-Percent", "X-Codex-Primary-Reset-At", "X-Codex-Primary-Reset-After-Seconds"},
	{"X-Codex-Secondary-Used-Percent", "X-Codex-Secondary-Reset-At", "X-Codex-Secondary-Reset-After-Seconds"},
}

// resetIn reads the forms in use: "6m0s", "12ms", seconds, Unix seconds, RFC 3339.
func resetIn(v string, now time.Time) (time.Duration, bool) {
	if d, err := time.ParseDuration(v); err == nil {
		return max(0, d), true
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 1e9 { // a moment, not a wait: 1e9 seconds are 31 years
			if s > 1e12 { // milliseconds
				s /= 1000
			}
			return fromSeconds(s - float64(now.Unix()))
		}
		return fromSeconds(s)
	}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
