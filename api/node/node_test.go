package node

import (
	"crypto/ed25519"
	"crypto/hpke"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func signing(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeysAreWellFormedAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		key := NewKey()
		if !WellFormedKey(key) || !strings.HasPrefix(key, KeyPrefix) || seen[key] {
			t.Fatalf("bad key %q", key)
		}
		seen[key] = true
	}
}

// A mistyped key is refused without looking anything up: any one character
// changed, left out or added.
func TestMistypedKeysAreRefused(t *testing.T) {
	t.Parallel()
	key := NewKey()
	for i := range key {
		other := byte('a')
		if key[i] == 'a' {
			other = 'b'
		}
		for _, wrong := range []string{key[:i] + string(other) + key[i+1:], key[:i] + key[i+1:], key[:i] + "a" + key[i:]} {
			if wrong != key && WellFormedKey(wrong) {
				t.Errorf("%q passes for a key", wrong)
			}
		}
	}
}

func TestEnvelopeRoundTrip(t *testing.T) {
	t.Parallel()
	key := signing(t)
	want := &Snapshot{Format: Format, OrganizationID: uuid.New(), Epoch: 1, Version: 7, Providers: []Provider{{Name: "p"}}, Mappings: []Mapping{}, Keys: []Key{{Hash: HashKey("x")}}}
	envelope, err := Envelope(key, want)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Envelope(key, want)
	if err != nil || string(again) != string(envelope) {
		t.Error("equal snapshots must give equal bytes")
	}
	got, err := Open(key.Public().(ed25519.PublicKey), envelope)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedEnvelopesAreRefused(t *testing.T) {
	t.Parallel()
	key := signing(t)
	public := key.Public().(ed25519.PublicKey)
	envelope, err := Envelope(key, &Snapshot{Format: Format})
	if err != nil {
		t.Fatal(err)
	}
	for i := range envelope {
		damaged := append([]byte(nil), envelope...)
		damaged[i] ^= 1
		if _, err := Open(public, damaged); err == nil {
			t.Fatalf("byte %d flipped, and the envelope opens", i)
		}
		if _, err := Open(public, envelope[:i]); err == nil {
			t.Fatalf("cut at %d, and the envelope opens", i)
		}
	}
	if _, err := Open(signing(t).Public().(ed25519.PublicKey), envelope); !errors.Is(err, ErrBadSignature) {
		t.Errorf("another installation's signature: got %v", err)
	}
	future, err := Envelope(key, &Snapshot{Format: Format + 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(public, future); !errors.Is(err, ErrBadDocument) {
		t.Errorf("a format from the future: got %v", err)
	}
}

// A seal opens for what it was made for and for nothing else.
func TestSealIsBound(t *testing.T) {
	t.Parallel()
	kem, kdf, aead := SealSuite()
	private, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	org := uuid.New()
	sealed, err := Seal(private.PublicKey(), org, Sealed{CredentialID: uuid.New(), Version: 1, Host: "api.example.com"}, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	open := func(s Sealed, org uuid.UUID) (string, error) {
		plain, err := hpke.Open(private, kdf, aead, s.Info(org), s.Ciphertext)
		return string(plain), err
	}
	if got, err := open(sealed, org); err != nil || got != "secret" {
		t.Fatalf("got %q, %v", got, err)
	}
	if raw, _ := json.Marshal(sealed); strings.Contains(string(raw), "secret") {
		t.Error("the seal shows the secret")
	}
	host, version, id := sealed, sealed, sealed
	host.Host, version.Version, id.CredentialID = "evil.example.com", 2, uuid.New()
	for name, s := range map[string]Sealed{"host": host, "version": version, "credential": id} {
		if _, err := open(s, org); err == nil {
			t.Errorf("opens for another %s", name)
		}
	}
	if _, err := open(sealed, uuid.New()); err == nil {
		t.Error("opens for another organization")
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	s := Snapshot{Epoch: 2, Version: 5}
	for _, c := range []struct {
		epoch, version int64
		want           bool
	}{{2, 4, true}, {2, 5, false}, {2, 6, false}, {1, 99, true}, {3, 1, false}} {
		if got := s.Newer(c.epoch, c.version); got != c.want {
			t.Errorf("(2,5) newer than (%d,%d): got %v", c.epoch, c.version, got)
		}
	}
}

func FuzzOpen(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	envelope, err := Envelope(key, &Snapshot{Format: Format})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(envelope)
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := Open(key.Public().(ed25519.PublicKey), b); err == nil && s.Format != Format {
			t.Error("opened a document of another format")
		}
	})
}
