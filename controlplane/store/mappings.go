package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Mappings are the model mappings of an organization.
type Mappings struct{ db *DB }

// Mappings returns the model mappings.
func (d *DB) Mappings() Mappings { return Mappings{d} }

const selectMapping = `
	SELECT m.id, m.org_id, m.provider_id, m.model_alias, m.upstream_model, m.enabled, m.priority, m.retry_on_429_count,
	       m.retry_on_429_max_wait_secs, m.embeddings_failover, m.bare_alias, m.request_timeout_secs, m.stream_idle_timeout_secs, m.source,
	       m.cooldown_failure_threshold, m.cooldown_window_secs, m.cooldown_first_secs, m.cooldown_max_secs,
	       m.cooldown_rate_limited_secs, m.cooldown_overloaded_secs,
	       m.created_at, m.updated_at, m.created_by_user_id, m.created_by_email, m.created_by_name,
	       m.last_modified_by_user_id, m.last_modified_by_email, m.last_modified_by_name, m.last_modified_at, m.last_change_note, m.revision,
	       p.name, p.auth_type, p.enabled, p.health_status, p.enforce_health_check, p.request_timeout_secs, p.stream_idle_timeout_secs, p.billing_mode, p.model_provider,
	       EXISTS (SELECT FROM model_mappings e
	               WHERE e.org_id = m.org_id AND e.provider_id = m.provider_id AND e.upstream_model = m.upstream_model
	                 AND e.model_alias = e.upstream_model AND e.enabled)
	FROM model_mappings m JOIN providers p ON p.org_id = m.org_id AND p.id = m.provider_id`

func scanMapping(row pgx.CollectableRow) (m tenant.Mapping, err error) {
	var p tenant.Provider
	by, mod, around, cooldown := &m.CreatedBy, &m.ModifiedBy, &m.Around, &m.Cooldown
	err = row.Scan(&m.ID, &m.OrganizationID, &m.ProviderID, &m.Alias, &m.UpstreamModel, &m.Enabled, &m.Priority, &m.RetryOn429Count,
		&m.RetryOn429MaxWaitSecs, &m.EmbeddingsFailover, &m.BareAlias, &m.Timeouts.RequestSecs, &m.Timeouts.StreamIdleSecs, &m.Source,
		&cooldown.FailureThreshold, &cooldown.WindowSecs, &cooldown.FirstSecs, &cooldown.MaxSecs, &cooldown.RateLimitedSecs, &cooldown.OverloadedSecs,
		&m.CreatedAt, &m.UpdatedAt, &by.UserID, &by.Email, &by.Name, &mod.UserID, &mod.Email, &mod.Name, &m.ModifiedAt, &m.ChangeNote, &m.Revision,
		&around.ProviderName, &around.ProviderAuthType, &around.ProviderEnabled, &p.Health.Status, &p.EnforceHealthCheck,
		&around.ProviderTimeouts.RequestSecs, &around.ProviderTimeouts.StreamIdleSecs, &around.ProviderBillingMode, &around.ProviderFamily, &around.ModelEnabled)
	around.ProviderServing = p.Serving()
	return m, err
}

func getMapping(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.Mapping, error) {
	list, err := collectMappings(ctx, tx, selectMapping+` WHERE m.id = $1`, id)
	switch {
	case err != nil:
		return tenant.Mapping{}, err
	case len(list) == 0:
		return tenant.Mapping{}, tenant.MappingNotFound(id)
	}
	return list[0], nil
}

// collectMappings reads mappings with what their use costs.
func collectMappings(ctx context.Context, tx pgx.Tx, query string, args ...any) ([]tenant.Mapping, error) {
	list, err := collect(ctx, tx, scanMapping, query, args...)
	if err != nil || len(list) == 0 {
		return list, err
	}
	book, err := priceBook(ctx, tx)
	if err != nil {
		return nil, err
	}
	prices := map[tenant.Upstream]tenant.Pricing{} // thousands of routes share a few models
	for i, m := range list {
		price, known := prices[m.Upstream()]
		if !known {
			price = book.For(m.ProviderID, m.Around.ProviderFamily, m.Around.ProviderBillingMode, m.UpstreamModel)
			prices[m.Upstream()] = price
		}
		list[i].Around.Pricing = price
	}
	return list, nil
}

