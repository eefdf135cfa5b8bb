package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Providers are the providers of an organization.
type Providers struct{ db *DB }

// Providers returns the providers.
func (d *DB) Providers() Providers { return Providers{d} }

const selectProvider = `
	SELECT p.id, p.org_id, p.name, p.model_provider, p.base_url, p.auth_type, p.settings, p.enabled, p.enforce_health_check,
	       p.request_timeout_secs, p.stream_idle_timeout_secs, p.model_sync_mode, p.billing_mode, p.billing_reason, p.billing_note,
	       p.health_status, p.health_detail, p.health_checked_at, p.probe_failures,
	       p.created_at, p.updated_at, p.created_by_user_id, p.created_by_email, p.created_by_name,
	       p.last_modified_by_user_id, p.last_modified_by_email, p.last_modified_by_name, p.last_modified_at, p.last_change_note,
	       p.revision, c.id, p.connection_id
	FROM providers p LEFT JOIN provider_credentials c ON c.org_id = p.org_id AND c.provider_id = p.id`

func scanProvider(row pgx.CollectableRow) (p tenant.Provider, err error) {
	by, mod := &p.CreatedBy, &p.ModifiedBy
	err = row.Scan(&p.ID, &p.OrganizationID, &p.Name, &p.Family, &p.BaseURL, &p.AuthType, &p.Settings, &p.Enabled, &p.EnforceHealthCheck,
		&p.Timeouts.RequestSecs, &p.Timeouts.StreamIdleSecs, &p.ModelSyncMode, &p.Billing.Mode, &p.Billing.Reason, &p.Billing.Note,
		&p.Health.Status, &p.Health.Detail, &p.Health.CheckedAt, &p.Health.Failures,
		&p.CreatedAt, &p.UpdatedAt, &by.UserID, &by.Email, &by.Name, &mod.UserID, &mod.Email, &mod.Name, &p.ModifiedAt, &p.ChangeNote,
		&p.Revision, &p.CredentialID, &p.ConnectionID)
	return p, err
}

