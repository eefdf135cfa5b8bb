package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// runUser makes an account. Its password comes from the environment, or is made up and
// printed: arguments can be read by every user of the machine.
func runUser(ctx context.Context, c *invocation) error {
	organization := c.flags.String("organization", "", "the organization's name")
	email := c.flags.String("email", "", "the address to sign in with")
	name := c.flags.String("name", "", "what the person is called; the address where it is left out")
	role := c.flags.String("role", string(tenant.RoleAdmin), "admin or member")
	if err := c.parse(0); err != nil {
		return err
	}
	if *organization == "" || *email == "" {
		return usage(errors.New("--organization and --email are needed"))
	}
	if *name == "" {
		*name = *email
	}
	db, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	org, found, err := db.OrganizationByName(ctx, *organization)
	if err != nil {
		return usage(err)
	}
	if !found {
		return usage(fmt.Errorf("--organization: there is no organization %q", *organization))
	}
	password, given := c.env("SPILLWAY_USER_PASSWORD"), true
	if password == "" {
		password, given = identity.NewPassword().Reveal(), false
	}
	u, err := identity.NewPeople(identity.PeopleConfig{Store: db}).CreateByCommand(ctx, org, tenant.UserPatch{Email: email, Name: name, Role: (*tenant.Role)(role),
		Password: tenant.Change[tenant.Secret]{Set: true, Value: new(tenant.NewSecret(password))}})
	if err != nil {
		return usage(err)
	}
	fmt.Fprintf(c.stdout, "user_id=%s\nemail=%s\n", u.ID, u.Email)
	if !given {
		_, err = fmt.Fprintf(c.stdout, "password=%s\n", password)
	}
	return err
}
