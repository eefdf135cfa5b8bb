package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-gateway/spillway/api/admin"
)

func keyActs() []act {
	return []act{
		{"keys", "list", "", "list the keys that callers of the gateway carry", keysList},
		{"keys", "get", "KEY", "show a key, without its secret", keysGet},
		{"keys", "create", "NAME", "create a key; it is printed once", keysCreate},
		{"keys", "rotate", "KEY", "give a key a new secret; it is printed once", keysRotate},
		{"keys", "enable", "KEY", "let a key in again", keysEnable},
		{"keys", "disable", "KEY", "keep a key out for now", keysDisable},
		{"keys", "revoke", "KEY", "end a key for good", keysRevoke},
	}
}

// key finds a key by its id, its name or its first characters. One that is revoked has no
// name any more.
func (a *adminCall) key(ctx context.Context, wanted string) (k admin.ApiKey, raw json.RawMessage, err error) {
	l, err := all[admin.ApiKey](ctx, a.ListApiKeys, nil)
	if err != nil {
		return k, nil, err
	}
	unless := func(name func(admin.ApiKey) string) func(admin.ApiKey) string {
		return func(k admin.ApiKey) string {
			if !k.RevokedAt.IsNull() {
				return ""
			}
			return name(k)
		}
	}
	return l.pick("key", wanted, func(k admin.ApiKey) string { return k.Id.String() },
		unless(func(k admin.ApiKey) string { return k.Name }), unless(func(k admin.ApiKey) string { return k.KeyPrefix }))
}

// oneKey begins an act on a key.
func (a *adminCall) oneKey(ctx context.Context) (k admin.ApiKey, raw json.RawMessage, err error) {
	args, err := a.begin(1, 1)
	if err != nil {
		return k, nil, err
	}
	return a.key(ctx, args[0])
}

// keyState says whether a key lets its bearer in.
func keyState(k admin.ApiKey, now time.Time) string {
	expires, err := k.ExpiresAt.Get()
	switch {
	case !k.RevokedAt.IsNull():
		return "revoked"
	case !k.DisabledAt.IsNull():
		return "disabled"
	case err == nil && !expires.After(now):
		return "expired"
	}
	return "valid"
}

// keyOwner says whose a key is.
func keyOwner(k admin.ApiKey) string {
	if group, err := k.GroupName.Get(); err == nil {
		return "group " + group
	}
	if email, err := k.UserEmail.Get(); err == nil {
		return email
	}
	if user, err := k.UserId.Get(); err == nil {
		return "user " + user.String()
	}
	return ""
}

func keysList(ctx context.Context, a *adminCall) error {
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	l, err := all[admin.ApiKey](ctx, a.ListApiKeys, nil)
	if err != nil {
		return err
	}
	return a.show(l.raw, func(t *table) {
		t.row("NAME", "KEY", "STATE", "OWNER", "EXPIRES", "LAST USED", "ID")
		for _, k := range l.items {
			t.row(k.Name, k.KeyPrefix+"...", keyState(k, time.Now()), keyOwner(k), or(k.ExpiresAt), or(k.LastUsedAt), k.Id)
		}
	})
}

func keysGet(ctx context.Context, a *adminCall) error {
	k, raw, err := a.oneKey(ctx)
	if err != nil {
		return err
	}
	return a.show(raw, func(t *table) {
		t.row("Id", k.Id)
		t.row("Name", k.Name)
		t.row("Key", k.KeyPrefix+"...")
		t.row("State", keyState(k, time.Now()))
		t.row("Owner", keyOwner(k))
		t.row("Scopes", k.Scopes)
		t.row("Created", k.CreatedAt)
		t.row("Expires", or(k.ExpiresAt))
		t.row("Last used", or(k.LastUsedAt))
	})
}

func keysCreate(ctx context.Context, a *adminCall) error {
	group := a.flags.String("group", "", "the group of people that it acts as")
	user := a.flags.String("user", "", "whose it is: the email address or id of a person")
	scopes := a.listFlag("scope", "scope; may be given several times")
	expires := a.flags.Duration("expires-in", 0, "how long it is good for, such as 720h; default for ever")
	note := a.note()
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	if *expires < 0 {
		return usage(errors.New("--expires-in must be a time to come"))
	}
	body := admin.ApiKeyCreate{Name: args[0], ChangeNote: note()}
	if len(*scopes) > 0 {
		body.Scopes = new([]string(*scopes))
	}
	if *group != "" {
		body.GroupName = group
	}
	if *user != "" {
		u, err := a.user(ctx, *user)
		if err != nil {
			return err
		}
		body.UserId, body.UserEmail = &u.Id, &u.Email
	}
	if *expires > 0 {
		body.ExpiresAt = new(time.Now().Add(*expires))
	}
	made, err := a.CreateApiKeyWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	return a.sayKey(made.Body, *made.JSON200)
}

func (a *adminCall) user(ctx context.Context, wanted string) (admin.User, error) {
	l, err := all[admin.User](ctx, a.ListUsers, nil)
	if err != nil {
		return admin.User{}, err
	}
	u, _, err := l.pick("person", wanted, func(u admin.User) string { return u.Id.String() }, func(u admin.User) string { return u.Email })
	return u, err
}

// sayKey prints a secret alone to standard output, so that a script can take it, and what
// a person should know to standard error.
func (a *adminCall) sayKey(raw []byte, k admin.ApiKeySecret) error {
	if err := a.say(raw, "%s", k.Key); err != nil {
		return err
	}
	if *a.output == "table" {
		fmt.Fprintf(a.stderr, "This is the key %s. It cannot be shown again.\n", plainText(k.Name))
	}
	return nil
}

func keysRotate(ctx context.Context, a *adminCall) error {
	grace := a.flags.Duration("grace", 0, "how long the old secret works on, at most 168h")
	note := a.note()
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	if *grace < 0 || *grace > 168*time.Hour {
		return usage(errors.New("--grace must be between 0 and 168h"))
	}
	k, _, err := a.key(ctx, args[0])
	if err != nil {
		return err
	}
	done, err := a.RotateApiKeyWithResponse(ctx, k.Id, nil, admin.ApiKeyRotate{GraceSecs: new(int(grace.Seconds())), ChangeNote: note()})
	if err != nil {
		return err
	}
	return a.sayKey(done.Body, *done.JSON200)
}

func keysEnable(ctx context.Context, a *adminCall) error {
	return a.switchKey(ctx, false, "The key %s lets its bearer in.")
}

func keysDisable(ctx context.Context, a *adminCall) error {
	return a.switchKey(ctx, true, "The key %s is disabled.")
}

func (a *adminCall) switchKey(ctx context.Context, disabled bool, done string) error {
	note := a.note()
	k, _, err := a.oneKey(ctx)
	if err != nil {
		return err
	}
	changed, err := a.UpdateApiKeyWithResponse(ctx, k.Id, nil, admin.ApiKeyUpdate{Disabled: disabled, ChangeNote: note()})
	if err != nil {
		return err
	}
	return a.say(changed.Body, done, k.Name)
}

func keysRevoke(ctx context.Context, a *adminCall) error {
	yes := a.yesFlag()
	k, _, err := a.oneKey(ctx)
	if err != nil {
		return err
	}
	if err := a.confirm(*yes, "Revoke the key "+k.Name+" ("+k.KeyPrefix+"...) for good?"); err != nil {
		return err
	}
	gone, err := a.RevokeApiKeyWithResponse(ctx, k.Id, nil)
	if err != nil {
		return err
	}
	return a.say(gone.Body, "Revoked the key %s.", k.Name)
}