// List returns mappings, by id.
func (s Mappings) List(ctx context.Context, by tenant.Principal, page Page[uuid.UUID]) (list []tenant.Mapping, err error) {
	err = s.db.read(ctx, by, tenant.ListModelMappings, func(tx pgx.Tx) error {
		list, err = collectMappings(ctx, tx, selectMapping+` WHERE $1::uuid IS NULL OR m.id > $1 ORDER BY m.id LIMIT $2`, page.After, page.most())
		return err
	})
	return list, err
}

// Of returns the mappings that stand for any of the models, by id.
func (s Mappings) Of(ctx context.Context, by tenant.Principal, models []tenant.Upstream) (list []tenant.Mapping, err error) {
	providers, names := make([]uuid.UUID, len(models)), make([]string, len(models))
	for i, m := range models {
		providers[i], names[i] = m.ProviderID, m.Model
	}
	err = s.db.read(ctx, by, tenant.ListModelMappings, func(tx pgx.Tx) error {
		list, err = collectMappings(ctx, tx, selectMapping+`
			WHERE (m.provider_id, m.upstream_model) IN (SELECT * FROM unnest($1::uuid[], $2::text[])) ORDER BY m.id`, providers, names)
		return err
	})
	return list, err
}

// Get returns one mapping.
func (s Mappings) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (m tenant.Mapping, err error) {
	err = s.db.read(ctx, by, tenant.GetModelMapping, func(tx pgx.Tx) error {
		m, err = getMapping(ctx, tx, id)
		return err
	})
	return m, err
}

// Create stores a mapping. A 1:1 enablement that exists is folded into.
func (s Mappings) Create(ctx context.Context, by tenant.Principal, provider uuid.UUID, in tenant.MappingPatch) (m tenant.Mapping, err error) {
	err = s.db.write(ctx, by, tenant.CreateModelMapping, func(c *change) error {
		cfg, err := tenant.NewMapping(in)
		if err != nil {
			return err
		}
		if err := s.db.requireServed(ctx, c, provider, cfg.UpstreamModel); err != nil {
			return err
		}
		id, err := createMapping(ctx, c, provider, cfg, in)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		m, err = getMapping(ctx, c, id)
		return err
	})
	return m, err
}

func createMapping(ctx context.Context, c *change, provider uuid.UUID, cfg tenant.MappingConfig, in tenant.MappingPatch) (uuid.UUID, error) {
	enablement, err := findEnablement(ctx, c, provider, cfg.UpstreamModel)
	if err != nil {
		return uuid.Nil, err
	}
	switch {
	case !cfg.Enablement() && (enablement == nil || !enablement.Enabled):
		return uuid.Nil, tenant.ModelNotEnabled(cfg.UpstreamModel)
	case cfg.Enablement() && enablement != nil:
		folded, err := enablement.Fold(in)
		if err != nil {
			return uuid.Nil, err
		}
		if err := requirePrice(ctx, c, provider, enablement.MappingConfig, folded); err != nil {
			return uuid.Nil, err
		}
		return enablement.ID, updateMapping(ctx, c, enablement.ID, folded, in.ChangeNote)
	}
	id := newID()
	return id, insertMapping(ctx, c, id, provider, cfg, in.ChangeNote)
}

// requireProvider wants a provider of the organization.
func requireProvider(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var found bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM providers WHERE id = $1)`, id).Scan(&found); err != nil {
		return err
	}
	if !found {
		return tenant.UnknownProvider(id)
	}
	return nil
}

// requireServed wants a provider of the organization, and one that a node could ask for the
// model.
func (d *DB) requireServed(ctx context.Context, tx pgx.Tx, id uuid.UUID, upstreamModel string) error {
	p, err := collectOne(ctx, tx, scanProvider, selectProvider+` WHERE p.id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return tenant.UnknownProvider(id)
	}
	if err != nil {
		return err
	}
	return tenant.OfProvider(d.serves(served(p.ProviderConfig), upstreamModel))
}