func getProvider(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.Provider, error) {
	p, err := collectOne(ctx, tx, scanProvider, selectProvider+` WHERE p.id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, tenant.ProviderNotFound(id)
	}
	return p, err
}

// List returns every provider.
func (s Providers) List(ctx context.Context, by tenant.Principal) (list []tenant.Provider, err error) {
	err = s.db.read(ctx, by, tenant.ListProviders, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scanProvider, selectProvider+` ORDER BY p.id`)
		return err
	})
	return list, err
}

// Get returns one provider.
func (s Providers) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (p tenant.Provider, err error) {
	err = s.db.read(ctx, by, tenant.GetProvider, func(tx pgx.Tx) error {
		p, err = getProvider(ctx, tx, id)
		return err
	})
	return p, err
}

// Create stores a provider, its sealed credential and its first mappings.
func (s Providers) Create(ctx context.Context, by tenant.Principal, in tenant.ProviderCreate) (p tenant.Provider, err error) {
	err = s.db.write(ctx, by, tenant.CreateProvider, func(c *change) error {
		connection, err := connectionOf(ctx, c, in.ConnectionID.Value)
		if err != nil {
			return err
		}
		cfg, credential, err := in.New(connection)
		if err != nil {
			return err
		}
		for _, model := range in.Models {
			if err := s.db.serves(served(cfg), model); err != nil {
				return err
			}
		}
		id := newID()
		if err := insertProvider(ctx, c, id, cfg, in.ConnectionID.Value, in.ChangeNote); err != nil {
			return err
		}
		if err := s.db.changeCredential(ctx, c, id, cfg.Host(), credential); err != nil {
			return err
		}
		if err := insertModels(ctx, c, id, in.Models, in.ChangeNote); err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		p, err = getProvider(ctx, c, id)
		return err
	})
	return p, err
}

func insertProvider(ctx context.Context, c *change, id uuid.UUID, p tenant.ProviderConfig, connection *uuid.UUID, note *string) error {
	by := c.by.Actor()
	_, err := c.Exec(ctx, `
		INSERT INTO providers (org_id, id, name, address_name, model_provider, base_url, auth_type, settings, enabled, enforce_health_check,
			request_timeout_secs, stream_idle_timeout_secs, model_sync_mode, billing_mode, billing_reason, billing_note,
			created_by_user_id, created_by_email, created_by_name, last_change_note, probe_from_version, connection_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		c.by.OrganizationID, id, p.Name, p.AddressName(), p.Family, p.BaseURL, p.AuthType, p.Settings, p.Enabled, p.EnforceHealthCheck,
		p.Timeouts.RequestSecs, p.Timeouts.StreamIdleSecs, p.ModelSyncMode, p.Billing.Mode, p.Billing.Reason, p.Billing.Note,
		by.UserID, by.Email, by.Name, note, c.version, connection)
	return err
}

// insertModels enables models on a new provider. A model that is named twice is
// enabled once.
func insertModels(ctx context.Context, c *change, provider uuid.UUID, models []string, note *string) error {
	done := make(map[string]bool, len(models))
	for _, model := range models {
		if done[model] {
			continue
		}
		done[model] = true
		m, err := tenant.NewMapping(tenant.MappingPatch{Alias: &model, UpstreamModel: &model})
		if err != nil {
			return tenant.InModels(err)
		}
		if err := insertMapping(ctx, c, newID(), provider, m, note); err != nil {
			return tenant.InModels(err)
		}
	}
	return nil
}

// Update changes a provider. What was found out about its connection is forgotten
// when the change can make it untrue. It returns what another name was carried into; nil
// where callers address its models as before.
func (s Providers) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.ProviderPatch) (p tenant.Provider, moved *tenant.RouteChange, err error) {
	err = s.db.write(ctx, by, tenant.UpdateProvider, func(c *change) error {
		before, err := getProvider(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		shared := before.ConnectionID
		if patch.ConnectionID.Set {
			shared = patch.ConnectionID.Value
		}
		connection, err := connectionOf(ctx, c, shared)
		if err != nil {
			return err
		}
		next, credential, err := before.Update(patch, tenant.Held{Stored: before.CredentialID != nil, Connection: connection})
		if err != nil {
			return err
		}
		if err := s.refuseModels(ctx, c, id, before.ProviderConfig, next); err != nil {
			return err
		}
		reconnects := credential.Replace != nil || credential.Remove || next.BaseURL != before.BaseURL || next.AuthType != before.AuthType || !same(shared, before.ConnectionID)
		if err := updateProvider(ctx, c, id, next, shared, reconnects, patch.ChangeNote); err != nil {
			return err
		}
		if err := s.db.changeCredential(ctx, c, id, next.Host(), credential); err != nil {
			return err
		}
		if moved, err = carryAddress(ctx, c, id, before.ProviderConfig, next, patch.ChangeNote); err != nil {
			return err
		}
		c.changed(id, patch.ChangeNote)
		p, err = getProvider(ctx, c, id)
		return err
	})
	return p, moved, err
}

// refuseModels refuses a change for which no node could ask for a model that the provider
// has. What it could not be asked for before is no reason.
func (s Providers) refuseModels(ctx context.Context, c *change, id uuid.UUID, before, next tenant.ProviderConfig) error {
	models, err := collect(ctx, c, pgx.RowTo[string], `SELECT DISTINCT upstream_model FROM model_mappings WHERE provider_id = $1 ORDER BY upstream_model`, id)
	if err != nil {
		return err
	}
	for _, model := range models {
		if err := s.db.serves(served(next), model); err != nil && s.db.serves(served(before), model) == nil {
			return err
		}
	}
	return nil
}

func updateProvider(ctx context.Context, c *change, id uuid.UUID, p tenant.ProviderConfig, connection *uuid.UUID, reconnects bool, note *string) error {
	by := c.by.Actor()
	_, err := c.Exec(ctx, `
		UPDATE providers SET name = $2, address_name = $3, base_url = $4, auth_type = $5, settings = $6, enabled = $7,
			enforce_health_check = $8, request_timeout_secs = $9, stream_idle_timeout_secs = $10,
			health_status = CASE WHEN $11::boolean THEN 'unverified' ELSE health_status END,
			health_detail = CASE WHEN $11::boolean THEN '' ELSE health_detail END,
			health_checked_at = CASE WHEN $11::boolean THEN NULL ELSE health_checked_at END,
			probe_failures = CASE WHEN $11::boolean THEN 0 ELSE probe_failures END,
			probe_due_at = CASE WHEN $11::boolean THEN now() ELSE probe_due_at END,
			probe_from_version = CASE WHEN $11::boolean THEN $20::bigint ELSE probe_from_version END,
			updated_at = now(), last_modified_at = now(),
			last_modified_by_user_id = $12, last_modified_by_email = $13, last_modified_by_name = $14, last_change_note = $15,
			model_sync_mode = $16, billing_mode = $17, billing_reason = $18, billing_note = $19, connection_id = $21
		WHERE id = $1`,
		id, p.Name, p.AddressName(), p.BaseURL, p.AuthType, p.Settings, p.Enabled, p.EnforceHealthCheck,
		p.Timeouts.RequestSecs, p.Timeouts.StreamIdleSecs, reconnects, by.UserID, by.Email, by.Name, note,
		p.ModelSyncMode, p.Billing.Mode, p.Billing.Reason, p.Billing.Note, c.version, connection)
	return err
}

func same(a, b *uuid.UUID) bool { return a == b || a != nil && b != nil && *a == *b }

// Delete removes a provider, its mappings and its credential.
func (s Providers) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, tenant.DeleteProvider, func(c *change) error {
		before, err := getProvider(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		routes, err := collect(ctx, c, pgx.RowTo[string], `SELECT DISTINCT m.model_alias FROM model_mappings m`+ofRoute+` AND m.provider_id = $1`, id)
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM providers WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		return forgetDark(ctx, c, routes...)
	})
}

// Mappings returns every mapping of a provider.
func (s Providers) Mappings(ctx context.Context, by tenant.Principal, id uuid.UUID) (list []tenant.Mapping, err error) {
	err = s.db.read(ctx, by, tenant.ListProviderModelMappings, func(tx pgx.Tx) error {
		if _, err := getProvider(ctx, tx, id); err != nil {
			return err
		}
		list, err = collectMappings(ctx, tx, selectMapping+` WHERE m.provider_id = $1 ORDER BY m.id`, id)
		return err
	})
	return list, err
}

// NoteHealthReset remembers who ended a cooldown; the health itself is the data
// plane's. The provider must exist.
func (s Providers) NoteHealthReset(ctx context.Context, by tenant.Principal, id uuid.UUID, upstreamModel string) error {
	return s.db.write(ctx, by, tenant.ResetRouteHealth, func(c *change) error {
		if _, err := getProvider(ctx, c, id); err != nil {
			return err
		}
		c.changed(id, &upstreamModel)
		return nil
	})
}
