package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Snapshot reads everything a node needs to serve the organization, as of one
// moment.
func (d *DB) Snapshot(ctx context.Context, org uuid.UUID) (*node.Snapshot, error) {
	s := &node.Snapshot{Format: node.Format, OrganizationID: org}
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := d.transaction(ctx, opts, ofOrg(org), func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT epoch, version FROM org_config WHERE org_id = $1`, org).Scan(&s.Epoch, &s.Version)
		if err != nil {
			return err
		}
		if s.Providers, err = snapshotProviders(ctx, tx, all); err != nil {
			return err
		}
		if s.Mappings, err = snapshotMappings(ctx, tx, all); err != nil {
			return err
		}
		if err := snapshotAccess(ctx, tx, s, all); err != nil {
			return err
		}
		s.Keys, err = snapshotKeys(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("snapshot of organization %s: %w", org, err)
	}
	return s, nil
}

// part is a part of a table, as the end of a query.
type part struct {
	where string
	args  []any
}

// all is the whole table; only, the rows with the ids in a column.
var all part

func only(column string, ids []uuid.UUID) part {
	return part{` AND ` + column + ` = ANY ($1)`, []any{ids}}
}

func snapshotProviders(ctx context.Context, tx pgx.Tx, which part) ([]node.Provider, error) {
	seals, err := snapshotSeals(ctx, tx)
	if err != nil {
		return nil, err
	}
	stored, err := collect(ctx, tx, scanProvider, selectProvider+` WHERE true`+which.where+` ORDER BY p.id`, which.args...)
	if err != nil {
		return nil, err
	}
	list := make([]node.Provider, len(stored))
	for i, p := range stored {
		list[i] = node.Provider{ID: p.ID, Name: p.Name, Family: p.Family, BaseURL: p.BaseURL, AuthType: p.AuthType,
			Settings: json.RawMessage(p.Settings), Enabled: p.Enabled, Serving: p.Serving(),
			RequestTimeoutSecs: p.Timeouts.RequestSecs, StreamIdleTimeoutSecs: p.Timeouts.StreamIdleSecs}
		id := p.CredentialID
		if p.ConnectionID != nil {
			id = p.ConnectionID
		}
		if id == nil {
			continue
		}
		seal, ok := seals[*id]
		if !ok && p.ConnectionID != nil {
			continue // it stores no secret: the node's own identity is used
		}
		if !ok {
			return nil, errors.New("provider " + p.ID.String() + " names a credential that is not there")
		}
		list[i].Credential = &seal
	}
	return list, nil
}

func snapshotSeals(ctx context.Context, tx pgx.Tx) (map[uuid.UUID]node.Sealed, error) {
	rows, err := collect(ctx, tx, func(row pgx.CollectableRow) (s node.Sealed, err error) {
		err = row.Scan(&s.CredentialID, &s.Version, &s.Host, &s.KeyID, &s.Ciphertext)
		return s, err
	}, `SELECT id, version, host, key_id, ciphertext FROM provider_credentials
	    UNION ALL SELECT id, seal_version, host, key_id, ciphertext FROM connections WHERE ciphertext IS NOT NULL`)
	seals := make(map[uuid.UUID]node.Sealed, len(rows))
	for _, s := range rows {
		seals[s.CredentialID] = s
	}
	return seals, err
}

func snapshotMappings(ctx context.Context, tx pgx.Tx, which part) ([]node.Mapping, error) {
	return collect(ctx, tx, func(row pgx.CollectableRow) (m node.Mapping, err error) {
		var c node.Cooldown
		err = row.Scan(&m.ID, &m.ProviderID, &m.Alias, &m.UpstreamModel, &m.Enabled, &m.BareAlias, &m.Priority, &m.CreatedAt,
			&m.RetryOn429Count, &m.RetryOn429MaxWaitSecs, &m.RequestTimeoutSecs, &m.StreamIdleTimeoutSecs, &m.EmbeddingsFailover,
			&c.FailureThreshold, &c.WindowSecs, &c.FirstSecs, &c.MaxSecs, &c.RateLimitedSecs, &c.OverloadedSecs)
		if c != node.DefaultCooldown() {
			m.Cooldown = &c
		}
		if m.EmbeddingsFailover == node.EmbeddingsSameModel {
			m.EmbeddingsFailover = ""
		}
		m.CreatedAt = m.CreatedAt.UTC()
		return m, err
	}, `SELECT id, provider_id, model_alias, upstream_model, enabled, bare_alias, priority, created_at,
	           retry_on_429_count, retry_on_429_max_wait_secs, request_timeout_secs, stream_idle_timeout_secs, embeddings_failover,
	           cooldown_failure_threshold, cooldown_window_secs, cooldown_first_secs, cooldown_max_secs,
	           cooldown_rate_limited_secs, cooldown_overloaded_secs
	    FROM model_mappings WHERE true`+which.where+` ORDER BY id`, which.args...)
}

// storedKey is a key with the hashes that open it.
type storedKey struct {
	tenant.APIKey
	hash, previousHash []byte
	previousValidUntil *time.Time
	userDisabled       bool
	groups             []string
}

func snapshotKeys(ctx context.Context, tx pgx.Tx) ([]node.Key, error) {
	stored, err := collect(ctx, tx, func(row pgx.CollectableRow) (k storedKey, err error) {
		err = row.Scan(&k.ID, &k.Name, &k.Kind, &k.UserID, &k.GroupName, &k.DisabledAt, &k.ExpiresAt,
			&k.hash, &k.previousHash, &k.previousValidUntil, &k.userDisabled, &k.groups)
		return k, err
	}, `SELECT k.id, k.name, k.kind, k.user_id, k.group_name, k.disabled_at, k.expires_at,
	           k.hash, CASE WHEN k.previous_valid_until > now() THEN k.previous_hash END, k.previous_valid_until,
	           NOT coalesce(u.enabled, true), -- a user who has no account here is another system's to disable
	           CASE WHEN k.group_name IS NOT NULL THEN ARRAY[k.group_name]
	                ELSE ARRAY(SELECT g.name FROM group_members m JOIN groups g ON g.org_id = m.org_id AND g.id = m.group_id
	                           WHERE m.org_id = k.org_id AND m.user_id = k.user_id ORDER BY g.name COLLATE "C") END
	    FROM api_keys k LEFT JOIN users u ON u.org_id = k.org_id AND u.id = k.user_id
	    WHERE k.revoked_at IS NULL ORDER BY k.id`)
	if err != nil {
		return nil, err
	}
	list := make([]node.Key, 0, len(stored))
	for _, k := range stored {
		list = append(list, k.entry(k.hash, k.ExpiresAt))
		if k.previousHash != nil {
			list = append(list, k.entry(k.previousHash, earlier(k.ExpiresAt, *k.previousValidUntil)))
		}
	}
	return list, nil
}

func (k storedKey) entry(hash []byte, expires *time.Time) node.Key {
	e := node.Key{ID: k.ID, Hash: node.Hash(hash), Name: k.Name, Kind: k.Kind, UserID: k.UserID, Disabled: k.DisabledAt != nil || k.userDisabled}
	if len(k.groups) > 0 {
		e.Groups = k.groups
	}
	if k.GroupName != nil {
		e.GroupName, e.Groups = *k.GroupName, []string{*k.GroupName}
	}
	if expires != nil {
		utc := expires.UTC()
		e.ExpiresAt = &utc
	}
	return e
}

// earlier returns the end of a rotated secret: its grace period's, or the key's own.
func earlier(expires *time.Time, grace time.Time) *time.Time {
	if expires != nil && expires.Before(grace) {
		return expires
	}
	return &grace
}
