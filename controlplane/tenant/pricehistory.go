package tenant

import (
	"slices"
	"time"
)

// PriceHistory is every version of one rule, in no order. No two take effect at the same
// instant.
type PriceHistory []PriceVersion

// InForce is the latest version that is not in the future, or nil. It may be one that
// ends the price.
func (h PriceHistory) InForce(now time.Time) (latest *PriceVersion) {
	for i, v := range h {
		if !v.EffectiveFrom.After(now) && (latest == nil || v.EffectiveFrom.After(latest.EffectiveFrom)) {
			latest = &h[i]
		}
	}
	return latest
}

// Scheduled are the versions in the future, the next first.
func (h PriceHistory) Scheduled(now time.Time) (list []PriceVersion) {
	for _, v := range h {
		if v.EffectiveFrom.After(now) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b PriceVersion) int { return a.EffectiveFrom.Compare(b.EffectiveFrom) })
	return list
}

// PriceEntry is a rule in a listing.
type PriceEntry struct {
	PriceVersion
	Versions      int
	Scheduled     int
	NextScheduled *time.Time
}

// Entry is the rule as a listing shows it: by the version in force, or by the next one
// where none is or the price has ended.
func (h PriceHistory) Entry(now time.Time) PriceEntry {
	scheduled := h.Scheduled(now)
	e := PriceEntry{Versions: len(h), Scheduled: len(scheduled)}
	if len(scheduled) > 0 {
		e.PriceVersion, e.NextScheduled = scheduled[0], &scheduled[0].EffectiveFrom
	}
	if v := h.InForce(now); v != nil && (!v.Archived || len(scheduled) == 0) {
		e.PriceVersion = *v
	}
	return e
}

// Histories sorts versions into rules.
func Histories(versions []PriceVersion) map[PriceRule]PriceHistory {
	out := map[PriceRule]PriceHistory{}
	for _, v := range versions {
		out[v.PriceRule] = append(out[v.PriceRule], v)
	}
	return out
}

// Append places a new version, which takes effect at from or else now. It returns the
// version in force instead where that already says the same.
func (h PriceHistory) Append(v PriceVersion, from *time.Time, now time.Time) (next PriceVersion, exists bool, err error) {
	v.EffectiveFrom, v.Source = stamp(now), PriceEdited
	if from != nil {
		v.EffectiveFrom = stamp(*from)
	}
	current, future := h.InForce(now), v.EffectiveFrom.After(now)
	switch {
	case future:
		v.Source = PriceScheduled
	case len(h) == 0:
		v.Source = PriceCreated
	case current != nil && !current.Archived && current.says(v):
		return *current, true, nil
	}
	if h.taken(v) {
		return v, false, PriceInstantTaken()
	}
	return v, false, nil
}

func (v PriceVersion) says(o PriceVersion) bool {
	return v.PriceTerms.equal(o.PriceTerms) && same(v.ProviderID, o.ProviderID) && same(v.CatalogSlug, o.CatalogSlug)
}

func (h PriceHistory) taken(v PriceVersion) bool {
	return slices.ContainsFunc(h, func(o PriceVersion) bool { return o.ID != v.ID && o.EffectiveFrom.Equal(v.EffectiveFrom) })
}

// Check refuses a changed version at another one's instant.
func (h PriceHistory) Check(v PriceVersion) error {
	if h.taken(v) {
		return PriceInstantTaken()
	}
	return nil
}

// Archive is the version that ends the price, or nil where it has ended.
func (h PriceHistory) Archive(now time.Time) *PriceVersion {
	current := h.InForce(now)
	if current == nil || current.Archived {
		return nil
	}
	end := *current
	end.EffectiveFrom, end.Archived, end.Source, end.Reason = stamp(now), true, PriceArchived, new(archivedReason)
	return &end
}

// Restore is the version that brings an archived price back.
func (h PriceHistory) Restore(now time.Time) (PriceVersion, error) {
	current := h.InForce(now)
	if current == nil || !current.Archived {
		return PriceVersion{}, &Error{Kind: KindConflict, Code: "not_archived", Message: "The pricing rule is not archived."}
	}
	back := *current // it has the costs that it ended
	back.EffectiveFrom, back.Archived, back.Source, back.Reason = stamp(now), false, PriceRestored, nil
	return back, nil
}

// PriceRemoval is what deleting a version did.
type PriceRemoval struct {
	Mode      string // cancelled_scheduled or archived_rule
	Cancelled int    // scheduled versions that went with the rule
	Archived  bool
}

// The modes of a PriceRemoval.
const (
	RemovedScheduled = "cancelled_scheduled"
	RemovedRule      = "archived_rule"
)
