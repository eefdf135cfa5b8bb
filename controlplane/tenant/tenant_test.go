package tenant_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"log/slog"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

func ptr[T any](v T) *T { return &v }

// TestImports keeps the package pure. Each entry has a reason; anything that does
// I/O, reads a clock or knows a technology has none.
func TestImports(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"bytes": "text", "errors": "text", "encoding/json": "settings and credentials are JSON objects", "fmt": "messages", "log/slog": "a secret redacts itself",
		"maps": "text", "net/netip": "an address is told from a name", "net/url": "base URLs are parsed, never dialed", "regexp": "the forms of names", "slices": "text",
		"strconv": "text", "strings": "text", "time": "the type; now comes in",
		"unicode": "text", "unicode/utf8": "text", "github.com/google/uuid": "ids",
		"embed": "the shipped prices, which the compiler reads",
		"github.com/spillway-gateway/spillway/api/node": "the limits and forms that both planes share",
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || allowed[path] == "" {
				t.Errorf("%s imports %s", file, path)
			}
		}
	}
}

func TestSecretPrintsNothing(t *testing.T) {
	t.Parallel()
	s := tenant.NewSecret("hunter2")
	patch := tenant.ProviderPatch{APIKey: &s, Credentials: &s}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("secrets", "value", s, "pointer", &s, "patch", patch, "error", fmt.Errorf("failed: %v", s))
	raw, err := json.Marshal(map[string]any{"value": s, "pointer": &s, "patch": patch})
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(raw)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		all += fmt.Sprintf(verb, s) + fmt.Sprintf(verb, &s) + fmt.Sprintf(verb, []tenant.Secret{s}) + fmt.Sprintf(verb, struct{ S tenant.Secret }{s})
	}
	for _, form := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%X", "hunter2")} {
		if strings.Contains(all, form) {
			t.Errorf("printed as %s", form)
		}
	}
	if s.Reveal() != "hunter2" {
		t.Error("the text is lost")
	}
}

func TestPermit(t *testing.T) {
	t.Parallel()
	// What a member may do, and whether a machine may too.
	members := map[tenant.Operation]bool{tenant.GetSession: true, tenant.Logout: true, tenant.ListOwnModels: true, tenant.WatchOwnChanges: true, tenant.GetProfile: false,
		tenant.UpdateProfile: false, tenant.ChangePassword: false, tenant.ListOwnSessions: false, tenant.EndOwnSession: false, tenant.ListOwnAPIKeys: false,
		tenant.CreateOwnAPIKey: false, tenant.GetOwnAPIKey: false, tenant.UpdateOwnAPIKey: false, tenant.RevokeOwnAPIKey: false, tenant.RotateOwnAPIKey: false}
	for _, op := range tenant.Operations() {
		machine, member := members[op]
		for role, want := range map[tenant.Role]bool{"": false, "emperor": false, tenant.RoleMember: member, tenant.RoleAdmin: true, tenant.RoleOwner: true} {
			if got := (tenant.Principal{Role: role, UserID: uuid.Max}).Permit(op) == nil; got != want {
				t.Errorf("%s as %q: got %t, want %t", op, role, got, want)
			}
			if got := (tenant.Principal{Role: role}).Permit(op) == nil; got != (want && (machine || !member)) {
				t.Errorf("%s as a machine and %q: got %t", op, role, got)
			}
		}
	}
	if (tenant.Principal{Role: tenant.RoleOwner}).Permit("launchRockets") == nil {
		t.Error("an operation that is not in the table is permitted")
	}
}

func validProvider() tenant.ProviderCreate {
	return tenant.ProviderCreate{Family: "openai", ProviderPatch: tenant.ProviderPatch{
		Name: ptr("P"), BaseURL: ptr("https://api.openai.com/v1"), APIKey: ptr(tenant.NewSecret("k"))}}
}

// drawBilling draws what a creation may say of billing.
func drawBilling(t *rapid.T) tenant.BillingPatch {
	optional := func(name string, values ...string) *string {
		return rapid.Ptr(rapid.SampledFrom(values), true).Draw(t, name)
	}
	p := tenant.BillingPatch{Mode: optional("mode", "per_token", "not_metered")}
	reason, note := optional("reason", "subscription", "local", "external", "other"), optional("note", "", "flat fee")
	if p.Mode != nil && *p.Mode == tenant.BillingNotMetered && reason == nil {
		reason = ptr("other")
	}
	p.Reason, p.Note = tenant.Change[string]{Set: reason != nil, Value: reason}, tenant.Change[string]{Set: note != nil, Value: note}
	return p
}

