package dev

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/controlplane/identity"
	"github.com/spillway-gateway/spillway/controlplane/store"
	"github.com/spillway-gateway/spillway/controlplane/tenant"
	"github.com/spillway-gateway/spillway/test/provider"
)

// state is what the first start made and every start shows again.
type state struct {
	OrganizationID string `json:"organization_id"`
	ClientID       string `json:"client_id"`
	ClientSecret   string `json:"client_secret"`
	APIKey         string `json:"api_key"`
	DemoAddress    string `json:"demo_address"` // host:port
	AdminEmail     string `json:"admin_email"`
	AdminPassword  string `json:"admin_password"`
	BaseURL        string `json:"base_url"` // where the last start answered
}

// Saved is how to reach the system that was last started over a folder; of the addresses
// it has only BaseURL. The error is fs.ErrNotExist where there was none.
func Saved(dataDir string) (Info, error) {
	path := filepath.Join(dataDir, stateFile)
	if _, err := os.Stat(path); err != nil {
		return Info{}, err
	}
	st, err := readState(path)
	return Info{BaseURL: st.BaseURL, OrganizationID: st.OrganizationID, ClientID: st.ClientID, ClientSecret: st.ClientSecret}, err
}

// stateFile is the state's name in the data folder.
const stateFile = "dev.json"

// The demo: two providers on the demo provider, one for each vendor, and a route over
// both. Two models of each, so that every dialect has somewhere to fail over.
const (
	demoOrganization = "demo"
	demoRoute        = "demo"
	demoAPIKey       = "demo-provider-key"
	demoAdmin        = "admin@spillway.example"
)

var demoProviders = []struct {
	name, family, path string
	models             []string
}{
	{"demo-openai", "openai", "/v1", []string{"gpt-demo", "gpt-demo-backup"}},
	{"demo-anthropic", "anthropic", "", []string{"claude-demo", "claude-demo-backup"}},
}

// bootstrap starts the demo provider and, on first start, makes the organization
// and what it needs to be tried.
func (s *System) bootstrap(ctx context.Context, base string) error {
	path := filepath.Join(s.cfg.DataDir, stateFile)
	st, err := readState(path)
	if err != nil {
		return err
	}
	demoURL, err := s.startDemo(st.DemoAddress)
	if err != nil {
		return err
	}
	moved := st.DemoAddress != strings.TrimPrefix(demoURL, "http://")
	st.DemoAddress = strings.TrimPrefix(demoURL, "http://")
	db := s.control.Store()
	if st.OrganizationID == "" {
		if err := st.create(ctx, db, demoURL); err != nil {
			return err
		}
	} else if moved {
		if err := moveDemo(ctx, db, st.principal(), demoURL); err != nil {
			return err
		}
	}
	if st.AdminEmail == "" { // also in a folder from before there were people
		if err := st.createAdmin(ctx, db); err != nil {
			return err
		}
	}
	s.info = Info{
		BaseURL: base, TokenURL: base + "/oauth/token", OrganizationID: st.OrganizationID, ClientID: st.ClientID,
		ClientSecret: st.ClientSecret, APIKey: st.APIKey, DemoProviderURL: demoURL,
		AdminEmail: st.AdminEmail, AdminPassword: st.AdminPassword,
	}
	st.BaseURL = base
	return writeSecret(path, st)
}

