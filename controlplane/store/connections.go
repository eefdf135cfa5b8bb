package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Connections are the shared credentials of an organization.
type Connections struct{ db *DB }

// Connections returns the shared credentials.
func (d *DB) Connections() Connections { return Connections{d} }

const selectConnection = `
	SELECT id, org_id, name, model_provider, base_url, auth_type, settings, key_last4, ciphertext IS NOT NULL, ` + attribution + `
	FROM connections`

func scanConnection(row pgx.CollectableRow) (c tenant.Connection, err error) {
	err = row.Scan(attributed([]any{&c.ID, &c.OrganizationID, &c.Name, &c.Family, &c.BaseURL, &c.AuthType, &c.Settings, &c.KeyLast4, &c.Stored},
		&c.CreatedAt, &c.UpdatedAt, &c.Attribution, &c.Revision)...)
	return c, err
}

func getConnection(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.Connection, error) {
	c, err := collectOne(ctx, tx, scanConnection, selectConnection+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, tenant.ConnectionNotFound(id)
	}
	return c, err
}

// connectionOf is the connection that a provider names, or nil where it names none.
func connectionOf(ctx context.Context, tx pgx.Tx, id *uuid.UUID) (*tenant.Connection, error) {
	if id == nil {
		return nil, nil
	}
	c, err := getConnection(ctx, tx, *id)
	if isNotFound(err) {
		return nil, tenant.UnknownConnection(*id)
	}
	return &c, err
}

// List returns every connection.
func (s Connections) List(ctx context.Context, by tenant.Principal) ([]tenant.Connection, error) {
	return listFor(ctx, s.db, by, tenant.ListConnections, scanConnection, selectConnection+` ORDER BY id`)
}

// Get returns one connection.
func (s Connections) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (tenant.Connection, error) {
	return getFor(ctx, s.db, by, tenant.GetConnection, getConnection, id)
}

// Create stores a connection and its sealed secret.
func (s Connections) Create(ctx context.Context, by tenant.Principal, in tenant.ConnectionCreate) (out tenant.Connection, err error) {
	err = s.db.write(ctx, by, tenant.CreateConnection, func(c *change) error {
		cfg, credential, err := in.New()
		if err != nil {
			return err
		}
		id, actor := newID(), c.by.Actor()
		_, err = c.Exec(ctx, `
			INSERT INTO connections (org_id, id, name, model_provider, base_url, auth_type, settings, seal_version,
				created_by_user_id, created_by_email, created_by_name, last_change_note)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, $11)`,
			c.by.OrganizationID, id, cfg.Name, cfg.Family, cfg.BaseURL, cfg.AuthType, cfg.Settings, actor.UserID, actor.Email, actor.Name, in.ChangeNote)
		if err != nil {
			return err
		}
		if err := s.changeSecret(ctx, c, id, cfg.Host(), credential); err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		out, err = getConnection(ctx, c, id)
		return err
	})
	return out, err
}

// Update changes a connection. A new secret reaches every provider that uses it, and what
// was found out about their connections is forgotten.
func (s Connections) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.ConnectionPatch) (out tenant.Connection, err error) {
	err = s.db.write(ctx, by, tenant.UpdateConnection, func(c *change) error {
		before, users, err := used(ctx, c, id)
		if err != nil {
			return err
		}
		next, credential, err := before.Update(patch, before.Stored, users)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `UPDATE connections SET `+modifiedBy+`, name = $7, base_url = $8, auth_type = $9, settings = $10 WHERE org_id = $1 AND id = $2`,
			c.authored(id, patch.ChangeNote, next.Name, next.BaseURL, next.AuthType, next.Settings)...)
		if err != nil {
			return err
		}
		if err := s.changeSecret(ctx, c, id, next.Host(), credential); err != nil {
			return err
		}
		if credential.Replace != nil || credential.Remove {
			if err := forgetHealth(ctx, c, id); err != nil {
				return err
			}
		}
		c.changed(id, patch.ChangeNote)
		out, err = getConnection(ctx, c, id)
		return err
	})
	return out, err
}

// used is a connection that is to be changed, and how many providers use it.
func used(ctx context.Context, c *change, id uuid.UUID) (before tenant.Connection, users int, err error) {
	if before, err = getConnection(ctx, c, id); err != nil {
		return before, 0, err
	}
	if err := c.matches(before.Revision); err != nil {
		return before, 0, err
	}
	err = c.QueryRow(ctx, `SELECT count(*) FROM providers WHERE connection_id = $1`, id).Scan(&users)
	return before, users, err
}

// forgetHealth has the providers of a connection checked anew.
func forgetHealth(ctx context.Context, c *change, connection uuid.UUID) error {
	_, err := c.Exec(ctx, `
		UPDATE providers SET health_status = $2, health_detail = '', health_checked_at = NULL, probe_failures = 0, probe_due_at = now(), probe_from_version = $3
		WHERE connection_id = $1`, connection, tenant.HealthUnverified, c.version)
	return err
}

// changeSecret seals and stores a new secret, or removes the stored one.
func (s Connections) changeSecret(ctx context.Context, c *change, id uuid.UUID, host string, to tenant.CredentialChange) error {
	switch {
	case to.Remove:
		_, err := c.Exec(ctx, `UPDATE connections SET host = NULL, key_id = NULL, ciphertext = NULL, key_last4 = NULL WHERE id = $1`, id)
		return err
	case to.Replace == nil:
		return nil
	}
	seal := node.Sealed{CredentialID: id, Host: host}
	if err := c.QueryRow(ctx, `SELECT seal_version + 1 FROM connections WHERE id = $1`, id).Scan(&seal.Version); err != nil {
		return err
	}
	seal, err := s.db.seal(c.by.OrganizationID, seal, to.Replace)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `UPDATE connections SET seal_version = $2, host = $3, key_id = $4, ciphertext = $5, key_last4 = $6 WHERE id = $1`,
		id, seal.Version, seal.Host, seal.KeyID, seal.Ciphertext, tenant.Last4(to.Replace.APIKey))
	return err
}

// Delete removes a connection that no provider uses.
func (s Connections) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, tenant.DeleteConnection, func(c *change) error {
		_, users, err := used(ctx, c, id)
		if err != nil {
			return err
		}
		if users > 0 {
			return tenant.ConnectionInUse(users, "detach them first")
		}
		if _, err := c.Exec(ctx, `DELETE FROM connections WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}
