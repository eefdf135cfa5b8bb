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

// APIKeys are the gateway keys of an organization, or the caller's own of them.
type APIKeys struct {
	db  *DB
	ops keyOperations
	own bool // the rest is not there
}

// keyOperations are what permits each method.
type keyOperations struct{ list, create, get, update, revoke, rotate tenant.Operation }

// APIKeys returns the gateway keys.
func (d *DB) APIKeys() APIKeys {
	return APIKeys{db: d, ops: keyOperations{tenant.ListAPIKeys, tenant.CreateAPIKey, tenant.GetAPIKey, tenant.UpdateAPIKey, tenant.RevokeAPIKey, tenant.RotateAPIKey}}
}

// OwnAPIKeys returns the keys of whoever calls.
func (d *DB) OwnAPIKeys() APIKeys {
	return APIKeys{db: d, own: true, ops: keyOperations{tenant.ListOwnAPIKeys, tenant.CreateOwnAPIKey, tenant.GetOwnAPIKey, tenant.UpdateOwnAPIKey,
		tenant.RevokeOwnAPIKey, tenant.RotateOwnAPIKey}}
}

// owner is whose keys there are; nil: everybody's.
func (s APIKeys) owner(by tenant.Principal) *uuid.UUID {
	if !s.own {
		return nil
	}
	return &by.UserID
}

const selectAPIKey = `
	SELECT id, org_id, name, kind, user_id, user_email, group_name, scopes, expires_at, key_prefix, created_at, revoked_at, disabled_at,
	       last_used_at, created_by_user_id, created_by_email, created_by_name, last_modified_by_user_id, last_modified_by_email,
	       last_modified_by_name, last_modified_at, last_change_note, revision, disabled_by
	FROM api_keys`

func scanAPIKey(row pgx.CollectableRow) (k tenant.APIKey, err error) {
	mod := &k.ModifiedBy
	err = row.Scan(&k.ID, &k.OrganizationID, &k.Name, &k.Kind, &k.UserID, &k.UserEmail, &k.GroupName, &k.Scopes, &k.ExpiresAt, &k.Prefix,
		&k.CreatedAt, &k.RevokedAt, &k.DisabledAt, &k.LastUsedAt, &k.CreatedBy.UserID, &k.CreatedBy.Email, &k.CreatedBy.Name,
		&mod.UserID, &mod.Email, &mod.Name, &k.ModifiedAt, &k.ChangeNote, &k.Revision, &k.DisabledBy)
	return k, err
}

func (s APIKeys) get(ctx context.Context, tx pgx.Tx, by tenant.Principal, id uuid.UUID) (tenant.APIKey, error) {
	k, err := collectOne(ctx, tx, scanAPIKey, selectAPIKey+` WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2)`, id, s.owner(by))
	if errors.Is(err, pgx.ErrNoRows) {
		return k, tenant.APIKeyNotFound(id)
	}
	return k, err
}

// List returns every key, revoked ones too.
func (s APIKeys) List(ctx context.Context, by tenant.Principal) (list []tenant.APIKey, err error) {
	err = s.db.read(ctx, by, s.ops.list, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, scanAPIKey, selectAPIKey+` WHERE $1::uuid IS NULL OR user_id = $1 ORDER BY id`, s.owner(by))
		return err
	})
	return list, err
}

// Get returns one key.
func (s APIKeys) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (k tenant.APIKey, err error) {
	err = s.db.read(ctx, by, s.ops.get, func(tx pgx.Tx) error {
		k, err = s.get(ctx, tx, by, id)
		return err
	})
	return k, err
}

