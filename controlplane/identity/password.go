package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// PasswordCost is what one Argon2id hash costs (RFC 9106, section 3.1). It is written into
// the hash, so that it can be raised: an older hash is replaced when its owner signs in.
type PasswordCost struct {
	MemoryKiB uint32 // at least 8 for each thread
	Passes    uint32 // at least 1
	Threads   uint8  // at least 1
}

// defaultCost is what OWASP asks for at least. More memory would let a few sign-ins at a time
// fill a small control plane.
// https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
var defaultCost = PasswordCost{MemoryKiB: 19 << 10, Passes: 2, Threads: 1}

const (
	saltLen = 16
	hashLen = 32
	// atOnce is how many hashes are made at a time: each takes 19 MiB.
	atOnce = 4

	// What is read from the database is bounded all the same.
	maxArgonMemory = 1 << 20
	maxArgonPasses = 16
)

// passwords hashes and checks passwords with Argon2id.
type passwords struct {
	cost  PasswordCost
	slots chan struct{}
	// nobody is the hash of no account's password: an unknown account takes as long to
	// refuse as a known one.
	nobody string
}

func newPasswords(cost PasswordCost) *passwords {
	p := &passwords{cost: cost, slots: make(chan struct{}, atOnce)}
	p.nobody = cost.encode(make([]byte, saltLen), make([]byte, hashLen)) // no password gives a hash of zeros
	return p
}

// slot waits for a place among those that hash.
func (p *passwords) slot(ctx context.Context) (free func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hash returns a new hash in the PHC string format.
func (p *passwords) hash(ctx context.Context, password tenant.Secret) (string, error) {
	free, err := p.slot(ctx)
	if err != nil {
		return "", err
	}
	defer free()
	salt := make([]byte, saltLen)
	rand.Read(salt) // never fails since Go 1.24
	return p.cost.encode(salt, p.cost.key(password, salt, hashLen)), nil
}

// check reports whether the password is the hash's, and whether the hash is weaker than
// what hash makes now.
func (p *passwords) check(ctx context.Context, encoded string, password tenant.Secret) (ok, weak bool, err error) {
	cost, salt, want, err := decodeHash(encoded)
	if err != nil {
		return false, false, err
	}
	free, err := p.slot(ctx)
	if err != nil {
		return false, false, err
	}
	defer free()
	got := cost.key(password, salt, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, cost != p.cost, nil
}

func (a PasswordCost) key(password tenant.Secret, salt []byte, length uint32) []byte {
	return argon2.IDKey([]byte(password.Reveal()), salt, a.Passes, a.MemoryKiB, a.Threads, length)
}

var phc = base64.RawStdEncoding

// encode writes the PHC string format.
// https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
func (a PasswordCost) encode(salt, hash []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, a.MemoryKiB, a.Passes, a.Threads, phc.EncodeToString(salt), phc.EncodeToString(hash))
}

var errBadHash = errors.New("a stored password hash cannot be read")

func decodeHash(encoded string) (a PasswordCost, salt, hash []byte, err error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return a, nil, nil, errBadHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &a.MemoryKiB, &a.Passes, &a.Threads); err != nil {
		return a, nil, nil, errBadHash
	}
	salt, saltErr := phc.DecodeString(parts[4])
	hash, hashErr := phc.DecodeString(parts[5])
	if saltErr != nil || hashErr != nil || len(hash) < saltLen || a.MemoryKiB > maxArgonMemory || a.Passes < 1 || a.Passes > maxArgonPasses || a.Threads < 1 {
		return a, nil, nil, errBadHash
	}
	return a, salt, hash, nil
}
