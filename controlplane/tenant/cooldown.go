package tenant

import "github.com/spillway-gateway/spillway/api/node"

// CooldownPatch changes a mapping's cooldown policy; nil fields stay as they are.
type CooldownPatch struct {
	FailureThreshold *int
	WindowSecs       *int
	FirstSecs        *int
	MaxSecs          *int
	RateLimitedSecs  *int
	OverloadedSecs   *int
}

func (p CooldownPatch) apply(c *node.Cooldown) {
	apply(&c.FailureThreshold, p.FailureThreshold)
	apply(&c.WindowSecs, p.WindowSecs)
	apply(&c.FirstSecs, p.FirstSecs)
	apply(&c.MaxSecs, p.MaxSecs)
	apply(&c.RateLimitedSecs, p.RateLimitedSecs)
	apply(&c.OverloadedSecs, p.OverloadedSecs)
}

func validateCooldown(c node.Cooldown) error {
	for _, f := range []struct {
		name               string
		value, least, most int
	}{
		{"cooldown_failure_threshold", c.FailureThreshold, 0, 10000},
		{"cooldown_window_secs", c.WindowSecs, 1, 3600},
		{"cooldown_first_secs", c.FirstSecs, 1, 3600},
		{"cooldown_max_secs", c.MaxSecs, 1, 3600},
		{"cooldown_rate_limited_secs", c.RateLimitedSecs, 1, 3600},
		{"cooldown_overloaded_secs", c.OverloadedSecs, 0, 3600},
	} {
		if err := between(f.name, f.value, f.least, f.most); err != nil {
			return err
		}
	}
	if c.FirstSecs > c.MaxSecs {
		return Invalid("cooldown_first_secs", "cooldown_first_secs (%d) must not be greater than cooldown_max_secs (%d)", c.FirstSecs, c.MaxSecs)
	}
	return nil
}