// findEnablement returns the 1:1 row of a model, or nil.
func findEnablement(ctx context.Context, tx pgx.Tx, provider uuid.UUID, model string) (*tenant.Mapping, error) {
	m, err := collectOne(ctx, tx, scanMapping, selectMapping+` WHERE m.provider_id = $1 AND m.upstream_model = $2 AND m.model_alias = $2`, provider, model)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}

func insertMapping(ctx context.Context, c *change, id, provider uuid.UUID, m tenant.MappingConfig, note *string) error {
	if err := requirePrice(ctx, c, provider, tenant.MappingConfig{}, m); err != nil {
		return err
	}
	if err := requireNoPolicy(ctx, c, id, m); err != nil {
		return err
	}
	by := c.by.Actor()
	_, err := c.Exec(ctx, `
		INSERT INTO model_mappings (org_id, id, provider_id, model_alias, upstream_model, enabled, priority, retry_on_429_count,
			retry_on_429_max_wait_secs, bare_alias, request_timeout_secs, stream_idle_timeout_secs, source,
			created_by_user_id, created_by_email, created_by_name, last_change_note,
			cooldown_failure_threshold, cooldown_window_secs, cooldown_first_secs, cooldown_max_secs,
			cooldown_rate_limited_secs, cooldown_overloaded_secs, embeddings_failover)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`,
		c.by.OrganizationID, id, provider, m.Alias, m.UpstreamModel, m.Enabled, m.Priority, m.RetryOn429Count,
		m.RetryOn429MaxWaitSecs, m.BareAlias, m.Timeouts.RequestSecs, m.Timeouts.StreamIdleSecs, m.Source,
		by.UserID, by.Email, by.Name, note,
		m.Cooldown.FailureThreshold, m.Cooldown.WindowSecs, m.Cooldown.FirstSecs, m.Cooldown.MaxSecs,
		m.Cooldown.RateLimitedSecs, m.Cooldown.OverloadedSecs, m.EmbeddingsFailover)
	return err
}

// Update changes a mapping.
func (s Mappings) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.MappingPatch) (m tenant.Mapping, err error) {
	err = s.db.write(ctx, by, tenant.UpdateModelMapping, func(c *change) error {
		before, err := getMapping(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		next, err := before.Update(patch)
		if err != nil {
			return err
		}
		if next.UpstreamModel != before.UpstreamModel {
			if err := s.db.requireServed(ctx, c, before.ProviderID, next.UpstreamModel); err != nil {
				return err
			}
		}
		if before.NeedsEnablement(next) {
			enablement, err := findEnablement(ctx, c, before.ProviderID, next.UpstreamModel)
			if err != nil {
				return err
			}
			// The row itself is no enablement once this change is made.
			if enablement == nil || !enablement.Enabled || enablement.ID == id {
				return tenant.ModelNotEnabled(next.UpstreamModel)
			}
		}
		if err := requirePrice(ctx, c, before.ProviderID, before.MappingConfig, next); err != nil {
			return err
		}
		anew, err := darkOf(ctx, c, next.Alias)
		if err != nil {
			return err
		}
		if err := updateMapping(ctx, c, id, next, patch.ChangeNote); err != nil {
			return err
		}
		if before.OfRoute() && next.Alias != before.Alias {
			if err := moved(ctx, c, before, next.Alias, len(anew) > 0, patch.ChangeNote); err != nil {
				return err
			}
		}
		c.changed(id, patch.ChangeNote)
		m, err = getMapping(ctx, c, id)
		return err
	})
	return m, err
}

func updateMapping(ctx context.Context, c *change, id uuid.UUID, m tenant.MappingConfig, note *string) error {
	if err := requireNoPolicy(ctx, c, id, m); err != nil {
		return err
	}
	by := c.by.Actor()
	_, err := c.Exec(ctx, `
		UPDATE model_mappings SET model_alias = $2, upstream_model = $3, enabled = $4, priority = $5, retry_on_429_count = $6,
			retry_on_429_max_wait_secs = $7, bare_alias = $8, request_timeout_secs = $9, stream_idle_timeout_secs = $10, source = $11,
			updated_at = now(), last_modified_at = now(),
			last_modified_by_user_id = $12, last_modified_by_email = $13, last_modified_by_name = $14, last_change_note = $15,
			cooldown_failure_threshold = $16, cooldown_window_secs = $17, cooldown_first_secs = $18, cooldown_max_secs = $19,
			cooldown_rate_limited_secs = $20, cooldown_overloaded_secs = $21, embeddings_failover = $22
		WHERE id = $1`,
		id, m.Alias, m.UpstreamModel, m.Enabled, m.Priority, m.RetryOn429Count,
		m.RetryOn429MaxWaitSecs, m.BareAlias, m.Timeouts.RequestSecs, m.Timeouts.StreamIdleSecs, m.Source,
		by.UserID, by.Email, by.Name, note,
		m.Cooldown.FailureThreshold, m.Cooldown.WindowSecs, m.Cooldown.FirstSecs, m.Cooldown.MaxSecs,
		m.Cooldown.RateLimitedSecs, m.Cooldown.OverloadedSecs, m.EmbeddingsFailover)
	return err
}

// Delete removes a mapping.
func (s Mappings) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, tenant.DeleteModelMapping, func(c *change) error {
		before, err := getMapping(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM model_mappings WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		if !before.OfRoute() {
			return nil
		}
		return forgetDark(ctx, c, before.Alias)
	})
}

