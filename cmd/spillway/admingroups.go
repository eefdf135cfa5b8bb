package main

import (
	"context"
	"encoding/json"

	"github.com/spillway-gateway/spillway/api/admin"
)

func groupActs() []act {
	return []act{
		{"groups", "list", "", "list the groups of routes", groupsList},
		{"groups", "get", "GROUP", "show a group and its routes", groupsGet},
		{"groups", "create", "NAME [ROUTE...]", "create a group of routes", groupsCreate},
		{"groups", "add", "GROUP ROUTE...", "put routes into a group", groupsAdd},
		{"groups", "remove", "GROUP ROUTE...", "take routes out of a group", groupsRemove},
		{"groups", "delete", "GROUP", "delete a group; its routes stay", groupsDelete},
	}
}

const maxGroupRoutes = 10000

func (a *adminCall) group(ctx context.Context, wanted string) (g admin.ModelRouteGroup, raw json.RawMessage, err error) {
	l, err := all[admin.ModelRouteGroup](ctx, a.ListModelRouteGroups, nil)
	if err != nil {
		return g, nil, err
	}
	return l.pick("route group", wanted, func(g admin.ModelRouteGroup) string { return g.Id.String() }, func(g admin.ModelRouteGroup) string { return g.Name })
}

// oneGroup begins an act on a group.
func (a *adminCall) oneGroup(ctx context.Context) (g admin.ModelRouteGroup, raw json.RawMessage, err error) {
	args, err := a.begin(1, 1)
	if err != nil {
		return g, nil, err
	}
	return a.group(ctx, args[0])
}

func groupsList(ctx context.Context, a *adminCall) error {
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	l, err := all[admin.ModelRouteGroup](ctx, a.ListModelRouteGroups, nil)
	if err != nil {
		return err
	}
	return a.show(l.raw, func(t *table) {
		t.row("GROUP", "ROUTES", "DESCRIPTION")
		for _, g := range l.items {
			t.row(g.Name, g.ModelAliases, or(g.Description))
		}
	})
}

func groupsGet(ctx context.Context, a *adminCall) error {
	g, raw, err := a.oneGroup(ctx)
	if err != nil {
		return err
	}
	return a.show(raw, func(t *table) {
		t.row("Id", g.Id)
		t.row("Name", g.Name)
		t.row("Description", or(g.Description))
		t.row("Routes", g.ModelAliases)
		t.row("Last note", or(g.LastChangeNote))
	})
}

func groupsCreate(ctx context.Context, a *adminCall) error {
	description := a.flags.String("description", "", "what it is for")
	note := a.note()
	args, err := a.begin(1, 1+maxGroupRoutes)
	if err != nil {
		return err
	}
	body := admin.ModelRouteGroupCreate{Name: args[0], ModelAliases: new(args[1:]), ChangeNote: note()}
	if *description != "" {
		body.Description = description
	}
	made, err := a.CreateModelRouteGroupWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	return a.say(made.Body, "Created the group %s with %s.", args[0], count(len(args)-1, "route"))
}

func groupsAdd(ctx context.Context, a *adminCall) error {
	note := a.note()
	args, err := a.begin(2, 1+maxGroupRoutes)
	if err != nil {
		return err
	}
	g, _, err := a.group(ctx, args[0])
	if err != nil {
		return err
	}
	done, err := a.AddModelRouteGroupMembersWithResponse(ctx, g.Id, nil, admin.ModelRouteGroupMembers{ModelAliases: args[1:], ChangeNote: note()})
	if err != nil {
		return err
	}
	return a.say(done.Body, "The group %s has %s.", g.Name, count(len(done.JSON200.ModelAliases), "route"))
}

func groupsRemove(ctx context.Context, a *adminCall) error {
	args, err := a.begin(2, 1+maxGroupRoutes)
	if err != nil {
		return err
	}
	g, _, err := a.group(ctx, args[0])
	if err != nil {
		return err
	}
	for _, route := range args[1:] {
		done, err := a.RemoveModelRouteGroupMemberWithResponse(ctx, g.Id, route, nil)
		if err != nil {
			return err
		}
		if err := a.say(done.Body, "Took %s out of the group %s.", route, g.Name); err != nil {
			return err
		}
	}
	return nil
}

func groupsDelete(ctx context.Context, a *adminCall) error {
	yes := a.yesFlag()
	force := a.flags.Bool("force", false, "also where model access policies name it, which then match nothing by it")
	g, _, err := a.oneGroup(ctx)
	if err != nil {
		return err
	}
	if err := a.confirm(*yes, "Delete the group "+g.Name+"? Its routes stay."); err != nil {
		return err
	}
	gone, err := a.DeleteModelRouteGroupWithResponse(ctx, g.Id, &admin.DeleteModelRouteGroupParams{Force: force})
	if err != nil {
		return err
	}
	return a.say(gone.Body, "Deleted the group %s.", g.Name)
}
