package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-gateway/spillway/api/admin"
)

func providerActs() []act {
	return []act{
		{"providers", "list", "", "list the providers", providersList},
		{"providers", "get", "PROVIDER", "show a provider", providersGet},
		{"providers", "create", "NAME", "create a provider", providersCreate},
		{"providers", "rotate", "PROVIDER", "replace a provider's credential", providersRotate},
		{"providers", "enable", "PROVIDER", "let a provider serve", providersEnable},
		{"providers", "disable", "PROVIDER", "take a provider out of service", providersDisable},
		{"providers", "delete", "PROVIDER", "delete a provider, with its models and targets", providersDelete},
		{"providers", "test", "PROVIDER", "check a provider's connection now", providersTest},
	}
}

// providers reads all of them. The name in which callers address one is a name too.
func (a *adminCall) provider(ctx context.Context, wanted string) (p admin.Provider, raw json.RawMessage, err error) {
	l, err := all[admin.Provider](ctx, a.ListProviders, nil)
	if err != nil {
		return p, nil, err
	}
	return pickProvider(l, wanted)
}

// oneProvider begins an act on a provider.
func (a *adminCall) oneProvider(ctx context.Context) (p admin.Provider, raw json.RawMessage, err error) {
	args, err := a.begin(1, 1)
	if err != nil {
		return p, nil, err
	}
	return a.provider(ctx, args[0])
}

func pickProvider(l listed[admin.Provider], wanted string) (admin.Provider, json.RawMessage, error) {
	byAddress := func(p admin.Provider) string {
		if addressName(p.Name) == addressName(wanted) {
			return wanted
		}
		return p.Name
	}
	return l.pick("provider", wanted, func(p admin.Provider) string { return p.Id.String() }, byAddress)
}

// addressName is a provider's name as callers address it.
func addressName(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

func providersList(ctx context.Context, a *adminCall) error {
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	l, err := all[admin.Provider](ctx, a.ListProviders, nil)
	if err != nil {
		return err
	}
	return a.show(l.raw, func(t *table) {
		t.row("NAME", "FAMILY", "BASE URL", "ENABLED", "HEALTH", "DETAIL")
		for _, p := range l.items {
			detail := ""
			if p.HealthDetail != nil {
				detail = *p.HealthDetail
			}
			t.row(p.Name, p.ModelProvider, p.BaseUrl, p.Enabled, p.HealthStatus, detail)
		}
	})
}

func providersGet(ctx context.Context, a *adminCall) error {
	p, raw, err := a.oneProvider(ctx)
	if err != nil {
		return err
	}
	return a.show(raw, func(t *table) {
		t.row("Id", p.Id)
		t.row("Name", p.Name)
		t.row("Family", p.ModelProvider)
		t.row("Base URL", p.BaseUrl)
		t.row("Credential", p.AuthType)
		t.row("Settings", string(p.Settings))
		t.row("Enabled", p.Enabled)
		health := string(p.HealthStatus)
		if p.HealthDetail != nil {
			health += ": " + *p.HealthDetail
		}
		t.row("Health", health)
		t.row("Request timeout", seconds(or(p.RequestTimeoutSecs)))
		t.row("Stream idle timeout", seconds(or(p.StreamIdleTimeoutSecs)))
		t.row("Last note", or(p.LastChangeNote))
	})
}

func seconds(v any) string {
	if v == nil {
		return "default"
	}
	return fmt.Sprint(v, " s")
}

// credentialFlags declares where a credential may come from, and returns what reads it:
// an API key or a structured credential, both nil where none is given.
func (a *adminCall) credentialFlags() func() (key *string, credentials *json.RawMessage, err error) {
	keyFile := a.flags.String("api-key-file", "", "file with the API key; - is standard input")
	keyEnv := a.flags.String("api-key-env", "", "environment variable with the API key")
	credentialsFile := a.flags.String("credentials-file", "", "file with a structured credential (JSON; AWS, Google); - is standard input")
	return func() (key *string, credentials *json.RawMessage, err error) {
		given := slices.DeleteFunc([]string{*keyFile, *keyEnv, *credentialsFile}, func(s string) bool { return s == "" })
		if len(given) > 1 {
			return nil, nil, usage(errors.New("give one of --api-key-file, --api-key-env and --credentials-file"))
		}
		switch {
		case *keyEnv != "":
			secret, err := a.needed(*keyEnv, "it is named by --api-key-env")
			return &secret, nil, err
		case *keyFile != "":
			secret, err := a.secretFrom("--api-key-file", *keyFile)
			return &secret, nil, err
		case *credentialsFile != "":
			secret, err := a.secretFrom("--credentials-file", *credentialsFile)
			if err == nil && !json.Valid([]byte(secret)) {
				err = usage(errors.New("--credentials-file: must be JSON"))
			}
			raw := json.RawMessage(secret)
			return nil, &raw, err
		}
		return nil, nil, nil
	}
}

func providersCreate(ctx context.Context, a *adminCall) error {
	family := a.flags.String("family", "", "the vendor, such as openai, anthropic or custom (required)")
	baseURL := a.flags.String("base-url", "", "where it is; default the vendor's own")
	authType := a.flags.String("auth-type", "", "how the gateway identifies itself; default the vendor's usual way")
	models := a.listFlag("model", "model to enable; may be given several times")
	settings := a.listFlag("setting", "name=value, such as region=eu-west-1; may be given several times")
	disabled := a.flags.Bool("disabled", false, "create it out of service")
	note, credential := a.note(), a.credentialFlags()
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	if *family == "" {
		return usage(errors.New("--family is needed"))
	}
	body := admin.ProviderCreate{Name: args[0], ModelProvider: admin.ModelProvider(*family), BaseUrl: *baseURL, Enabled: new(!*disabled), ChangeNote: note()}
	if body.BaseUrl == "" {
		if body.BaseUrl, err = a.usualURL(ctx, *family); err != nil {
			return err
		}
	}
	if *authType != "" {
		body.AuthType = new(admin.AuthTypeInput(*authType))
	}
	if len(*models) > 0 {
		body.Models = new([]string(*models))
	}
	if body.Settings, err = settingsOf(*settings); err != nil {
		return err
	}
	if body.ApiKey, body.Credentials, err = credential(); err != nil {
		return err
	}
	made, err := a.CreateProviderWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	return a.say(made.Body, "Created the provider %s (%s).", made.JSON200.Name, made.JSON200.Id)
}

// usualURL is the vendor's own address.
func (a *adminCall) usualURL(ctx context.Context, family string) (string, error) {
	catalog, err := a.GetProviderCatalogWithResponse(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range *catalog.JSON200 {
		if base, err := e.DefaultBaseUrl.Get(); string(e.Slug) == family && err == nil {
			return base, nil
		}
	}
	return "", usage(fmt.Errorf("--base-url is needed: there is no usual one for %q", family))
}

func settingsOf(pairs []string) (*json.RawMessage, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	settings := map[string]string{}
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Errorf("--setting %q: write name=value", p))
		}
		settings[name] = value
	}
	raw, err := json.Marshal(settings)
	return new(json.RawMessage(raw)), err
}

