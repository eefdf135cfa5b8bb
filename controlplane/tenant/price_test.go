package tenant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

// version takes effect some hours from noon.
func version(hours int, cost Decimal) PriceVersion {
	return PriceVersion{ID: uuid.New(), PriceRule: PriceRule{Pattern: "m"}, EffectiveFrom: noon.Add(time.Duration(hours) * time.Hour),
		PriceTerms: PriceTerms{Costs: Costs{Input: cost, Output: "1"}, SyncMode: SyncPinned}}
}

func ended(v PriceVersion) PriceVersion {
	v.Archived = true
	return v
}

func TestPriceInForce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history PriceHistory
		want    string // the cost in force, then what the listing shows
	}{
		"Nothing":            {nil, "- "},
		"Now":                {PriceHistory{version(0, "1")}, "1 1"},
		"Latest":             {PriceHistory{version(-1, "2"), version(-2, "1")}, "2 2"},
		"NotYet":             {PriceHistory{version(1, "2"), version(-2, "1")}, "1 1"},
		"OnlyScheduled":      {PriceHistory{version(2, "2"), version(1, "1")}, "- 1"},
		"Ended":              {PriceHistory{version(-2, "1"), ended(version(-1, "1"))}, "ended 1"},
		"EndedThenScheduled": {PriceHistory{ended(version(-1, "1")), version(3, "3")}, "ended 3"},
		"EndsLater":          {PriceHistory{version(-1, "1"), ended(version(1, "1"))}, "1 1"},
		"BackAgain":          {PriceHistory{ended(version(-2, "1")), version(-1, "2")}, "2 2"},
	} {
		got := "-"
		if v := c.history.InForce(noon); v != nil {
			got = string(v.Input)
			if v.Archived {
				got = "ended"
			}
		}
		if got += " " + string(c.history.Entry(noon).Input); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestPriceAppend(t *testing.T) {
	t.Parallel()
	at := func(hours int) *time.Time { return new(noon.Add(time.Duration(hours) * time.Hour)) }
	long := version(-1, "1")
	long.LongContext = &LongContext{Threshold: 5, Costs: Costs{Input: "1", Output: "1"}}
	cached := version(-1, "1")
	cached.CacheRead = new(Decimal("1"))
	for name, c := range map[string]struct {
		history PriceHistory
		from    *time.Time
		want    string
	}{
		"First":             {nil, nil, PriceCreated},
		"FirstInThePast":    {nil, at(-5), PriceCreated},
		"FirstInTheFuture":  {nil, at(5), PriceScheduled},
		"Another":           {PriceHistory{version(-1, "2")}, nil, PriceEdited},
		"TheSame":           {PriceHistory{version(-1, "1")}, nil, "exists"},
		"TheSameInThePast":  {PriceHistory{version(-1, "1")}, at(-5), "exists"},
		"TheSameAtOnce":     {PriceHistory{version(0, "1")}, nil, "exists"},
		"TheSameLater":      {PriceHistory{version(-1, "1")}, at(5), PriceScheduled},
		"TheSameAsLastTime": {PriceHistory{version(-2, "1"), version(-1, "2")}, nil, PriceEdited},
		"TheSameAsPlanned":  {PriceHistory{version(1, "1")}, nil, PriceEdited},
		"OverATombstone":    {PriceHistory{ended(version(-1, "1"))}, nil, PriceEdited},
		"WithoutLong":       {PriceHistory{long}, nil, PriceEdited},
		"WithoutCache":      {PriceHistory{cached}, nil, PriceEdited},
		"InstantTaken":      {PriceHistory{version(-1, "2")}, at(-1), "taken"},
		"PlannedTaken":      {PriceHistory{version(5, "1")}, at(5), "taken"},
	} {
		v, exists, err := c.history.Append(version(0, "1"), c.from, noon)
		got := v.Source
		switch {
		case err != nil:
			got = "taken"
		case exists:
			got = "exists"
		case c.from == nil && !v.EffectiveFrom.Equal(noon), c.from != nil && !v.EffectiveFrom.Equal(*c.from):
			t.Errorf("%s: takes effect at %s", name, v.EffectiveFrom)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestPriceBook(t *testing.T) {
	t.Parallel()
	mine, other := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		book []PriceVersion
		want string // source and cost
	}{
		"Nothing":          {nil, "none"},
		"Exact":            {[]PriceVersion{priced("gpt-x", "", nil, "1")}, "org_generic 1"},
		"Pattern":          {[]PriceVersion{priced("gpt-*", "", nil, "1")}, "org_generic 1"},
		"All":              {[]PriceVersion{priced("*", "", nil, "1")}, "org_generic 1"},
		"WholeNamePattern": {[]PriceVersion{priced("gpt-x*", "", nil, "1")}, "org_generic 1"},
		"LongestPattern":   {[]PriceVersion{priced("g*", "", nil, "1"), priced("gpt-*", "", nil, "2"), priced("*", "", nil, "3")}, "org_generic 2"},
		"ExactFirst":       {[]PriceVersion{priced("gpt-x*", "", nil, "1"), priced("gpt-x", "", nil, "2")}, "org_generic 2"},
		"NoMatch":          {[]PriceVersion{priced("gpt-xy", "", nil, "1"), priced("gpt", "", nil, "1"), priced("gpt-xy*", "", nil, "1")}, "none"},
		"FamilyFirst":      {[]PriceVersion{priced("gpt-x", "", nil, "1"), priced("*", "custom", nil, "2")}, "org_catalog 2"},
		"OtherFamily":      {[]PriceVersion{priced("gpt-x", "groq", nil, "1")}, "none"},
		"ProviderFirst":    {[]PriceVersion{priced("gpt-x", "custom", nil, "1"), priced("*", "", &mine, "2")}, "org_instance 2"},
		"OtherProvider":    {[]PriceVersion{priced("gpt-x", "custom", &other, "1")}, "none"},
		"Ended":            {[]PriceVersion{ended(priced("gpt-x", "", nil, "1")), priced("gpt-*", "", nil, "2")}, "org_generic 2"},
	} {
		p := NewPriceBook(c.book).For(mine, "custom", BillingPerToken, "gpt-x")
		got := p.Source
		if p.Terms != nil {
			got += " " + string(p.Terms.Input)
		}
		if got != c.want || p.Priced() != (c.want != "none") {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if p := (NewPriceBook(nil)).For(mine, "openai", BillingNotMetered, "gpt-5"); p.Source != PricingNotMetered || !p.Priced() {
		t.Errorf("not metered: %v", p)
	}
	if p := NewPriceBook([]PriceVersion{priced("a*", "", nil, "1")}).For(mine, "custom", BillingPerToken, "a*"); p.Source != PricingOfModel {
		t.Errorf("a model whose name ends in *: %v", p)
	}
}

func priced(pattern, family string, provider *uuid.UUID, cost Decimal) PriceVersion {
	v := version(-1, cost)
	v.Pattern, v.Provider, v.ProviderID = pattern, family, provider
	return v
}

// TestPriceDefaults holds the shipped prices: each has its source and day, names a family
// that exists, stands once, and covers the models that the catalog suggests where the
// file has a price of that family at all.
func TestPriceDefaults(t *testing.T) {
	t.Parallel()
	seen := map[PriceRule]bool{}
	book := NewPriceBook(nil)
	for _, d := range PriceDefaults() {
		if _, err := familyOf(d.Provider); err != nil {
			t.Error(err)
		}
		if _, err := time.Parse(time.DateOnly, d.AsOf); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(d.SourceURL, "https://") {
			t.Errorf("%s has no source", d.Pattern)
		}
		if seen[d.PriceRule] {
			t.Errorf("%v stands twice", d.PriceRule)
		}
		seen[d.PriceRule] = true
	}
	var missing []string
	for _, slug := range []string{"openai", "anthropic", "google_ai", "groq", "cohere", "xai"} {
		f, err := familyOf(slug)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range f.DefaultModels {
			if p := book.For(uuid.Nil, slug, BillingPerToken, model); p.Source != PricingDefault {
				missing = append(missing, slug+"/"+model)
			}
		}
	}
	if missing != nil {
		t.Errorf("models of the catalog without a price: %v", missing)
	}
	// The ids are promised to stay.
	i := slices.IndexFunc(PriceDefaults(), func(d PriceDefault) bool { return d.Pattern == "gpt-5" })
	if diff := cmp.Diff("e3b1d8f4-a1fb-5bef-89f7-1fbed2430ce3", fmt.Sprint(PriceDefaults()[i].ID)); diff != "" {
		t.Errorf("the id of a shipped price moved:\n%s", diff)
	}
}
