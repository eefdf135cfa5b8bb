package rest_test

import (
	"crypto/hpke"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-gateway/spillway/api/node"
	"github.com/spillway-gateway/spillway/controlplane/store/storetest"
)

// awsWrong is a provider of AWS's with credentials that are refused.
func awsWrong(credentials fields) fields {
	return fields{"model_provider": "bedrock", "auth_type": "aws_keys", "api_key": nil, "base_url": "https://bedrock-runtime.us-east-1.amazonaws.com", "credentials": credentials}
}

// TestNoSecretIsKept puts canaries in and looks for them wherever they could stay:
// the log, every answer, every column of every table.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	a := setup(t)
	const canary = "canary-4f1c"
	id := a.call(t, "POST", providersPath, with(openAI("P"), fields{"api_key": canary + "-create"})).want(t, 200).id(t)
	a.call(t, "PUT", providersPath+"/"+id, fields{"api_key": canary + "-update"}).want(t, 200)
	a.call(t, "POST", providersPath, fields{"name": "AWS", "model_provider": "bedrock", "auth_type": "aws_keys",
		"base_url": "https://bedrock-runtime.us-east-1.amazonaws.com", "credentials": fields{"access_key_id": "k", "secret_access_key": canary + "-aws"}}).want(t, 200)
	for _, refused := range []fields{{"name": ""}, {"api_key": []string{canary}}, {"api_key": canary + " with a space"}, {"unknown": canary},
		{"auth_type": "claude_oauth"}, {"credentials": canary}, awsWrong(fields{"access_key_id": canary}),
		awsWrong(fields{"access_key_id": "k", "secret_access_key": canary + " "}), awsWrong(fields{"access_key_id": "k", "secret_access_key": "s", "sessiontoken": canary})} {
		if r := a.call(t, "POST", providersPath, with(openAI("Q"), with(fields{"api_key": canary + "-refused"}, refused))); r.status < 400 {
			t.Errorf("%v was not refused", refused)
		}
	}
	a.call(t, "POST", providersPath, `{"api_key":"`+canary+`-broken`).want(t, 400)
	a.form(t, url.Values{"grant_type": {"client_credentials"}, "client_id": {a.clientID}, "client_secret": {canary}}, nil).want(t, 401)

	key := a.call(t, "POST", keysPath, fields{"name": "k"}).want(t, 200)
	gatewayKey := key.field(t, "key").(string)
	rotated := a.call(t, "POST", keysPath+"/"+key.id(t)+"/rotate", fields{"grace_secs": 60}).want(t, 200).field(t, "key").(string)
	a.call(t, "GET", keysPath, nil).want(t, 200)

	kept := dump(t, a.db.SuperuserURL) + a.log.String()
	for name, secret := range map[string]string{"provider secret": canary, "gateway key": gatewayKey[8:], "rotated key": rotated[8:],
		"client secret": a.clientSecret, "access token": a.token[len(a.token)-40:]} {
		if strings.Contains(kept, secret) || strings.Contains(kept, hex.EncodeToString([]byte(secret))) {
			t.Errorf("the %s is kept in the database or the log", name)
		}
	}
	if strings.Contains(a.answers.String(), canary) {
		t.Error("a provider secret was answered")
	}
	if got := strings.Count(a.answers.String(), gatewayKey); got != 1 {
		t.Errorf("the gateway key was answered %d times, want once", got)
	}
}

// dump is every row of every table as text.
func dump(t *testing.T, dbURL string) string {
	t.Helper()
	conn := storetest.Connect(t, dbURL)
	rows, err := conn.Query(t.Context(), `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, table := range tables {
		rows, err := conn.Query(t.Context(), `SELECT t::text FROM `+pgx.Identifier{table}.Sanitize()+` t`)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(strings.Join(lines, "\n"))
	}
	if !strings.Contains(all.String(), "Acme automation") {
		t.Fatal("the dump does not hold the rows")
	}
	return all.String()
}

// TestOnlyTheDataPlaneOpensACredential opens the seal as a node does.
func TestOnlyTheDataPlaneOpensACredential(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.call(t, "POST", providersPath, with(openAI("P"), fields{"api_key": "sk-live", "base_url": "https://LLM.Example:8443/v1"})).want(t, 200)
	s, err := a.db.Store.Snapshot(t.Context(), a.org)
	if err != nil {
		t.Fatal(err)
	}
	seal := s.Providers[0].Credential
	if seal.Host != "llm.example:8443" || seal.Version != 1 {
		t.Errorf("got a seal for %s, version %d", seal.Host, seal.Version)
	}
	plain, err := openSeal(a, seal)
	if err != nil {
		t.Fatal(err)
	}
	var got node.Credential
	if err := json.Unmarshal(plain, &got); err != nil || got.APIKey != "sk-live" {
		t.Errorf("got %q, %v", got.APIKey, err)
	}
	elsewhere := *seal
	elsewhere.Host = "evil.example"
	if _, err := openSeal(a, &elsewhere); err == nil {
		t.Error("the seal opens for another host")
	}
}

func openSeal(a *api, s *node.Sealed) ([]byte, error) {
	_, kdf, aead := node.SealSuite()
	return hpke.Open(a.db.SealKey, kdf, aead, s.Info(a.org), s.Ciphertext)
}
