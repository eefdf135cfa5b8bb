package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Users are the people of an organization. Passwords come as hashes of package identity.
type Users struct{ db *DB }

// Users returns the people.
func (d *DB) Users() Users { return Users{d} }

const selectUser = `
	SELECT id, org_id, email, name, role, enabled, password_hash IS NOT NULL, last_sign_in_at,
	       ARRAY(SELECT g.name FROM groups g JOIN group_members m ON m.org_id = g.org_id AND m.group_id = g.id
	             WHERE m.org_id = users.org_id AND m.user_id = users.id ORDER BY g.name COLLATE "C"), ` + attribution + `
	FROM users`

func scanUser(row pgx.CollectableRow) (u tenant.User, err error) {
	err = row.Scan(attributed([]any{&u.ID, &u.OrganizationID, &u.Email, &u.Name, (*string)(&u.Role), &u.Enabled, &u.HasPassword, &u.LastSignInAt,
		&u.Groups}, &u.CreatedAt, &u.UpdatedAt, &u.Attribution, &u.Revision)...)
	return u, err
}

func getUser(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.User, error) {
	u, err := collectOne(ctx, tx, scanUser, selectUser+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, tenant.UserNotFound(id)
	}
	return u, err
}

// List returns every person.
func (s Users) List(ctx context.Context, by tenant.Principal) ([]tenant.User, error) {
	return listFor(ctx, s.db, by, tenant.ListUsers, scanUser, selectUser+` ORDER BY id`)
}

// Get returns one person.
func (s Users) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (tenant.User, error) {
	return getFor(ctx, s.db, by, tenant.GetUser, getUser, id)
}

// Self returns the caller.
func (s Users) Self(ctx context.Context, by tenant.Principal) (tenant.User, error) {
	return getFor(ctx, s.db, by, tenant.GetProfile, getUser, by.UserID)
}

// Create stores an account; hash is that of its password, or nil.
func (s Users) Create(ctx context.Context, by tenant.Principal, in tenant.UserPatch, hash *string) (u tenant.User, err error) {
	err = s.db.write(ctx, by, tenant.CreateUser, func(c *change) error {
		u, err = createUser(ctx, c, in, hash)
		return err
	})
	return u, err
}

// CreateByCommand is Create for the command line, like CreateOrganization.
func (s Users) CreateByCommand(ctx context.Context, org uuid.UUID, in tenant.UserPatch, hash *string) (u tenant.User, err error) {
	err = s.db.commit(ctx, tenant.Principal{OrganizationID: org}, tenant.CreateUser, commandLine, func(c *change) error {
		u, err = createUser(ctx, c, in, hash)
		return err
	})
	return u, err
}

func createUser(ctx context.Context, c *change, in tenant.UserPatch, hash *string) (tenant.User, error) {
	cfg, err := tenant.NewUser(in)
	if err != nil {
		return tenant.User{}, err
	}
	id := newID()
	if err := insertUser(ctx, c, id, cfg, hash, in.ChangeNote); err != nil {
		return tenant.User{}, err
	}
	c.changed(id, in.ChangeNote)
	return getUser(ctx, c, id)
}

func insertUser(ctx context.Context, c *change, id uuid.UUID, u tenant.UserConfig, hash, note *string) error {
	by := c.by.Actor()
	_, err := c.Exec(ctx, `
		INSERT INTO users (org_id, id, email, name, role, enabled, password_hash, password_changed_at,
			created_by_user_id, created_by_email, created_by_name, last_change_note)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7::text IS NOT NULL THEN now() END, $8, $9, $10, $11)`,
		c.by.OrganizationID, id, u.Email, u.Name, string(u.Role), u.Enabled, hash, by.UserID, by.Email, by.Name, note)
	return err
}

// Update changes an account; hash is that of the password that the patch brings, or nil.
// Its sessions end where a password changes or it is disabled.
func (s Users) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.UserPatch, hash *string) (u tenant.User, err error) {
	return s.update(ctx, by, tenant.UpdateUser, id, patch, hash)
}

// UpdateSelf changes what people change of their own account.
func (s Users) UpdateSelf(ctx context.Context, by tenant.Principal, name *string) (u tenant.User, err error) {
	return s.update(ctx, by, tenant.UpdateProfile, by.UserID, tenant.UserPatch{Name: name}, nil)
}

// ChangePassword replaces the caller's password and ends their other sessions.
func (s Users) ChangePassword(ctx context.Context, by tenant.Principal, hash string) error {
	_, err := s.update(ctx, by, tenant.ChangePassword, by.UserID, tenant.UserPatch{Password: tenant.Change[tenant.Secret]{Set: true}}, &hash)
	return err
}

func (s Users) update(ctx context.Context, by tenant.Principal, op tenant.Operation, id uuid.UUID, patch tenant.UserPatch, hash *string) (u tenant.User, err error) {
	err = s.db.write(ctx, by, op, func(c *change) error {
		before, err := getUser(ctx, c, id)
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
		if before.Administers() && !next.Administers() {
			if err := keepAnAdmin(ctx, c, id); err != nil {
				return err
			}
		}
		if err := updateUser(ctx, c, id, next, patch, hash); err != nil {
			return err
		}
		if patch.Password.Set || !next.Enabled {
			if _, err := endSessions(ctx, c, id, by.SessionID); err != nil {
				return err
			}
		}
		c.changed(id, patch.ChangeNote)
		u, err = getUser(ctx, c, id)
		return err
	})
	return u, err
}

func updateUser(ctx context.Context, c *change, id uuid.UUID, u tenant.UserConfig, patch tenant.UserPatch, hash *string) error {
	_, err := c.Exec(ctx, `
		UPDATE users SET `+modifiedBy+`, email = $7, name = $8, role = $9, enabled = $10,
			password_hash = CASE WHEN $11::boolean THEN $12::text ELSE password_hash END,
			password_changed_at = CASE WHEN $11::boolean THEN now() ELSE password_changed_at END
		WHERE org_id = $1 AND id = $2`, c.authored(id, patch.ChangeNote, u.Email, u.Name, string(u.Role), u.Enabled, patch.Password.Set, hash)...)
	return err
}

// keepAnAdmin refuses a change that takes the last administrator away. Changes of an
// organization wait for each other, so that two cannot each rely on the other's.
func keepAnAdmin(ctx context.Context, c *change, without uuid.UUID) error {
	var another bool
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM users WHERE role = $1 AND enabled AND id <> $2)`, string(tenant.RoleAdmin), without).Scan(&another)
	if err == nil && !another {
		return tenant.LastAdmin()
	}
	return err
}

// Delete removes an account with its sessions and its places in groups, and revokes its
// gateway keys.
func (s Users) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.db.write(ctx, by, tenant.DeleteUser, func(c *change) error {
		before, err := getUser(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		if before.Administers() {
			if err := keepAnAdmin(ctx, c, id); err != nil {
				return err
			}
		}
		_, err = c.Exec(ctx, `
			UPDATE api_keys SET revoked_at = now(), previous_hash = NULL, previous_valid_until = NULL WHERE user_id = $1 AND revoked_at IS NULL`, id)
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `DELETE FROM users WHERE id = $1`, id); err != nil {
			return err
		}
		c.changed(id, nil)
		return nil
	})
}
