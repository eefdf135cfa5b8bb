package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// changeCredential seals and stores a provider's new secret, or removes the stored
// one. A replacement keeps the id and raises the version.
func (d *DB) changeCredential(ctx context.Context, c *change, provider uuid.UUID, host string, to tenant.CredentialChange) error {
	switch {
	case to.Remove:
		_, err := c.Exec(ctx, `DELETE FROM provider_credentials WHERE provider_id = $1`, provider)
		return err
	case to.Replace == nil:
		return nil
	}
	seal := node.Sealed{CredentialID: newID(), Version: 1, Host: host}
	err := c.QueryRow(ctx, `SELECT id, version + 1 FROM provider_credentials WHERE provider_id = $1`, provider).
		Scan(&seal.CredentialID, &seal.Version)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if seal, err = d.seal(c.by.OrganizationID, seal, to.Replace); err != nil {
		return err
	}
	_, err = c.Exec(ctx, `
		INSERT INTO provider_credentials (org_id, id, provider_id, version, host, key_id, ciphertext) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (org_id, provider_id) DO UPDATE SET version = EXCLUDED.version, host = EXCLUDED.host, key_id = EXCLUDED.key_id,
			ciphertext = EXCLUDED.ciphertext, updated_at = now()`,
		c.by.OrganizationID, seal.CredentialID, provider, seal.Version, seal.Host, seal.KeyID, seal.Ciphertext)
	return err
}

// seal closes a secret to the data plane, for what the seal names and for nothing else.
func (d *DB) seal(org uuid.UUID, s node.Sealed, credential *node.Credential) (node.Sealed, error) {
	if d.sealKey == nil {
		return s, errors.New("no seal key is configured: a provider credential cannot be stored")
	}
	secret, err := json.Marshal(credential)
	if err != nil {
		return s, err
	}
	return node.Seal(d.sealKey, org, s, secret)
}
