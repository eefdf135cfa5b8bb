package dev

import (
	"crypto/ed25519"
	"crypto/hpke"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spillway-gateway/spillway/api/node"
)

// Keys are the installation's secrets: what signs snapshots, what signs access
// tokens, and what provider credentials are sealed to.
type Keys struct {
	Signing ed25519.PrivateKey
	Token   ed25519.PrivateKey
	Seal    hpke.PrivateKey
}

// keyFile is Keys on disk, hexadecimal.
type keyFile struct {
	Signing string `json:"signing_key"`
	Token   string `json:"token_key"`
	Seal    string `json:"seal_key"`
}

// NewKeys makes fresh keys.
func NewKeys() (Keys, error) {
	_, signing, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Keys{}, err
	}
	_, token, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Keys{}, err
	}
	kem, _, _ := node.SealSuite()
	seal, err := kem.GenerateKey()
	return Keys{signing, token, seal}, err
}

// LoadKeys reads the keys of a data folder, or makes them on first use.
func LoadKeys(dir string) (Keys, error) {
	path := filepath.Join(dir, "keys.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createKeys(path)
	}
	if err != nil {
		return Keys{}, err
	}
	var f keyFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return Keys{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	keys, err := f.parse()
	if err != nil {
		return Keys{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return keys, nil
}

func (f keyFile) parse() (Keys, error) {
	signing, err := node.ParseSigningKey(f.Signing)
	if err != nil {
		return Keys{}, err
	}
	token, err := node.ParseSigningKey(f.Token)
	if err != nil {
		return Keys{}, err
	}
	seal, err := node.ParseSealPrivateKey(f.Seal)
	return Keys{signing, token, seal}, err
}

func createKeys(path string) (Keys, error) {
	keys, err := NewKeys()
	if err != nil {
		return Keys{}, err
	}
	seal, err := keys.Seal.Bytes()
	if err != nil {
		return Keys{}, err
	}
	return keys, writeSecret(path, keyFile{hex.EncodeToString(keys.Signing.Seed()), hex.EncodeToString(keys.Token.Seed()), hex.EncodeToString(seal)})
}

// writeSecret writes v as JSON that only this user can read, whole or not at all.
func writeSecret(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".tmp-") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(append(raw, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