// Create makes a key and returns its secret, which is stored only as a hash.
func (s APIKeys) Create(ctx context.Context, by tenant.Principal, in tenant.KeyCreate) (k tenant.APIKey, secret tenant.Secret, err error) {
	err = s.db.write(ctx, by, s.ops.create, func(c *change) error {
		if s.own {
			in.UserID, in.UserEmail, in.GroupName = &by.UserID, &by.Email, nil
		}
		cfg, err := in.New(time.Now())
		if err != nil {
			return err
		}
		id, text, actor := newID(), node.NewKey(), c.by.Actor()
		hash := node.HashKey(text)
		_, err = c.Exec(ctx, `
			INSERT INTO api_keys (org_id, id, hash, key_prefix, name, kind, user_id, user_email, group_name, scopes, expires_at,
				created_by_user_id, created_by_email, created_by_name, last_change_note)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			c.by.OrganizationID, id, hash[:], text[:keyPrefixLen], cfg.Name, cfg.Kind, cfg.UserID, cfg.UserEmail, cfg.GroupName, cfg.Scopes,
			cfg.ExpiresAt, actor.UserID, actor.Email, actor.Name, in.ChangeNote)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		secret = tenant.NewSecret(text)
		k, err = s.get(ctx, c, by, id)
		return err
	})
	return k, secret, err
}

// Update disables a key or enables it again. Disabling twice keeps the first time.
func (s APIKeys) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, in tenant.KeyUpdate) (k tenant.APIKey, err error) {
	err = s.db.write(ctx, by, s.ops.update, func(c *change) error {
		if err := in.Validate(); err != nil {
			return err
		}
		before, err := s.getLive(ctx, c, by, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		if s.own && !in.Disabled && !before.EnabledBy(by.UserID) {
			return tenant.DisabledByAdmin()
		}
		_, err = c.Exec(ctx, `
			UPDATE api_keys SET `+lastModifiedBy+`, disabled_at = CASE WHEN $7::boolean THEN coalesce(disabled_at, now()) END,
				disabled_by = CASE WHEN $7::boolean THEN CASE WHEN disabled_at IS NULL OR NOT $9::boolean THEN $8::uuid ELSE disabled_by END END
			WHERE org_id = $1 AND id = $2`, c.authored(id, in.ChangeNote, in.Disabled, by.Subject(), s.own)...)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		k, err = s.get(ctx, c, by, id)
		return err
	})
	return k, err
}

func (s APIKeys) getLive(ctx context.Context, tx pgx.Tx, by tenant.Principal, id uuid.UUID) (tenant.APIKey, error) {
	k, err := s.get(ctx, tx, by, id)
	if err == nil && k.RevokedAt != nil {
		err = tenant.KeyRevoked()
	}
	return k, err
}

// Rotate replaces the secret of a key and returns the new one. The old one works
// on for the grace period; one from an earlier rotation ends at once.
func (s APIKeys) Rotate(ctx context.Context, by tenant.Principal, id uuid.UUID, in tenant.KeyRotate) (k tenant.APIKey, secret tenant.Secret, err error) {
	err = s.db.write(ctx, by, s.ops.rotate, func(c *change) error {
		if err := in.Validate(); err != nil {
			return err
		}
		if _, err := s.getLive(ctx, c, by, id); err != nil {
			return err
		}
		text := node.NewKey()
		hash := node.HashKey(text)
		_, err := c.Exec(ctx, `
			UPDATE api_keys SET `+lastModifiedBy+`, hash = $7, key_prefix = $8,
				previous_hash = CASE WHEN $9::int > 0 THEN hash END,
				previous_valid_until = CASE WHEN $9::int > 0 THEN now() + make_interval(secs => $9::int) END
			WHERE org_id = $1 AND id = $2`, c.authored(id, in.ChangeNote, hash[:], text[:keyPrefixLen], in.GraceSecs)...)
		if err != nil {
			return err
		}
		c.changed(id, in.ChangeNote)
		secret = tenant.NewSecret(text)
		k, err = s.get(ctx, c, by, id)
		return err
	})
	return k, secret, err
}

// Revoke ends a key for good. Revoking twice keeps the first time.
func (s APIKeys) Revoke(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, s.ops.revoke, func(c *change) error {
		before, err := s.get(ctx, c, by, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `
			UPDATE api_keys SET `+lastModifiedBy+`, revoked_at = coalesce(revoked_at, now()), previous_hash = NULL, previous_valid_until = NULL
			WHERE org_id = $1 AND id = $2`, c.authored(id, nil)...)
		if err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}