func providersRotate(ctx context.Context, a *adminCall) error {
	note, credential := a.note(), a.credentialFlags()
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	body := admin.ProviderUpdate{ChangeNote: note()}
	if body.ApiKey, body.Credentials, err = credential(); err != nil {
		return err
	}
	if body.ApiKey == nil && body.Credentials == nil {
		return usage(errors.New("give one of --api-key-file, --api-key-env and --credentials-file"))
	}
	return a.changeProvider(ctx, args[0], body, "Replaced the credential of the provider %s.")
}

func (a *adminCall) changeProvider(ctx context.Context, wanted string, body admin.ProviderUpdate, done string) error {
	p, _, err := a.provider(ctx, wanted)
	if err != nil {
		return err
	}
	changed, err := a.UpdateProviderWithResponse(ctx, p.Id, nil, body)
	if err != nil {
		return err
	}
	return a.say(changed.Body, done, p.Name)
}

func providersEnable(ctx context.Context, a *adminCall) error {
	return a.switchProvider(ctx, true, "The provider %s may serve.")
}

func providersDisable(ctx context.Context, a *adminCall) error {
	return a.switchProvider(ctx, false, "The provider %s is out of service.")
}

func (a *adminCall) switchProvider(ctx context.Context, on bool, done string) error {
	note := a.note()
	args, err := a.begin(1, 1)
	if err != nil {
		return err
	}
	return a.changeProvider(ctx, args[0], admin.ProviderUpdate{Enabled: &on, ChangeNote: note()}, done)
}

func providersDelete(ctx context.Context, a *adminCall) error {
	yes := a.yesFlag()
	p, _, err := a.oneProvider(ctx)
	if err != nil {
		return err
	}
	if err := a.confirm(*yes, "Delete the provider "+p.Name+", with its models and its targets in routes?"); err != nil {
		return err
	}
	gone, err := a.DeleteProviderWithResponse(ctx, p.Id, nil)
	if err != nil {
		return err
	}
	return a.say(gone.Body, "Deleted the provider %s.", p.Name)
}

func providersTest(ctx context.Context, a *adminCall) error {
	p, _, err := a.oneProvider(ctx)
	if err != nil {
		return err
	}
	found, err := a.ProbeProviderWithResponse(ctx, p.Id)
	if err != nil {
		return err
	}
	result := found.JSON200
	if err := a.say(found.Body, "%s: %s (checked by %s).", p.Name, cmp.Or(result.Detail, "all is well"), result.Node); err != nil {
		return err
	}
	if result.HealthStatus == admin.HealthStatusUnhealthy {
		return fmt.Errorf("the provider %s is unhealthy", p.Name)
	}
	return nil
}
