package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// keyPrefixLen is how much of a key is kept to recognise it by.
const keyPrefixLen = 8

// APIKeys are the gateway keys of an organization.
type APIKeys struct{ db *DB }

// APIKeys returns the gateway keys.
func (d *DB) APIKeys() APIKeys { return APIKeys{d} }

const selectAPIKey = `
	SELECT id, org_id, name, kind, user_id, user_email, group_name, scopes, expires_at, key_prefix, created_at, revoked_at, disabled_at,
	       last_used_at, created_by_user_id, created_by_email, created_by_name, revision
	FROM api_keys`

func scanAPIKey(row pgx.CollectableRow) (k tenant.APIKey, err error) {
	err = row.Scan(&k.ID, &k.OrganizationID, &k.Name, &k.Kind, &k.UserID, &k.UserEmail, &k.GroupName, &k.Scopes, &k.ExpiresAt, &k.Prefix,
		&k.CreatedAt, &k.RevokedAt, &k.DisabledAt, &k.LastUsedAt, &k.CreatedBy.UserID, &k.CreatedBy.Email, &k.CreatedBy.Name, &k.Revision)
	return k, err
}

func getAPIKey(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.APIKey, error) {
	k, err := collectOne(ctx, tx, scanAPIKey, selectAPIKey+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return k, tenant.APIKeyNotFound(id)
	}
	return k, err
}

// List returns every key, revoked ones too.
func (s APIKeys) List(ctx context.Context, by tenant.Principal) (list []tenant.APIKey, err error) {
	err = s.db.read(ctx, by, tenant.ListAPIKeys, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scanAPIKey, selectAPIKey+` ORDER BY id`)
		return err
	})
	return list, err
}

// Get returns one key.
func (s APIKeys) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (k tenant.APIKey, err error) {
	err = s.db.read(ctx, by, tenant.GetAPIKey, func(tx pgx.Tx) error {
		k, err = getAPIKey(ctx, tx, id)
		return err
	})
	return k, err
}

// Create makes a key and returns its secret, which is stored only as a hash.
func (s APIKeys) Create(ctx context.Context, by tenant.Principal, in tenant.KeyCreate) (k tenant.APIKey, secret tenant.Secret, err error) {
	err = s.db.write(ctx, by, tenant.CreateAPIKey, func(c *change) error {
		cfg, err := in.New(time.Now())
		if err != nil {
			return err
		}
		id, text, actor := newID(), node.NewKey(), c.by.Actor()
		hash := node.HashKey(text)
		_, err = c.Exec(ctx, `
			INSERT INTO api_keys (org_id, id, hash, key_prefix, name, kind, user_id, user_email, group_name, scopes, expires_at,
				created_by_user_id, created_by_email, created_by_name)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			c.by.OrganizationID, id, hash[:], text[:keyPrefixLen], cfg.Name, cfg.Kind, cfg.UserID, cfg.UserEmail, cfg.GroupName, cfg.Scopes,
			cfg.ExpiresAt, actor.UserID, actor.Email, actor.Name)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		secret = tenant.NewSecret(text)
		k, err = getAPIKey(ctx, c, id)
		return err
	})
	return k, secret, err
}

// Update disables a key or enables it again. Disabling twice keeps the first time.
func (s APIKeys) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, in tenant.KeyUpdate) (k tenant.APIKey, err error) {
	err = s.db.write(ctx, by, tenant.UpdateAPIKey, func(c *change) error {
		if err := in.Validate(); err != nil {
			return err
		}
		before, err := getLiveKey(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `UPDATE api_keys SET disabled_at = CASE WHEN $2::boolean THEN coalesce(disabled_at, now()) END WHERE id = $1`, id, in.Disabled)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		k, err = getAPIKey(ctx, c, id)
		return err
	})
	return k, err
}

func getLiveKey(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.APIKey, error) {
	k, err := getAPIKey(ctx, tx, id)
	if err == nil && k.RevokedAt != nil {
		err = tenant.KeyRevoked()
	}
	return k, err
}

// Rotate replaces the secret of a key and returns the new one. The old one works
// on for the grace period; one from an earlier rotation ends at once.
func (s APIKeys) Rotate(ctx context.Context, by tenant.Principal, id uuid.UUID, in tenant.KeyRotate) (k tenant.APIKey, secret tenant.Secret, err error) {
	err = s.db.write(ctx, by, tenant.RotateAPIKey, func(c *change) error {
		if err := in.Validate(); err != nil {
			return err
		}
		if _, err := getLiveKey(ctx, c, id); err != nil {
			return err
		}
		text := node.NewKey()
		hash := node.HashKey(text)
		_, err := c.Exec(ctx, `
			UPDATE api_keys SET hash = $2, key_prefix = $3,
				previous_hash = CASE WHEN $4::int > 0 THEN hash END,
				previous_valid_until = CASE WHEN $4::int > 0 THEN now() + make_interval(secs => $4::int) END
			WHERE id = $1`, id, hash[:], text[:keyPrefixLen], in.GraceSecs)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		secret = tenant.NewSecret(text)
		k, err = getAPIKey(ctx, c, id)
		return err
	})
	return k, secret, err
}

// Revoke ends a key for good. Revoking twice keeps the first time.
func (s APIKeys) Revoke(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, tenant.RevokeAPIKey, func(c *change) error {
		before, err := getAPIKey(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()), previous_hash = NULL, previous_valid_until = NULL WHERE id = $1`, id)
		if err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}
