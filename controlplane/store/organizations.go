package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// CreateOrganization creates an organization with an empty configuration. It is
// for the command line: no request reaches it.
func (d *DB) CreateOrganization(ctx context.Context, name string) (uuid.UUID, error) {
	if err := tenant.ValidateName("name", name); err != nil {
		return uuid.Nil, err
	}
	org := newID()
	err := d.transaction(ctx, pgx.TxOptions{}, ofOrg(org), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO organizations (org_id, name) VALUES ($1, $2)`, org, name); err != nil {
			return err
		}
		var version int64
		if err := tx.QueryRow(ctx, `INSERT INTO org_config (org_id) VALUES ($1) RETURNING version`, org).Scan(&version); err != nil {
			return err
		}
		event := auditEvent{version: version, operation: "createOrganization", resource: &org, actor: commandLine}
		if err := event.insert(ctx, tx, org); err != nil {
			return err
		}
		return announce(ctx, tx, org)
	})
	if err != nil {
		return uuid.Nil, err
	}
	return org, nil
}

// OrganizationByName finds an organization by its name, without regard to case. It
// is for the command line, like CreateOrganization.
func (d *DB) OrganizationByName(ctx context.Context, name string) (uuid.UUID, bool, error) {
	var org uuid.UUID
	err := d.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, setting{"app.org_name", name}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT org_id FROM organizations WHERE lower(name) = lower($1)`, name).Scan(&org)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, false, nil
	}
	return org, err == nil, err
}

// OrganizationName is the name of the caller's organization.
func (d *DB) OrganizationName(ctx context.Context, by tenant.Principal) (name string, err error) {
	err = d.read(ctx, by, tenant.GetSession, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT name FROM organizations WHERE org_id = $1`, by.OrganizationID).Scan(&name)
	})
	return name, err
}

// CreateServiceAccount creates a machine that may call the admin API, and returns
// its secret, which is stored only as a hash. It is for the command line, like
// CreateOrganization.
func (d *DB) CreateServiceAccount(ctx context.Context, org uuid.UUID, name string, role tenant.Role) (clientID, clientSecret string, err error) {
	if err := tenant.ValidateName("name", name); err != nil {
		return "", "", err
	}
	if !role.Valid() {
		return "", "", tenant.Invalid("role", "there is no role %q", role)
	}
	id := newID()
	clientID, clientSecret = "sa-"+randomText(10), randomText(32)
	hash := sha256.Sum256([]byte(clientSecret))
	err = d.transaction(ctx, pgx.TxOptions{}, ofOrg(org), func(tx pgx.Tx) error {
		var version int64
		if err := tx.QueryRow(ctx, `SELECT version FROM org_config WHERE org_id = $1`, org).Scan(&version); err != nil {
			return fmt.Errorf("organization %s: %w", org, err)
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO service_accounts (org_id, id, client_id, secret_hash, name, role) VALUES ($1, $2, $3, $4, $5, $6)`,
			org, id, clientID, hash[:], name, string(role))
		if err != nil {
			return err
		}
		return auditEvent{version: version, operation: "createServiceAccount", resource: &id, actor: commandLine}.insert(ctx, tx, org)
	})
	if err != nil {
		return "", "", err
	}
	return clientID, clientSecret, nil
}

func randomText(bytes int) string {
	raw := make([]byte, bytes)
	rand.Read(raw) // never fails since Go 1.24
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ServiceAccount finds the account that asks for a token; false: there is none.
func (d *DB) ServiceAccount(ctx context.Context, clientID string) (tenant.ServiceAccount, bool, error) {
	var a tenant.ServiceAccount
	var hash []byte
	err := d.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, setting{"app.client_id", clientID}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT org_id, id, name, role, secret_hash FROM service_accounts WHERE client_id = $1`, clientID).
			Scan(&a.OrganizationID, &a.ID, &a.Name, (*string)(&a.Role), &hash)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return tenant.ServiceAccount{}, false, nil
	}
	copy(a.SecretHash[:], hash)
	return a, err == nil, err
}

// ConfigVersion is an organization's configuration as it is stored, and published.
type ConfigVersion struct {
	Epoch     int64
	Version   int64 // the newest
	Published int64 // the last that was sent to the nodes
}

// ConfigVersion returns the version of the caller's configuration.
func (d *DB) ConfigVersion(ctx context.Context, by tenant.Principal) (v ConfigVersion, err error) {
	err = d.read(ctx, by, tenant.GetConfigStatus, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT epoch, version, published_version FROM org_config`).Scan(&v.Epoch, &v.Version, &v.Published)
	})
	return v, err
}
