package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// configChannel is where a commit that raised a version is announced.
const configChannel = "spillway_config"

// setting is a transaction-local setting that opens rows to the transaction.
type setting struct{ name, value string }

func ofOrg(org uuid.UUID) setting { return setting{"app.org_id", org.String()} }

// transaction is the one place where a transaction begins. It ends with the
// commit, or with everything undone.
func (d *DB) transaction(ctx context.Context, opts pgx.TxOptions, opens setting, work func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, d.pool, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config($1, $2, true)`, opens.name, opens.value); err != nil {
			return err
		}
		return work(tx)
	})
	return explain(err)
}

// read runs work for a principal that may perform op. Nothing can be written.
func (d *DB) read(ctx context.Context, p tenant.Principal, op tenant.Operation, work func(pgx.Tx) error) error {
	if err := p.Permit(op); err != nil {
		return err
	}
	return d.transaction(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, ofOrg(p.OrganizationID), work)
}

// change is a write transaction of one operation.
type change struct {
	pgx.Tx
	by      tenant.Principal
	version int64
	event   *auditEvent
	matched bool // the caller's If-Match was looked at
}

// matches refuses the change where the resource has another revision than the one that
// the caller saw, if it said which.
func (c *change) matches(revision int64) error { return c.matchesTag(tenant.ETag(revision)) }

// matchesTag is matches for what has another ETag than a revision.
func (c *change) matchesTag(etag string) error {
	c.matched = true
	return c.by.MatchTag(etag)
}

// changed says what the operation changed, for the audit trail. A write that does
// not say it is not committed.
func (c *change) changed(resource uuid.UUID, note *string) {
	c.event = &auditEvent{resource: &resource, note: note}
}

// changedMany is for an operation over several resources.
func (c *change) changedMany(note *string) { c.event = &auditEvent{note: note} }

// write runs work for a principal that may perform op. Its first statement raises
// the organization's version: the row lock puts concurrent writers in line, so the
// order of versions is the order of commits.
func (d *DB) write(ctx context.Context, p tenant.Principal, op tenant.Operation, work func(*change) error) error {
	if err := p.Permit(op); err != nil {
		return err
	}
	return d.commit(ctx, p, op, actorOf(p), work)
}

// commit is write for an actor that is permitted everything.
func (d *DB) commit(ctx context.Context, p tenant.Principal, op tenant.Operation, actor auditActor, work func(*change) error) error {
	return d.transaction(ctx, pgx.TxOptions{}, ofOrg(p.OrganizationID), func(tx pgx.Tx) error {
		c := &change{Tx: tx, by: p}
		err := tx.QueryRow(ctx, `UPDATE org_config SET version = version + 1 WHERE org_id = $1 RETURNING version`, p.OrganizationID).Scan(&c.version)
		if errors.Is(err, pgx.ErrNoRows) {
			return tenant.Unauthenticated("the organization of the access token does not exist")
		}
		if err != nil {
			return err
		}
		if err := work(c); err != nil {
			return err
		}
		if c.event == nil {
			return fmt.Errorf("operation %s did not say what it changed", op)
		}
		if c.by.IfMatch != "" && !c.matched {
			return fmt.Errorf("operation %s did not look at If-Match", op)
		}
		if err := d.compiles(ctx, c); err != nil {
			return err
		}
		c.event.version, c.event.operation, c.event.actor = c.version, string(op), actor
		if err := c.event.insert(ctx, tx, p.OrganizationID); err != nil {
			return err
		}
		if err := c.done(ctx); err != nil {
			return err
		}
		return announce(ctx, tx, p.OrganizationID)
	})
}

func announce(ctx context.Context, tx pgx.Tx, org uuid.UUID) error {
	_, err := tx.Exec(ctx, `SELECT pg_notify($1, $2)`, configChannel, org.String())
	return err
}

// explain turns a violated constraint that a caller can run into into the error
// for it.
func explain(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.ConstraintName {
	case "providers_address_name":
		return tenant.ProviderNameTaken()
	case "model_mappings_target":
		return tenant.MappingExists()
	case "routing_policies_alias":
		return tenant.RoutingPolicyExists()
	case "routing_rules_name":
		return tenant.RoutingRuleExists()
	case "rate_limits_aim":
		return tenant.RateLimitExists()
	case "budgets_aim":
		return tenant.BudgetExists()
	case "model_pricing_instant":
		return tenant.PriceInstantTaken()
	case "model_route_groups_name":
		return tenant.RouteGroupNameTaken()
	case "connections_name":
		return tenant.ConnectionNameTaken()
	case "users_email":
		return tenant.EmailTaken()
	case "groups_name":
		return tenant.GroupNameTaken()
	case "organizations_name":
		return tenant.Conflict("name", "An organization with this name already exists.")
	}
	return err
}

// newID mints an id. Version 7 starts with the time, so that ids sort by creation.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
