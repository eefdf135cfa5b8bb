package tenant

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// PriceDefault is a price that ships with the gateway.
type PriceDefault struct {
	ID uuid.UUID
	PriceRule
	PriceTerms
	SourceURL string
	AsOf      string // the day of the newest word on it that was read, as YYYY-MM-DD: the page of SourceURL, or who quotes it
}

//go:embed pricing/defaults.json
var defaultsJSON []byte

// defaultsSpace is what the ids of shipped prices are made in. It stays: rules that were
// imported, and what was billed, refer to them.
var defaultsSpace = uuid.MustParse("5b0f4a52-9c1e-4f1a-8f0e-7d3c1a6f2b90")

// defaultEntry is a row of defaults.json; costs are USD per million tokens.
type defaultEntry struct {
	Provider    string              `json:"model_provider"`
	Pattern     string              `json:"model_pattern"`
	Source      string              `json:"source"`
	AsOf        string              `json:"as_of"`
	LongContext *defaultLongContext `json:"long_context"`
	defaultCosts
}

type defaultLongContext struct {
	Threshold int64 `json:"threshold_prompt_tokens"`
	defaultCosts
}

type defaultCosts struct {
	Input      json.Number  `json:"input"`
	Output     json.Number  `json:"output"`
	CacheRead  *json.Number `json:"cache_read"`
	CacheWrite *json.Number `json:"cache_write"`
}

func (c defaultCosts) patch() CostsPatch {
	return CostsPatch{Input: (*string)(&c.Input), Output: (*string)(&c.Output),
		CacheRead:  Change[string]{Set: c.CacheRead != nil, Value: (*string)(c.CacheRead)},
		CacheWrite: Change[string]{Set: c.CacheWrite != nil, Value: (*string)(c.CacheWrite)}}
}

func (e defaultEntry) price() (PriceDefault, error) {
	in := PriceCreate{Pattern: e.Pattern, Provider: &e.Provider, PricePatch: PricePatch{CostsPatch: e.patch()}}
	if l := e.LongContext; l != nil {
		in.LongContext = Change[LongContextPatch]{Set: true, Value: &LongContextPatch{Threshold: l.Threshold, CostsPatch: l.patch()}}
	}
	v, err := in.New()
	return PriceDefault{ID: uuid.NewSHA1(defaultsSpace, []byte(e.Provider+"\x00"+e.Pattern)), PriceRule: v.PriceRule, PriceTerms: v.PriceTerms,
		SourceURL: e.Source, AsOf: e.AsOf}, err
}

var priceDefaults = readDefaults()

// PriceDefaults returns the shipped prices. The slice is shared: read only.
func PriceDefaults() []PriceDefault { return priceDefaults }

// readDefaults panics where the file does not parse: that is a mistake of the build.
func readDefaults() []PriceDefault {
	var entries []defaultEntry
	if err := json.Unmarshal(defaultsJSON, &entries); err != nil {
		panic(fmt.Sprintf("pricing/defaults.json: %v", err))
	}
	list := make([]PriceDefault, len(entries))
	for i, e := range entries {
		d, err := e.price()
		if err != nil {
			panic(fmt.Sprintf("pricing/defaults.json: %s: %v", e.Pattern, err))
		}
		list[i] = d
	}
	return list
}

// PricesToImport are the versions that make rules of shipped prices: of all, or of those
// with the ids where ids is not nil. A rule that has a price in force is left alone.
func PricesToImport(have map[PriceRule]PriceHistory, ids []uuid.UUID, syncMode *string, now time.Time) ([]PriceVersion, error) {
	chosen := PriceDefaults()
	if ids != nil {
		chosen = nil
		for _, id := range ids {
			i := slices.IndexFunc(PriceDefaults(), func(d PriceDefault) bool { return d.ID == id })
			if i < 0 {
				return nil, UnknownPriceDefault(id)
			}
			chosen = append(chosen, PriceDefaults()[i])
		}
	}
	var list []PriceVersion
	for _, d := range chosen {
		current := have[d.PriceRule].InForce(now)
		if current != nil && !current.Archived || slices.ContainsFunc(list, func(v PriceVersion) bool { return v.PriceRule == d.PriceRule }) {
			continue
		}
		v := d.version(PriceImported, now)
		v.CatalogSlug = &d.Provider
		if err := v.PriceTerms.apply(PricePatch{SyncMode: syncMode}); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// PricesToSync are the versions that bring the rules which follow the shipped prices up
// to them.
func PricesToSync(have map[PriceRule]PriceHistory, now time.Time) (list []PriceVersion) {
	for _, d := range PriceDefaults() {
		current := have[d.PriceRule].InForce(now)
		if current == nil || current.Archived || current.SyncMode == SyncPinned || current.priced(d.PriceTerms) {
			continue
		}
		v := d.version(PriceSynced, now)
		v.SyncMode, v.ProviderID, v.CatalogSlug = current.SyncMode, current.ProviderID, current.CatalogSlug
		list = append(list, v)
	}
	return list
}

func (d PriceDefault) version(source string, now time.Time) PriceVersion {
	return PriceVersion{PriceRule: d.PriceRule, PriceTerms: d.PriceTerms, EffectiveFrom: stamp(now), Source: source}
}
