package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// Groups are the groups of people of an organization.
type Groups struct{ db *DB }

// Groups returns the groups.
func (d *DB) Groups() Groups { return Groups{d} }

const selectGroup = `
	SELECT id, org_id, name, description,
	       (SELECT coalesce(jsonb_agg(jsonb_build_object('user_id', u.id, 'email', u.email, 'name', u.name) ORDER BY lower(u.email), u.id), '[]')
	        FROM group_members m JOIN users u ON u.org_id = m.org_id AND u.id = m.user_id
	        WHERE m.org_id = groups.org_id AND m.group_id = groups.id), ` + attribution + `
	FROM groups`

func scanGroup(row pgx.CollectableRow) (g tenant.Group, err error) {
	err = row.Scan(attributed([]any{&g.ID, &g.OrganizationID, &g.Name, &g.Description, &g.Members}, &g.CreatedAt, &g.UpdatedAt, &g.Attribution, &g.Revision)...)
	return g, err
}

func getGroup(ctx context.Context, tx pgx.Tx, id uuid.UUID) (tenant.Group, error) {
	g, err := collectOne(ctx, tx, scanGroup, selectGroup+` WHERE id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, tenant.GroupNotFound(id)
	}
	return g, err
}

// List returns every group.
func (s Groups) List(ctx context.Context, by tenant.Principal) ([]tenant.Group, error) {
	return listFor(ctx, s.db, by, tenant.ListGroups, scanGroup, selectGroup+` ORDER BY id`)
}

// Get returns one group.
func (s Groups) Get(ctx context.Context, by tenant.Principal, id uuid.UUID) (tenant.Group, error) {
	return getFor(ctx, s.db, by, tenant.GetGroup, getGroup, id)
}

// Create stores a group and its members.
func (s Groups) Create(ctx context.Context, by tenant.Principal, in tenant.GroupCreate) (g tenant.Group, err error) {
	err = s.db.write(ctx, by, tenant.CreateGroup, func(c *change) error {
		if err := in.Validate(); err != nil {
			return err
		}
		id, actor := newID(), c.by.Actor()
		_, err := c.Exec(ctx, `
			INSERT INTO groups (org_id, id, name, description, created_by_user_id, created_by_email, created_by_name, last_change_note)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			c.by.OrganizationID, id, in.Name, in.Description.Value, actor.UserID, actor.Email, actor.Name, in.ChangeNote)
		if err != nil {
			return err
		}
		if in.UserIDs != nil {
			if err := addMembers(ctx, c, id, *in.UserIDs); err != nil {
				return err
			}
		}
		c.changed(id, in.ChangeNote)
		g, err = getGroup(ctx, c, id)
		return err
	})
	return g, err
}

// Update changes a group.
func (s Groups) Update(ctx context.Context, by tenant.Principal, id uuid.UUID, patch tenant.GroupPatch) (g tenant.Group, err error) {
	err = s.change(ctx, by, tenant.UpdateGroup, id, patch.ChangeNote, func(c *change) error {
		if err := patch.Validate(); err != nil {
			return err
		}
		if patch.Description.Set {
			if _, err := c.Exec(ctx, `UPDATE groups SET description = $2 WHERE id = $1`, id, patch.Description.Value); err != nil {
				return err
			}
		}
		if patch.UserIDs != nil {
			if _, err := c.Exec(ctx, `DELETE FROM group_members WHERE group_id = $1 AND user_id <> ALL ($2)`, id, *patch.UserIDs); err != nil {
				return err
			}
			if err := addMembers(ctx, c, id, *patch.UserIDs); err != nil {
				return err
			}
		}
		g, err = getGroup(ctx, c, id)
		return err
	})
	return g, err
}

// AddMembers puts people into a group.
func (s Groups) AddMembers(ctx context.Context, by tenant.Principal, id uuid.UUID, in tenant.MembersAdd) (g tenant.Group, err error) {
	err = s.change(ctx, by, tenant.AddGroupMembers, id, in.ChangeNote, func(c *change) error {
		if err := in.Validate(); err != nil {
			return err
		}
		if err := addMembers(ctx, c, id, in.UserIDs); err != nil {
			return err
		}
		g, err = getGroup(ctx, c, id)
		return err
	})
	return g, err
}

// RemoveMember takes a person out of a group.
func (s Groups) RemoveMember(ctx context.Context, by tenant.Principal, id, user uuid.UUID) error {
	return s.change(ctx, by, tenant.RemoveGroupMember, id, nil, func(c *change) error {
		tag, err := c.Exec(ctx, `DELETE FROM group_members WHERE group_id = $1 AND user_id = $2`, id, user)
		if err == nil && tag.RowsAffected() == 0 {
			return tenant.NotAMember(user)
		}
		return err
	})
}

// change is a write to one group, which is then attributed to who made it: a change of
// its members is one of the group.
func (s Groups) change(ctx context.Context, by tenant.Principal, op tenant.Operation, id uuid.UUID, note *string, work func(*change) error) error {
	return s.db.write(ctx, by, op, func(c *change) error {
		before, err := getGroup(ctx, c, id)
		if err != nil {
			return err
		}
		if err := c.matches(before.Revision); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `UPDATE groups SET `+modifiedBy+` WHERE org_id = $1 AND id = $2`, c.authored(id, note)...); err != nil {
			return err
		}
		c.changed(id, note)
		return work(c)
	})
}

// addMembers puts people into a group; who is in it already stays in it.
func addMembers(ctx context.Context, c *change, group uuid.UUID, users []uuid.UUID) error {
	missing, err := collect(ctx, c, pgx.RowTo[uuid.UUID], `
		SELECT w FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted(w, n) WHERE NOT EXISTS (SELECT FROM users WHERE id = w) ORDER BY n LIMIT 1`, users)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return tenant.UnknownUser(missing[0])
	}
	_, err = c.Exec(ctx, `INSERT INTO group_members (org_id, group_id, user_id) SELECT $1, $2, u FROM unnest($3::uuid[]) u ON CONFLICT DO NOTHING`,
		c.by.OrganizationID, group, users)
	return err
}

// Delete removes a group. The people in it stay.
func (s Groups) Delete(ctx context.Context, by tenant.Principal, id uuid.UUID) error {
	return s.change(ctx, by, tenant.DeleteGroup, id, nil, func(c *change) error {
		_, err := c.Exec(ctx, `DELETE FROM groups WHERE id = $1`, id)
		return err
	})
}
