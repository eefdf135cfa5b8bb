package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

// noNote are the operations that take no note, and why. One that takes none and is not here
// is one that forgot it; a deletion has no body to put it in.
var noNote = map[string]string{
	"classifyResult":             "changes nothing",
	"explainRequest":             "changes nothing",
	"validateProvider":           "changes nothing: the note of the creation that it tries goes nowhere",
	"validateAwsRole":            "changes nothing",
	"validateGoogleVertex":       "changes nothing",
	"probeProvider":              "changes no configuration",
	"resetRouteHealth":           "changes no configuration; the event names the model",
	"login":                      "changes no configuration",
	"logout":                     "changes no configuration",
	"createToken":                "changes no configuration",
	"updateProfile":              "is of nobody but the caller",
	"changePassword":             "is of nobody but the caller",
	"importModelPricingDefaults": "the versions say where they are from (change_source)",
	"syncModelPricingDefaults":   "the versions say where they are from (change_source)",
	"restoreModelPricing":        "the version says what it is (change_source)",
}

// noteField is the field of the body that says why, or "".
func noteField(c contractOperation) string {
	if !c.body || noNote[c.id] != "" {
		return ""
	}
	properties := c.RequestBody.Value.Content["application/json"].Schema.Value.Properties
	for _, field := range []string{"change_note", "change_reason"} { // of a version of a price
		if properties[field] != nil {
			return field
		}
	}
	return ""
}

// TestEveryNoteIsKept: what an operation takes as its note is on the audit event, on every
// row that it wrote, in its answer and in the next read, with who it was. Without a note the
// old one is gone.
func TestEveryNoteIsKept(t *testing.T) {
	t.Parallel()
	g := newGround(t, storetest.Shared(t))
	rows := storetest.Connect(t, g.db.SuperuserURL)
	left := maps.Clone(noNote)
	for _, c := range contractOperations(t) {
		if c.method == http.MethodGet {
			continue
		}
		t.Run(c.id, func(t *testing.T) {
			field := noteField(c)
			delete(left, c.id)
			switch {
			case noNote[c.id] != "":
				return
			case field == "" && c.method != http.MethodDelete:
				t.Fatal("takes no note")
			case field == "":
				return
			}
			for _, note := range []any{"why " + uuid.NewString(), nil} {
				o, _ := g.offered(t, c.described)
				body := with(o.body.(fields), fields{field: note})
				if note == nil {
					delete(body, field)
				}
				r := o.by.call(t, c.method, o.path, body)
				if r.status != 200 && r.status != 201 {
					t.Fatalf("%d %s", r.status, r.body)
				}
				event := g.call(t, "GET", auditPath+"?limit=1", nil).want(t, 200).list(t)[0]
				if event["operation"] != c.id || event["change_note"] != note {
					t.Errorf("the event of %s has the note %v, want %v of %s", event["operation"], event["change_note"], note, c.id)
				}
				g.noted(t, rows, event, field, note)
				if field == "change_note" { // a reason is a version's, and shown as one (prices_test.go)
					g.showsNote(t, c, o, event, r, note)
				}
			}
		})
	}
	if len(left) > 0 {
		t.Errorf("no operations: %v", left)
	}
}

// noted holds that every row of a change has its note.
func (g *ground) noted(t *testing.T, rows *pgx.Conn, event map[string]any, field string, want any) {
	t.Helper()
	column := map[string]string{"change_note": "last_change_note"}[field]
	if column == "" {
		column = field
	}
	for _, item := range event["changes"].([]any) {
		change := item.(map[string]any)
		table := pgx.Identifier{change["kind"].(string)}.Sanitize()
		if table == `"provider_credentials"` { // a part of the provider
			continue
		}
		var got *string
		err := rows.QueryRow(t.Context(), fmt.Sprintf(`SELECT %s FROM %s WHERE id = $1`, column, table), change["resource_id"]).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if shown := deref(got); shown != want {
			t.Errorf("a row of %s has the note %v, want %v", table, shown, want)
		}
	}
}

func deref(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// showsNote holds that the answer, and a read of the resource by its id, show the note and
// who wrote it.
func (g *ground) showsNote(t *testing.T, c contractOperation, o offer, event map[string]any, r answer, want any) {
	t.Helper()
	shown := attributedIn(r.object(t))
	if c.id == "addRouteTargets" { // the targets before it are as they were
		shown = shown[len(shown)-1:]
	}
	at, _, _ := strings.Cut(c.path, "{")
	if id, one := event["resource_id"].(string); one && c.id != "updateGovernanceConfig" {
		shown = append(shown, o.by.call(t, "GET", strings.TrimSuffix(at, "/")+"/"+id, nil).want(t, 200).object(t))
	}
	if len(shown) == 0 && c.id != "reorderModelMappings" {
		t.Fatal("nothing shows it")
	}
	for _, resource := range shown {
		if resource["last_change_note"] != want || resource["change_note"] != want {
			t.Errorf("shows the notes %v and %v, want %v: %v", resource["last_change_note"], resource["change_note"], want, resource)
		}
		who := resource["last_modified_by_name"]
		if resource["last_modified_at"] == nil {
			who = resource["created_by_name"]
		}
		if who != event["actor_name"] {
			t.Errorf("shows %v as who did it, want %v", who, event["actor_name"])
		}
	}
}

// attributedIn are the resources in an answer: itself, or the targets of a route.
func attributedIn(o map[string]any) (list []map[string]any) {
	if _, ok := o["last_change_note"]; ok {
		return []map[string]any{o}
	}
	if route, ok := o["route"].(map[string]any); ok {
		o = route
	}
	targets, _ := o["targets"].([]any)
	for _, target := range targets {
		list = append(list, target.(map[string]any))
	}
	return list
}

// TestAttributionIsWhole: whatever shows a part of who changed it and why shows all of it.
func TestAttributionIsWhole(t *testing.T) {
	t.Parallel()
	last := []string{"last_modified_by_user_id", "last_modified_by_email", "last_modified_by_name", "last_modified_at", "last_change_note", "change_note"}
	whole := append([]string{"created_by_user_id", "created_by_email", "created_by_name"}, last...)
	exceptions := map[string][]string{
		"GovernanceConfig": last,            // nobody created it
		"ModelPricing":     whole[:3],       // a version is made once
		"AuditEvent":       {"change_note"}, // of the change itself
	}
	for name, schema := range theDocument().Components.Schemas {
		properties := schema.Value.Properties
		_, sent := properties["change_note"]
		if sent && schema.Value.AdditionalProperties.Has != nil { // of requests
			continue
		}
		want, excepted := exceptions[name]
		for _, field := range whole {
			if properties[field] != nil && !excepted {
				want = whole
			}
		}
		for _, field := range want {
			if properties[field] == nil {
				t.Errorf("%s does not show %s", name, field)
			}
		}
	}
}