// TestEmptyUpdateChangesNothing: what Create stores, an update without fields keeps,
// and so does one with the same fields, so that a second plan of an automation is
// empty.
func TestEmptyUpdateChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := validProvider()
		in.Enabled = rapid.Ptr(rapid.Bool(), true).Draw(t, "enabled")
		in.EnforceHealthCheck = rapid.Ptr(rapid.Bool(), true).Draw(t, "enforce")
		in.Timeouts.RequestSecs = tenant.Change[int]{Set: true, Value: rapid.Ptr(rapid.IntRange(1, 600), true).Draw(t, "request")}
		in.ModelSyncMode = rapid.Ptr(rapid.SampledFrom([]string{"off", "additive", "full"}), true).Draw(t, "sync")
		in.Billing = drawBilling(t)
		created, _, err := in.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		b := created.Billing
		same := tenant.ProviderPatch{ModelSyncMode: &created.ModelSyncMode, Billing: tenant.BillingPatch{Mode: &b.Mode,
			Reason: tenant.Change[string]{Set: true, Value: b.Reason}, Note: tenant.Change[string]{Set: true, Value: b.Note}}}
		for name, patch := range map[string]tenant.ProviderPatch{"empty": {}, "same": same, "as sent": {Billing: in.Billing}} {
			updated, credential, err := created.Update(patch, tenant.Held{Stored: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(created, updated); diff != "" || credential != (tenant.CredentialChange{}) {
				t.Fatalf("%s: changed: %s %+v", name, diff, credential)
			}
		}
	})
}

// TestCredentialNeverMoves: whatever the two addresses are, a stored credential that
// is kept stays with its host, and with https if it had it.
func TestCredentialNeverMoves(t *testing.T) {
	t.Parallel()
	scheme := rapid.SampledFrom([]string{"http", "https"})
	host := rapid.SampledFrom([]string{"a.example", "A.example", "a.example:443", "b.example", "a.example.b.example"})
	path := rapid.SampledFrom([]string{"", "/", "/v1", "/a.example"})
	rapid.Check(t, func(t *rapid.T) {
		fromScheme, fromHost := scheme.Draw(t, "from scheme"), host.Draw(t, "from host")
		toScheme, toHost := scheme.Draw(t, "to scheme"), host.Draw(t, "to host")
		in := validProvider()
		in.BaseURL = ptr(fromScheme + "://" + fromHost + path.Draw(t, "from path"))
		before, _, err := in.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = before.Update(tenant.ProviderPatch{BaseURL: ptr(toScheme + "://" + toHost + path.Draw(t, "to path"))}, tenant.Held{Stored: true})
		moves := !strings.EqualFold(fromHost, toHost) || fromScheme == "https" && toScheme == "http"
		if (err != nil) != moves {
			t.Fatalf("moves %t: got %v", moves, err)
		}
	})
}

func TestAddressName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"OpenAI": "openai", "Open AI EU": "open-ai-eu", "a-b": "a-b", "ÉCOLE": "école"} {
		if got := (tenant.ProviderConfig{Name: name}).AddressName(); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestServingStatus(t *testing.T) {
	t.Parallel()
	reasons := []string{"disabled", "provider_disabled", "provider_model_disabled", "provider_not_serving", ""}
	for mask := range 16 {
		m := tenant.Mapping{Around: tenant.Surroundings{ProviderEnabled: mask&2 == 0, ModelEnabled: mask&4 == 0, ProviderServing: mask&8 == 0}}
		m.Enabled = mask&1 == 0
		want := reasons[bits.TrailingZeros(uint(mask|16))] // the first that holds
		if got := m.ServingStatus(); got != want {
			t.Errorf("mask %04b: got %q, want %q", mask, got, want)
		}
	}
}

func TestKeyExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at   time.Time
		want bool
	}{"Past": {now.Add(-time.Nanosecond), false}, "NowIsPast": {now, false}, "Future": {now.Add(time.Nanosecond), true}} {
		_, err := tenant.KeyCreate{Name: "k", ExpiresAt: &c.at}.New(now)
		if (err == nil) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestReorderTwice(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	err := tenant.ValidateReorder([]tenant.Priority{{ID: uuid.New()}, {ID: id}, {ID: id}}, nil)
	var e *tenant.Error
	if !errors.As(err, &e) || e.Kind != tenant.KindInvalid || !strings.Contains(e.Message, id.String()) {
		t.Errorf("got %v", err)
	}
}

// TestCatalogIsCreatable: every suggestion of the catalog is accepted as it stands.
func TestCatalogIsCreatable(t *testing.T) {
	t.Parallel()
	var slugs []string
	for _, f := range tenant.Catalog() {
		slugs = append(slugs, f.Slug)
		in := tenant.ProviderCreate{Family: f.Slug, ProviderPatch: tenant.ProviderPatch{Name: &f.Slug, BaseURL: &f.DefaultBaseURL}}
		if f.DefaultBaseURL == "" {
			in.BaseURL = ptr("https://llm.example")
		}
		switch f.Slug {
		case "bedrock":
			in.BaseURL = ptr("https://bedrock-runtime.us-east-1.amazonaws.com")
		case "vertex":
			in.BaseURL = ptr("https://us-east5-aiplatform.googleapis.com")
			in.Settings = []byte(`{"project":"p"}`)
		}
		if strings.HasSuffix(f.AuthType, "api_key") {
			in.APIKey = ptr(tenant.NewSecret("k"))
		}
		if cfg, _, err := in.New(nil); err != nil || cfg.AuthType != f.AuthType {
			t.Errorf("%s: got %s, %v", f.Slug, cfg.AuthType, err)
		}
	}
	want := []string{"openai", "anthropic", "azure_openai", "google_ai", "bedrock", "vertex", "groq", "together", "mistral", "cohere", "xai",
		"fireworks", "perplexity", "openrouter", "deepseek", "custom"}
	slices.Sort(slugs)
	slices.Sort(want)
	if diff := cmp.Diff(want, slugs); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
}
