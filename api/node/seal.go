package node

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// Sealed is a provider credential that only a data-plane node can open. What it
// may be used for is bound into the encryption (HPKE info, RFC 9180): opening it
// for another organization, credential, version or host fails.
type Sealed struct {
	CredentialID uuid.UUID `json:"credential_id"`
	Version      int64     `json:"version"`
	// Host is the only host (host or host:port, lower case) that may be sent it.
	Host string `json:"host"`
	// KeyID names the node key it is sealed to: the first 8 bytes of the SHA-256
	// of the public key, hexadecimal.
	KeyID      string `json:"key_id"`
	Ciphertext []byte `json:"ciphertext"`
}

// Credential is the plain text of a seal, as JSON.
type Credential struct {
	APIKey string `json:"api_key,omitempty"`
	// Structured is the admin API's "credentials" object (AWS, Google).
	Structured json.RawMessage `json:"credentials,omitempty"`
}

// Info is what the seal is bound to.
func (s *Sealed) Info(org uuid.UUID) []byte {
	return []byte("spillway credential v1\n" + org.String() + "\n" + s.CredentialID.String() + "\n" +
		strconv.FormatInt(s.Version, 10) + "\n" + s.Host)
}

// SealSuite returns the algorithms of a seal: X25519, HKDF-SHA256, AES-256-GCM.
func SealSuite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.DHKEM(ecdh.X25519()), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// SealKeyID names a public key.
func SealKeyID(public hpke.PublicKey) string {
	sum := HashKey(string(public.Bytes()))
	return hex.EncodeToString(sum[:8])
}

// ParseSealPublicKey reads the hexadecimal form that `spillway keygen` prints.
func ParseSealPublicKey(text string) (hpke.PublicKey, error) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("seal public key: %w", err)
	}
	kem, _, _ := SealSuite()
	return kem.NewPublicKey(raw)
}

// ParseSealPrivateKey reads the hexadecimal form that `spillway keygen` prints.
func ParseSealPrivateKey(text string) (hpke.PrivateKey, error) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return nil, errors.New("a seal key is hexadecimal") // the text itself is a secret
	}
	kem, _, _ := SealSuite()
	return kem.NewPrivateKey(raw)
}

// Seal encrypts secret so that only the holder of the private key can read it,
// and only for org, s.CredentialID, s.Version and s.Host. It returns s with
// KeyID and Ciphertext set.
func Seal(public hpke.PublicKey, org uuid.UUID, s Sealed, secret []byte) (Sealed, error) {
	_, kdf, aead := SealSuite()
	ciphertext, err := hpke.Seal(public, kdf, aead, s.Info(org), secret)
	if err != nil {
		return Sealed{}, fmt.Errorf("sealing credential %s: %w", s.CredentialID, err)
	}
	s.KeyID, s.Ciphertext = SealKeyID(public), ciphertext
	return s, nil
}
