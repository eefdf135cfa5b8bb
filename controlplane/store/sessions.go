package store

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Sessions are the browsers that people are signed in with. What happens to them is no
// change of an organization's configuration.
type Sessions struct{ db *DB }

// Sessions returns the sessions.
func (d *DB) Sessions() Sessions { return Sessions{d} }

// Account is what signing in needs to know of a person.
type Account struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	PasswordHash   string
}

// Accounts are those that an address can be signed in to with a password, of all
// organizations: whoever signs in is not within one yet.
func (s Sessions) Accounts(ctx context.Context, email string) (list []Account, err error) {
	err = s.db.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, setting{"app.sign_in", email}, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, pgx.RowToStructByPos[Account], `
			SELECT org_id, id, password_hash FROM users WHERE lower(email) = lower($1) AND enabled AND password_hash IS NOT NULL ORDER BY org_id LIMIT 100`, email)
		return err
	})
	return list, err
}

// PasswordHash is the caller's own, or empty.
func (s Sessions) PasswordHash(ctx context.Context, by tenant.Principal) (hash string, err error) {
	err = s.db.read(ctx, by, tenant.ChangePassword, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT coalesce(password_hash, '') FROM users WHERE id = $1`, by.UserID).Scan(&hash)
	})
	return hash, err
}

// Begin stores a session of an account and forgets those of it that have ended. rehashed
// replaces the hash of the password that was just checked, unless it is empty or the
// password was changed meanwhile. ErrNoSession: the account is gone, disabled or changed.
func (s Sessions) Begin(ctx context.Context, a Account, tokenHash [32]byte, client, rehashed string) (out tenant.Session, u tenant.User, err error) {
	err = s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(a.OrganizationID), func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE users SET last_sign_in_at = now(), password_hash = CASE WHEN $3::text <> '' THEN $3::text ELSE password_hash END
			WHERE id = $1 AND enabled AND password_hash = $2`, a.UserID, a.PasswordHash, rehashed)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrNoSession
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND (expires_at <= now() OR last_seen_at <= now() - $2::interval)`,
			a.UserID, tenant.SessionIdle)
		if err != nil {
			return err
		}
		id := newID()
		_, err = tx.Exec(ctx, `INSERT INTO sessions (org_id, id, user_id, token_hash, client, expires_at) VALUES ($1, $2, $3, $4, $5, now() + $6::interval)`,
			a.OrganizationID, id, a.UserID, tokenHash[:], client, tenant.SessionLife)
		if err != nil {
			return err
		}
		if out, err = collectOne(ctx, tx, scanSession, selectSession+` WHERE id = $1`, id); err != nil {
			return err
		}
		u, err = getUser(ctx, tx, a.UserID)
		return err
	})
	return out, u, err
}

// ErrNoSession is a token of no session that goes on, of an account that is enabled.
var ErrNoSession = errors.New("no such session")

// Resume finds the session of a token and notes that it is in use, to the minute.
func (s Sessions) Resume(ctx context.Context, tokenHash [32]byte) (out tenant.Session, u tenant.User, err error) {
	var org uuid.UUID
	opens := setting{"app.session", hex.EncodeToString(tokenHash[:])}
	err = s.db.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, opens, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT org_id FROM sessions WHERE token_hash = $1`, tokenHash[:]).Scan(&org)
	})
	if err == nil {
		err = s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(org), func(tx pgx.Tx) error {
			if out, err = collectOne(ctx, tx, scanSession, selectSession+` WHERE token_hash = $1 AND `+goesOn, tokenHash[:], tenant.SessionIdle); err != nil {
				return err
			}
			if u, err = getUser(ctx, tx, out.UserID); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE sessions SET last_seen_at = now() WHERE id = $1 AND last_seen_at < now() - interval '1 minute'`, out.ID)
			return err
		})
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !u.Enabled {
		err = ErrNoSession
	}
	return out, u, err
}

const selectSession = `SELECT id, user_id, client, created_at, last_seen_at, expires_at FROM sessions`

// goesOn is true of a session that has not ended; $2 is tenant.SessionIdle.
const goesOn = `expires_at > now() AND last_seen_at > now() - $2::interval`

func scanSession(row pgx.CollectableRow) (s tenant.Session, err error) {
	err = row.Scan(&s.ID, &s.UserID, &s.Client, &s.CreatedAt, &s.LastSeenAt, &s.ExpiresAt)
	return s, err
}

// Of lists the sessions of a person.
func (s Sessions) Of(ctx context.Context, by tenant.Principal, user uuid.UUID) ([]tenant.Session, error) {
	return s.list(ctx, by, tenant.ListUserSessions, user)
}

// Own lists the caller's sessions.
func (s Sessions) Own(ctx context.Context, by tenant.Principal) ([]tenant.Session, error) {
	return s.list(ctx, by, tenant.ListOwnSessions, by.UserID)
}

func (s Sessions) list(ctx context.Context, by tenant.Principal, op tenant.Operation, user uuid.UUID) (list []tenant.Session, err error) {
	err = s.db.read(ctx, by, op, func(tx pgx.Tx) error {
		if _, err := getUser(ctx, tx, user); err != nil {
			return err
		}
		list, err = collect(ctx, tx, scanSession, selectSession+` WHERE user_id = $1 AND `+goesOn+` ORDER BY id`, user, tenant.SessionIdle)
		return err
	})
	return list, err
}

// EndOf ends every session of a person and returns how many that were.
func (s Sessions) EndOf(ctx context.Context, by tenant.Principal, user uuid.UUID) (ended int64, err error) {
	err = s.end(ctx, by, tenant.EndUserSessions, func(tx pgx.Tx) error {
		if _, err := getUser(ctx, tx, user); err != nil {
			return err
		}
		ended, err = endSessions(ctx, tx, user, uuid.Nil)
		return err
	})
	return ended, err
}

// EndOwn ends a session of the caller's.
func (s Sessions) EndOwn(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.end(ctx, by, tenant.EndOwnSession, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM sessions WHERE id = $1 AND user_id = $2`, id, by.UserID)
		if err == nil && tag.RowsAffected() == 0 {
			return tenant.SessionNotFound(id)
		}
		return err
	})
}

// SignOut ends the session that the caller came by.
func (s Sessions) SignOut(ctx context.Context, by tenant.Principal) error {
	return s.end(ctx, by, tenant.Logout, func(tx pgx.Tx) error {
		if by.SessionID == uuid.Nil {
			return tenant.NoSession()
		}
		_, err := tx.Exec(ctx, `DELETE FROM sessions WHERE id = $1`, by.SessionID)
		return err
	})
}

// end runs work for a principal that may perform op. Nothing of the configuration
// changes, so no version is raised.
func (s Sessions) end(ctx context.Context, by tenant.Principal, op tenant.Operation, work func(pgx.Tx) error) error {
	if err := by.Permit(op); err != nil {
		return err
	}
	return s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(by.OrganizationID), work)
}

// endSessions ends the sessions of a person but one.
func endSessions(ctx context.Context, tx pgx.Tx, user, but uuid.UUID) (int64, error) {
	tag, err := tx.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND id <> $2`, user, but)
	return tag.RowsAffected(), err
}
