package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Prices are what an organization says the use of models costs.
type Prices struct{ db *DB }

// Prices returns the prices.
func (d *DB) Prices() Prices { return Prices{d} }

const priceColumns = `
	m.id, m.org_id, m.model_pattern, m.model_provider, m.provider_id, p.name, m.catalog_slug,
	trim_scale(m.input_cost)::text, trim_scale(m.output_cost)::text, trim_scale(m.cache_read_cost)::text, trim_scale(m.cache_write_cost)::text,
	m.long_context_threshold, trim_scale(m.long_context_input)::text, trim_scale(m.long_context_output)::text,
	trim_scale(m.long_context_cache_read)::text, trim_scale(m.long_context_cache_write)::text,
	m.sync_mode, m.effective_from, m.is_archived, m.change_source, m.change_reason, m.created_at,
	m.created_by_user_id, m.created_by_email, m.created_by_name, m.revision
	FROM model_pricing m LEFT JOIN providers p ON p.org_id = m.org_id AND p.id = m.provider_id `

const selectPrice = `SELECT` + priceColumns

func scanPrice(row pgx.CollectableRow) (v tenant.PriceVersion, err error) {
	var (
		long          tenant.LongContext
		threshold     *int64
		input, output *tenant.Decimal
		by            = &v.CreatedBy
	)
	err = row.Scan(&v.ID, &v.OrganizationID, &v.Pattern, &v.Provider, &v.ProviderID, &v.ProviderName, &v.CatalogSlug,
		&v.Input, &v.Output, &v.CacheRead, &v.CacheWrite, &threshold, &input, &output, &long.CacheRead, &long.CacheWrite,
		&v.SyncMode, &v.EffectiveFrom, &v.Archived, &v.Source, &v.Reason, &v.CreatedAt, &by.UserID, &by.Email, &by.Name, &v.Revision)
	if threshold != nil {
		long.Threshold, long.Input, long.Output = *threshold, *input, *output
		v.LongContext = &long
	}
	v.EffectiveFrom = v.EffectiveFrom.UTC()
	return v, err
}

