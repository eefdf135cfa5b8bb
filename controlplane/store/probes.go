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

// probeLease is how long a check that was claimed is nobody else's. It is longer than a
// check takes; where whoever claimed it is gone, somebody else makes it after that.
const (
	probeLease = time.Minute
	probeAgain = 10 * time.Second
)

// Probes are the checks of providers' connections, of all organizations: they are the
// installation's own work and no principal's.
type Probes struct{ db *DB }

// Probes returns the checks.
func (d *DB) Probes() Probes { return Probes{d} }

// ProbeTarget is a provider to check.
type ProbeTarget struct {
	OrganizationID uuid.UUID
	ProviderID     uuid.UUID
}

// Due returns checks that are due, the longest first, at most limit.
func (s Probes) Due(ctx context.Context, limit int) (list []ProbeTarget, err error) {
	err = s.db.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, setting{"app.prober", "on"}, func(tx pgx.Tx) error {
		list, err = collect(ctx, tx, pgx.RowToStructByPos[ProbeTarget], `
			SELECT org_id, id FROM providers WHERE enabled AND probe_due_at <= now() AND auth_type <> ALL ($1) ORDER BY probe_due_at LIMIT $2`,
			tenant.NeverProbedAuth(), limit)
		return err
	})
	return list, err
}

// Claim takes a check that is due and returns what to ask a node; false: somebody else has
// it, or it is not due any more.
func (s Probes) Claim(ctx context.Context, t ProbeTarget) (ask node.ProbeAsk, claimed bool, err error) {
	ask = node.ProbeAsk{OrganizationID: t.OrganizationID, ProviderID: t.ProviderID}
	err = s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(t.OrganizationID), func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			UPDATE providers SET probe_due_at = now() + $2::interval
			WHERE id = (SELECT id FROM providers WHERE id = $1 AND enabled AND probe_due_at <= now() FOR UPDATE SKIP LOCKED)
			RETURNING probe_from_version`, t.ProviderID, probeLease).Scan(&ask.Version)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return ask, false, nil
	}
	return ask, err == nil, err
}

// Release gives a check back that was claimed and could not be made. It is due again soon,
// not at once: nobody may be there to make it.
func (s Probes) Release(ctx context.Context, t ProbeTarget) error {
	return s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(t.OrganizationID), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE providers SET probe_due_at = now() + $2::interval WHERE id = $1 AND probe_due_at > now()`, t.ProviderID, probeAgain)
		return err
	})
}

// Ask returns what to ask a node for a check now, which an administrator wants.
func (s Probes) Ask(ctx context.Context, by tenant.Principal, provider uuid.UUID) (ask node.ProbeAsk, err error) {
	ask = node.ProbeAsk{OrganizationID: by.OrganizationID, ProviderID: provider}
	err = s.db.read(ctx, by, tenant.ProbeProvider, func(tx pgx.Tx) error {
		p, err := getProvider(ctx, tx, provider)
		if err != nil {
			return err
		}
		if !tenant.Probed(p.AuthType) {
			return tenant.NeverProbed()
		}
		return tx.QueryRow(ctx, `SELECT probe_from_version FROM providers WHERE id = $1`, provider).Scan(&ask.Version)
	})
	return ask, err
}

// Trial returns what to ask a node to check a provider that is not stored. Its credential is
// sealed like one that is, and stored nowhere.
func (s Probes) Trial(ctx context.Context, by tenant.Principal, op tenant.Operation, in tenant.ProviderCreate) (ask node.ProbeAsk, err error) {
	ask = node.ProbeAsk{OrganizationID: by.OrganizationID}
	err = s.db.read(ctx, by, op, func(tx pgx.Tx) error {
		connection, err := connectionOf(ctx, tx, in.ConnectionID.Value)
		if err != nil {
			return err
		}
		cfg, credential, err := in.New(connection)
		if err != nil {
			return err
		}
		if !tenant.Probed(cfg.AuthType) {
			return tenant.NeverProbed()
		}
		p := served(cfg)
		p.ID, p.Name = newID(), cfg.Name
		switch {
		case connection != nil:
			seals, err := snapshotSeals(ctx, tx)
			if err != nil {
				return err
			}
			if seal, stored := seals[connection.ID]; stored {
				p.Credential = &seal
			}
		case credential.Replace != nil:
			seal, err := s.db.seal(by.OrganizationID, node.Sealed{CredentialID: newID(), Version: 1, Host: cfg.Host()}, credential.Replace)
			if err != nil {
				return err
			}
			p.Credential = &seal
		}
		ask.Provider = p
		return nil
	})
	return ask, err
}

// Note keeps what a check found and says when the next one is due. It is no change of the
// provider: its revision stays. The organization's version is raised where the provider
// begins or ends to serve by it, so that the nodes learn of it. A check of a connection
// that was changed meanwhile is not kept. The provider may be gone: that is no error.
func (s Probes) Note(ctx context.Context, t ProbeTarget, r node.ProbeReport) (h tenant.Health, err error) {
	err = s.db.transaction(ctx, pgx.TxOptions{}, ofOrg(t.OrganizationID), func(tx pgx.Tx) error {
		h, err = note(ctx, tx, t, r)
		return err
	})
	if isNotFound(err) {
		err = nil
	}
	return h, err
}

func note(ctx context.Context, tx pgx.Tx, t ProbeTarget, r node.ProbeReport) (tenant.Health, error) {
	// Locked first, as every change does: two of them must not wait for each other.
	var at time.Time
	if err := tx.QueryRow(ctx, `SELECT now() FROM org_config WHERE org_id = $1 FOR UPDATE`, t.OrganizationID).Scan(&at); err != nil {
		return tenant.Health{}, err
	}
	before, err := getProvider(ctx, tx, t.ProviderID)
	if err != nil {
		return tenant.Health{}, err
	}
	var since int64
	if err := tx.QueryRow(ctx, `SELECT probe_from_version FROM providers WHERE id = $1`, t.ProviderID).Scan(&since); err != nil {
		return tenant.Health{}, err
	}
	if r.Version < since {
		return before.Health, nil
	}
	after := before
	var wait time.Duration
	after.Health, wait = before.Health.After(r, at)
	h := after.Health
	// Checks that fell due together, as after an update of the installation, drift apart.
	_, err = tx.Exec(ctx, `
		UPDATE providers SET health_status = $2, health_detail = $3, health_checked_at = $4, probe_failures = $5,
			probe_due_at = now() + $6::interval * (0.9 + 0.1 * random())
		WHERE id = $1`, t.ProviderID, h.Status, h.Detail, h.CheckedAt, h.Failures, wait)
	if err != nil || after.Serving() == before.Serving() {
		return h, err
	}
	if _, err := tx.Exec(ctx, `UPDATE org_config SET version = version + 1 WHERE org_id = $1`, t.OrganizationID); err != nil {
		return h, err
	}
	return h, announce(ctx, tx, t.OrganizationID)
}

func isNotFound(err error) bool {
	var e *tenant.Error
	return errors.As(err, &e) && e.Kind == tenant.KindNotFound
}
