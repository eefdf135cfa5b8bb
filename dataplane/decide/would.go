package decide

import "time"

// Would is the target that Next would find first, without a claim on it: no probe's slot
// is taken, and nothing is noted. It is for questions beside generation, which are to
// leave no trace in anyone's health. Nil: no target would serve.
func (r *Run) Would(now time.Time) *Target {
	var later *Target
	for _, t := range r.route.Targets {
		if r.unfit(t) != "" {
			continue
		}
		if t.Passthrough() && r.own.For(t) == "" {
			return nil // the request would be refused before it reached another account
		}
		if r.Cooling(t, now) {
			continue
		}
		if h := t.Health.Health(); h.At(now) != StandingHealthy || !h.ramp || r.chance() < h.Share(now) {
			return t
		}
		if later == nil {
			later = t
		}
	}
	return later
}