func getPrice(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.PriceVersion, error) {
	v, err := collectOne(ctx, tx, scanPrice, selectPrice+`WHERE m.id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, tenant.PriceNotFound(id)
	}
	return v, err
}

func priceHistory(ctx context.Context, tx pgx.Tx, rule tenant.PriceRule) (tenant.PriceHistory, error) {
	return collect(ctx, tx, scanPrice, selectPrice+`WHERE m.model_pattern = $1 AND m.model_provider = $2 ORDER BY m.effective_from DESC`, rule.Pattern, rule.Provider)
}

func priceHistories(ctx context.Context, tx pgx.Tx) (map[tenant.PriceRule]tenant.PriceHistory, error) {
	all, err := collect(ctx, tx, scanPrice, selectPrice)
	return tenant.Histories(all), err
}

// clock is the database's time at this moment: what is in force must not depend on which
// control plane is asked, and a writer asks after its turn has come.
func clock(ctx context.Context, tx pgx.Tx) (now time.Time, err error) {
	err = tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, err
}

// priceBook reads the prices that are in force.
func priceBook(ctx context.Context, tx pgx.Tx) (tenant.PriceBook, error) {
	inForce, err := collect(ctx, tx, scanPrice, `
		SELECT DISTINCT ON (m.model_pattern, m.model_provider)`+priceColumns+`
		WHERE m.effective_from <= clock_timestamp() ORDER BY m.model_pattern, m.model_provider, m.effective_from DESC`)
	return tenant.NewPriceBook(inForce), err
}

// hasPrice reports whether a model on a provider has a price, or needs none.
func hasPrice(ctx context.Context, tx pgx.Tx, provider uuid.UUID, model string) (bool, error) {
	var family, billingMode string
	err := tx.QueryRow(ctx, `SELECT model_provider, billing_mode FROM providers WHERE id = $1`, provider).Scan(&family, &billingMode)
	if err != nil {
		return false, err
	}
	book, err := priceBook(ctx, tx)
	return book.For(provider, family, billingMode, model).Priced(), err
}

// requirePrice refuses an enabled target without a price where the organization demands
// one. What was enabled before the demand was made can still be changed.
func requirePrice(ctx context.Context, tx pgx.Tx, provider uuid.UUID, before, next tenant.MappingConfig) error {
	if !next.Enabled || before.Enabled && before.UpstreamModel == next.UpstreamModel {
		return nil
	}
	g, err := getGovernance(ctx, tx)
	if err != nil || !g.RequirePricing {
		return err
	}
	priced, err := hasPrice(ctx, tx, provider, next.UpstreamModel)
	if err == nil && !priced {
		err = tenant.PriceRequired(next.UpstreamModel)
	}
	return err
}

// List returns every rule that is not archived.
func (s Prices) List(ctx context.Context, by tenant.Principal) ([]tenant.PriceEntry, error) {
	return s.entries(ctx, by, tenant.ListModelPricing, false)
}

// Archived returns every rule that is.
func (s Prices) Archived(ctx context.Context, by tenant.Principal) ([]tenant.PriceEntry, error) {
	return s.entries(ctx, by, tenant.ListArchivedModelPricing, true)
}

func (s Prices) entries(ctx context.Context, by tenant.Principal, op tenant.Operation, archived bool) (list []tenant.PriceEntry, err error) {
	err = s.db.read(ctx, by, op, func(tx pgx.Tx) error {
		now, err := clock(ctx, tx)
		if err != nil {
			return err
		}
		histories, err := priceHistories(ctx, tx)
		if err != nil {
			return err
		}
		for h := range maps.Values(histories) {
			if e := h.Entry(now); e.Archived == archived {
				list = append(list, e)
			}
		}
		slices.SortFunc(list, func(a, b tenant.PriceEntry) int { return slices.Compare(a.ID[:], b.ID[:]) })
		return nil
	})
	return list, err
}

// History returns the versions of a rule, the newest first.
func (s Prices) History(ctx context.Context, by tenant.Principal, rule tenant.PriceRule) (list []tenant.PriceVersion, err error) {
	err = s.db.read(ctx, by, tenant.ListModelPricingHistory, func(tx pgx.Tx) error {
		list, err = priceHistory(ctx, tx, rule)
		return err
	})
	return list, err
}

// Get returns one version.
func (s Prices) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (v tenant.PriceVersion, err error) {
	err = s.db.read(ctx, by, tenant.GetModelPricingVersion, func(tx pgx.Tx) error {
		v, err = getPrice(ctx, tx, id)
		return err
	})
	return v, err
}

// Create adds a version to a rule.
func (s Prices) Create(ctx context.Context, by tenant.Principal, in tenant.PriceCreate) (v tenant.PriceVersion, err error) {
	err = s.db.write(ctx, by, tenant.CreateModelPricing, func(c *change) error {
		asked, err := in.New()
		if err != nil {
			return err
		}
		if asked.ProviderID != nil {
			if err := requireProvider(ctx, c, *asked.ProviderID); err != nil {
				return err
			}
		}
		history, now, err := c.priceHistory(ctx, asked.PriceRule)
		if err != nil {
			return err
		}
		next, exists, err := history.Append(asked, in.EffectiveFrom, now)
		if err != nil {
			return err
		}
		if exists {
			v = next
			c.changed(v.ID, in.Reason)
			return nil
		}
		v, err = c.addPrice(ctx, next)
		return err
	})
	return v, err
}

// priced is a version that an operation names, within its rule, and the time.
type priced struct {
	tenant.PriceVersion
	history tenant.PriceHistory
	now     time.Time
}

// price reads the version that an operation is called for, as the caller saw it.
func (c *change) price(ctx context.Context, id uuid.UUID) (p priced, err error) {
	if p.PriceVersion, err = getPrice(ctx, c, id); err != nil {
		return p, err
	}
	if err := c.matches(p.Revision); err != nil {
		return p, err
	}
	p.history, p.now, err = c.priceHistory(ctx, p.PriceRule)
	return p, err
}

// priceHistory is a rule's history and the time, for a change of it.
func (c *change) priceHistory(ctx context.Context, rule tenant.PriceRule) (tenant.PriceHistory, time.Time, error) {
	history, err := priceHistory(ctx, c, rule)
	if err != nil {
		return nil, time.Time{}, err
	}
	now, err := clock(ctx, c)
	return history, now, err
}

// addPrice stores a version under a new id, as what the operation was about.
func (c *change) addPrice(ctx context.Context, v tenant.PriceVersion) (tenant.PriceVersion, error) {
	v.ID = newID()
	by, long := c.by.Actor(), longContext(v)
	_, err := c.Exec(ctx, `
		INSERT INTO model_pricing (org_id, id, model_pattern, model_provider, provider_id, catalog_slug, input_cost, output_cost, cache_read_cost,
			cache_write_cost, long_context_threshold, long_context_input, long_context_output, long_context_cache_read, long_context_cache_write,
			sync_mode, effective_from, is_archived, change_source, change_reason, created_by_user_id, created_by_email, created_by_name)
		VALUES ($1, $2, $3, $4, $5, $6, $7::text::numeric, $8::text::numeric, $9::text::numeric, $10::text::numeric, $11, $12::text::numeric,
			$13::text::numeric, $14::text::numeric, $15::text::numeric, $16, $17, $18, $19, $20, $21, $22, $23)`,
		c.by.OrganizationID, v.ID, v.Pattern, v.Provider, v.ProviderID, v.CatalogSlug, v.Input, v.Output, v.CacheRead, v.CacheWrite,
		long.threshold, long.input, long.output, long.CacheRead, long.CacheWrite, v.SyncMode, v.EffectiveFrom, v.Archived, v.Source, v.Reason,
		by.UserID, by.Email, by.Name)
	if err != nil {
		return v, err
	}
	c.changed(v.ID, v.Reason)
	return getPrice(ctx, c, v.ID)
}

// longColumns are the columns of a long context, all null where there is none.
type longColumns struct {
	threshold     *int64
	input, output *tenant.Decimal
	tenant.Costs
}

func longContext(v tenant.PriceVersion) (l longColumns) {
	if v.LongContext != nil {
		l.threshold, l.Costs = &v.LongContext.Threshold, v.LongContext.Costs
		l.input, l.output = &v.LongContext.Input, &v.LongContext.Output
	}
	return l
}

// Update changes a version that is not in force yet.
func (s Prices) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.PricePatch) (v tenant.PriceVersion, err error) {
	err = s.db.write(ctx, by, tenant.UpdateModelPricing, func(c *change) error {
		before, err := c.price(ctx, id)
		if err != nil {
			return err
		}
		next, err := before.Reschedule(patch, before.now)
		if err != nil {
			return err
		}
		if err := before.history.Check(next); err != nil {
			return err
		}
		if err := updatePrice(ctx, c, next); err != nil {
			return err
		}
		c.changed(id, patch.Reason)
		v, err = getPrice(ctx, c, id)
		return err
	})
	return v, err
}

func updatePrice(ctx context.Context, tx pgx.Tx, v tenant.PriceVersion) error {
	long := longContext(v)
	_, err := tx.Exec(ctx, `
		UPDATE model_pricing SET input_cost = $2::text::numeric, output_cost = $3::text::numeric, cache_read_cost = $4::text::numeric,
			cache_write_cost = $5::text::numeric, long_context_threshold = $6, long_context_input = $7::text::numeric,
			long_context_output = $8::text::numeric, long_context_cache_read = $9::text::numeric, long_context_cache_write = $10::text::numeric,
			sync_mode = $11, effective_from = $12, change_reason = $13
		WHERE id = $1`,
		v.ID, v.Input, v.Output, v.CacheRead, v.CacheWrite, long.threshold, long.input, long.output, long.CacheRead, long.CacheWrite,
		v.SyncMode, v.EffectiveFrom, v.Reason)
	return err
}

// Delete cancels a version that is not in force yet. With any other one it archives the
// rule.
func (s Prices) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) (done tenant.PriceRemoval, err error) {
	err = s.db.write(ctx, by, tenant.DeleteModelPricing, func(c *change) error {
		before, err := c.price(ctx, id)
		if err != nil {
			return err
		}
		c.changed(id, nil)
		if before.EffectiveFrom.After(before.now) {
			done = tenant.PriceRemoval{Mode: tenant.RemovedScheduled}
			return deletePrices(ctx, c, before.PriceVersion)
		}
		scheduled := before.history.Scheduled(before.now)
		done = tenant.PriceRemoval{Mode: tenant.RemovedRule, Cancelled: len(scheduled)}
		if err := deletePrices(ctx, c, scheduled...); err != nil {
			return err
		}
		if end := before.history.Archive(before.now); end != nil {
			done.Archived = true
			_, err = c.addPrice(ctx, *end)
		}
		return err
	})
	return done, err
}

func deletePrices(ctx context.Context, tx pgx.Tx, versions ...tenant.PriceVersion) error {
	ids := make([]uuid.UUID, len(versions))
	for i, v := range versions {
		ids[i] = v.ID
	}
	_, err := tx.Exec(ctx, `DELETE FROM model_pricing WHERE id = ANY ($1)`, ids)
	return err
}

// Restore brings the archived rule of a version back.
func (s Prices) Restore(ctx context.Context, by tenant.Principal, id uuid.UUID) (v tenant.PriceVersion, err error) {
	err = s.db.write(ctx, by, tenant.RestoreModelPricing, func(c *change) error {
		of, err := c.price(ctx, id)
		if err != nil {
			return err
		}
		back, err := of.history.Restore(of.now)
		if err != nil {
			return err
		}
		v, err = c.addPrice(ctx, back)
		return err
	})
	return v, err
}

// Import makes rules of shipped prices, and returns how many.
func (s Prices) Import(ctx context.Context, by tenant.Principal, ids []uuid.UUID, syncMode *string) (int, error) {
	return s.addAll(ctx, by, tenant.ImportModelPricingDefaults, func(have map[tenant.PriceRule]tenant.PriceHistory, now time.Time) ([]tenant.PriceVersion, error) {
		return tenant.PricesToImport(have, ids, syncMode, now)
	})
}

// Sync brings the rules that follow the shipped prices up to them, and returns how many.
func (s Prices) Sync(ctx context.Context, by tenant.Principal) (int, error) {
	return s.addAll(ctx, by, tenant.SyncModelPricingDefaults, func(have map[tenant.PriceRule]tenant.PriceHistory, now time.Time) ([]tenant.PriceVersion, error) {
		return tenant.PricesToSync(have, now), nil
	})
}

func (s Prices) addAll(ctx context.Context, by tenant.Principal, op tenant.Operation,
	choose func(map[tenant.PriceRule]tenant.PriceHistory, time.Time) ([]tenant.PriceVersion, error)) (n int, err error) {
	err = s.db.write(ctx, by, op, func(c *change) error {
		have, err := priceHistories(ctx, c)
		if err != nil {
			return err
		}
		now, err := clock(ctx, c)
		if err != nil {
			return err
		}
		versions, err := choose(have, now)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if _, err := c.addPrice(ctx, v); err != nil {
				return err
			}
		}
		n = len(versions)
		c.changedMany(nil)
		return nil
	})
	return n, err
}