// Reorder sets the priority of several mappings, or of none.
func (s Mappings) Reorder(ctx context.Context, by tenant.Principal, entries []tenant.Priority) error {
	return s.db.write(ctx, by, tenant.ReorderModelMappings, func(c *change) error {
		if err := tenant.ValidateReorder(entries); err != nil {
			return err
		}
		ids, priorities := make([]uuid.UUID, len(entries)), make([]int, len(entries))
		for i, e := range entries {
			ids[i], priorities[i] = e.ID, e.Priority
		}
		if err := c.seenOrder(ctx, ids); err != nil {
			return err
		}
		actor := c.by.Actor()
		found, err := collect(ctx, c, pgx.RowTo[uuid.UUID], `
			UPDATE model_mappings m SET priority = e.priority, updated_at = now(), last_modified_at = now(),
				last_modified_by_user_id = $3, last_modified_by_email = $4, last_modified_by_name = $5, last_change_note = NULL
			FROM unnest($1::uuid[], $2::int[]) AS e (id, priority) WHERE m.id = e.id RETURNING m.id`,
			ids, priorities, actor.UserID, actor.Email, actor.Name)
		if err != nil {
			return err
		}
		if missing, ok := firstMissing(ids, found); ok {
			return tenant.MappingNotFound(missing)
		}
		c.changedMany(nil)
		return nil
	})
}

// seenOrder refuses a new order of targets that are not as the caller saw them, if they said
// how: by the ETag of the route that has them all.
func (c *change) seenOrder(ctx context.Context, ids []uuid.UUID) error {
	if c.by.IfMatch == "" {
		return nil
	}
	rows, err := collect(ctx, c, scanMapping, selectMapping+` WHERE m.id = ANY ($1)`, ids)
	if err != nil {
		return err
	}
	found := make([]uuid.UUID, len(rows))
	for i, m := range rows {
		found[i] = m.ID
		if !m.OfRoute() || m.Alias != rows[0].Alias {
			return tenant.NotOneRoute()
		}
	}
	if missing, ok := firstMissing(ids, found); ok {
		return tenant.MappingNotFound(missing)
	}
	if len(rows) == 0 { // nothing is to be ordered
		return tenant.NotOneRoute()
	}
	_, err = seenRoute(ctx, c, rows[0].Alias)
	return err
}

func firstMissing(want, have []uuid.UUID) (uuid.UUID, bool) {
	seen := make(map[uuid.UUID]bool, len(have))
	for _, id := range have {
		seen[id] = true
	}
	for _, id := range want {
		if !seen[id] {
			return id, true
		}
	}
	return uuid.Nil, false
}