func readState(path string) (st state, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &st)
	}
	if err != nil {
		return state{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return st, nil
}

// startDemo puts the demo provider where it was, so that provider rows stay true,
// or on any free port.
func (s *System) startDemo(address string) (url string, err error) {
	s.Demo = provider.New(provider.Config{Log: s.cfg.Log})
	s.onStop(s.Demo.Close)
	if address != "" {
		if url, err = s.Demo.Start(address); err == nil {
			return url, nil
		}
	}
	if url, err = s.Demo.Start("127.0.0.1:0"); err != nil {
		return "", fmt.Errorf("demo provider: %w", err)
	}
	return url, nil
}

func (st *state) principal() tenant.Principal {
	return Operator(uuid.MustParse(st.OrganizationID))
}

// Operator is who set-up acts as in an organization: nobody who can sign in.
func Operator(organization uuid.UUID) tenant.Principal {
	return tenant.Principal{OrganizationID: organization, ServiceAccountID: uuid.Max, Name: "spillway dev", Role: tenant.RoleAdmin}
}

// create makes the organization, or completes one that an interrupted first start
// left behind.
func (st *state) create(ctx context.Context, db *store.DB, demoURL string) error {
	org, found, err := db.OrganizationByName(ctx, demoOrganization)
	if err == nil && !found {
		org, err = db.CreateOrganization(ctx, demoOrganization)
	}
	if err != nil {
		return err
	}
	st.OrganizationID = org.String()
	if st.ClientID, st.ClientSecret, err = db.CreateServiceAccount(ctx, org, "spillway dev", tenant.RoleAdmin); err != nil {
		return err
	}
	by := st.principal()
	_, key, err := db.APIKeys().Create(ctx, by, tenant.KeyCreate{Name: "spillway dev"})
	if err != nil {
		return err
	}
	st.APIKey = key.Reveal()
	had, err := db.Providers().List(ctx, by)
	if err != nil || len(had) > 0 {
		return errors.Join(err, moveDemo(ctx, db, by, demoURL))
	}
	return createDemo(ctx, db, by, demoURL)
}

// createAdmin makes the person who can sign in, or gives one that an interrupted first
// start left behind a new password.
func (st *state) createAdmin(ctx context.Context, db *store.DB) error {
	people, by, password := identity.NewPeople(identity.PeopleConfig{Store: db}), st.principal(), identity.NewPassword()
	patch := tenant.UserPatch{Email: new(demoAdmin), Name: new("Administrator"), Role: new(tenant.RoleAdmin),
		Password: tenant.Change[tenant.Secret]{Set: true, Value: &password}}
	hash, err := people.HashPassword(ctx, password)
	if err != nil {
		return err
	}
	_, err = db.Users().Create(ctx, by, patch, &hash)
	var e *tenant.Error
	if errors.As(err, &e) && e.Code == "email_taken" {
		err = st.takeAdmin(ctx, db, patch, hash)
	}
	if err != nil {
		return fmt.Errorf("the administrator: %w", err)
	}
	st.AdminEmail, st.AdminPassword = demoAdmin, password.Reveal()
	return nil
}

func (st *state) takeAdmin(ctx context.Context, db *store.DB, patch tenant.UserPatch, hash string) error {
	list, err := db.Users().List(ctx, st.principal())
	if err != nil {
		return err
	}
	for _, u := range list {
		if u.Email == demoAdmin {
			_, err = db.Users().Update(ctx, st.principal(), u.ID, patch, &hash)
		}
	}
	return err
}

func createDemo(ctx context.Context, db *store.DB, by tenant.Principal, demoURL string) error {
	priority := 0
	for _, d := range demoProviders {
		name, base, key := d.name, demoURL+d.path, tenant.NewSecret(demoAPIKey)
		p, err := db.Providers().Create(ctx, by, tenant.ProviderCreate{
			Family: d.family, Models: d.models,
			ProviderPatch: tenant.ProviderPatch{Name: &name, BaseURL: &base, APIKey: &key},
		})
		if err != nil {
			return fmt.Errorf("provider %s: %w", d.name, err)
		}
		for _, model := range d.models {
			alias, at := demoRoute, priority
			_, err := db.Mappings().Create(ctx, by, p.ID, tenant.MappingPatch{Alias: &alias, UpstreamModel: &model, Priority: &at})
			if err != nil {
				return fmt.Errorf("route %s: %w", demoRoute, err)
			}
			priority++
		}
	}
	return nil
}

// moveDemo points the demo's providers, where they still exist, at the demo
// provider's new address.
func moveDemo(ctx context.Context, db *store.DB, by tenant.Principal, demoURL string) error {
	list, err := db.Providers().List(ctx, by)
	if err != nil {
		return err
	}
	for _, p := range list {
		for _, d := range demoProviders {
			if p.Name != d.name {
				continue
			}
			base, key := demoURL+d.path, tenant.NewSecret(demoAPIKey)
			if _, _, err := db.Providers().Update(ctx, by, p.ID, tenant.ProviderPatch{BaseURL: &base, APIKey: &key}); err != nil {
				return fmt.Errorf("provider %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// WaitLive waits until every node serves the organization as it now is in the
// database.
func (s *System) WaitLive(ctx context.Context, organization uuid.UUID) error {
	position, err := s.control.Store().Position(ctx, organization)
	if err != nil {
		return err
	}
	names := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		names[i] = nodeName(i)
		if err := n.WaitReplayed(ctx); err != nil {
			return err
		}
	}
	return s.control.WaitLive(ctx, organization, position.Version, names)
}

func nodeName(i int) string { return "node-" + strconv.Itoa(i+1) }

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }
