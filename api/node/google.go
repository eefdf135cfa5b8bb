package node

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CredentialError says which field of a credential is wrong. It never shows its value.
type CredentialError struct {
	Field string // below credentials; empty: the whole
	Text  string // a clause, e.g. "must be an email address"
}

func (e *CredentialError) Error() string {
	return strings.TrimSuffix("credentials."+e.Field, ".") + " " + e.Text
}

// ServiceAccount is what of a service account's key is used.
type ServiceAccount struct {
	Email string
	KeyID string
	Key   string // PEM
}

// googleTokenURIs are those of the keys that Google gave out over the years. None is asked:
// a key is part of a tenant's input, and tokens come from one fixed address.
var googleTokenURIs = []string{
	"", "https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token",
	"https://www.googleapis.com/oauth2/v3/token",
}

// ReadServiceAccount reads a credential of the type google_service_account: the key file as
// Google gives it, or that as the object or the text in the one field service_account_json.
// The error is a *CredentialError.
// https://cloud.google.com/iam/docs/keys-create-delete
func ReadServiceAccount(credential json.RawMessage) (ServiceAccount, error) {
	file, prefix := keyFile(credential)
	var key struct {
		Type     string `json:"type"`
		Email    string `json:"client_email"`
		KeyID    string `json:"private_key_id"`
		Key      string `json:"private_key"`
		TokenURI string `json:"token_uri"`
		Universe string `json:"universe_domain"`
	}
	wrong := func(field, format string, args ...any) (ServiceAccount, error) {
		return ServiceAccount{}, &CredentialError{Field: prefix + field, Text: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(file, &key); err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) && typed.Field != "" {
			return wrong(typed.Field, "must be a string")
		}
		return ServiceAccount{}, &CredentialError{Field: strings.TrimSuffix(prefix, "."), Text: "must be the JSON of a service account's key"}
	}
	switch {
	case key.Type == "external_account" || key.Type == "authorized_user" || key.Type == "impersonated_service_account":
		return wrong("type", "must be 'service_account': a credential of another type names addresses of its own, which are not asked")
	case key.Type != "service_account":
		return wrong("type", "must be 'service_account'")
	case !isPrincipal(key.Email):
		return wrong("client_email", "must be a service account's email address")
	case key.Universe != "" && key.Universe != "googleapis.com":
		return wrong("universe_domain", "must be 'googleapis.com'")
	case !slices.Contains(googleTokenURIs, key.TokenURI):
		return wrong("token_uri", "must be Google's, 'https://oauth2.googleapis.com/token'")
	}
	if err := checkRSAKey(key.Key); err != nil {
		return wrong("private_key", "%v", err)
	}
	return ServiceAccount{key.Email, key.KeyID, key.Key}, nil
}

// keyFile is the key's JSON, and where in the credential it stands.
func keyFile(credential json.RawMessage) (file []byte, prefix string) {
	var wrapped struct {
		File json.RawMessage `json:"service_account_json"`
	}
	if json.Unmarshal(credential, &wrapped) != nil || wrapped.File == nil {
		return credential, ""
	}
	var text string
	if json.Unmarshal(wrapped.File, &text) == nil {
		return []byte(text), "service_account_json."
	}
	return bytes.TrimSpace(wrapped.File), "service_account_json."
}

// checkRSAKey wants a key as PEM, in PKCS #8 as Google gives it or in PKCS #1. The error is
// a clause, and shows nothing of the text.
func checkRSAKey(text string) error {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return errors.New("must be a private key in PEM, its line ends kept")
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if _, isRSA := parsed.(*rsa.PrivateKey); isRSA {
			return nil
		}
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return nil
	}
	return errors.New("must be an RSA private key")
}

// principal is a service account's email address, and nothing that has a meaning in an
// address of IAM's.
var principal = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)

func isPrincipal(text string) bool { return len(text) <= 320 && principal.MatchString(text) }

// ReadImpersonation reads a credential of the type google_impersonation: the service account
// that the node's own identity acts as, in target_principal or service_account_email. The
// error is a *CredentialError.
// https://cloud.google.com/iam/docs/create-short-lived-credentials-direct
func ReadImpersonation(credential json.RawMessage) (email string, err error) {
	var said struct {
		Target string `json:"target_principal"`
		Email  string `json:"service_account_email"`
	}
	if json.Unmarshal(credential, &said) != nil {
		return "", &CredentialError{Text: "must be an object with target_principal, a string"}
	}
	if said.Target == "" {
		said.Target = said.Email
	}
	if !isPrincipal(said.Target) {
		return "", &CredentialError{Field: "target_principal", Text: "must be the email address of the service account to act as"}
	}
	return said.Target, nil
}
