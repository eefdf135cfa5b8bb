package node

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
)

// Hash is a SHA-256, hexadecimal on the wire.
type Hash [sha256.Size]byte

// MarshalText writes lower-case hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != 2*len(h) {
		return fmt.Errorf("a hash has %d hexadecimal digits, got %d", 2*len(h), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// KeyPrefix starts every gateway key; by it a key is told from a caller's own
// upstream credential.
const KeyPrefix = "bd-"

// A key is "bd-" + 8 characters of key id + 52 of 256 random bits + 7 of CRC-32
// over all before it, in lower-case base32 without padding (RFC 4648).
const (
	keyIDLen  = 8
	secretLen = 52
	crcLen    = 7
	keyLen    = len(KeyPrefix) + keyIDLen + secretLen + crcLen
)

var keyText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewKey makes a gateway key from the system's random source.
func NewKey() string {
	var id [5]byte
	var secret [32]byte
	rand.Read(id[:]) // never fails since Go 1.24
	rand.Read(secret[:])
	body := KeyPrefix + keyText.EncodeToString(id[:]) + keyText.EncodeToString(secret[:])
	return body + keyCRC(body)
}

func keyCRC(body string) string {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE([]byte(body)))
	return keyText.EncodeToString(sum[:])
}

// WellFormedKey reports whether key could have been made by NewKey. It refuses a
// mistyped or truncated key without looking anything up.
func WellFormedKey(key string) bool {
	if len(key) != keyLen || !strings.HasPrefix(key, KeyPrefix) {
		return false
	}
	body := key[:keyLen-crcLen]
	return key[keyLen-crcLen:] == keyCRC(body)
}

// HashKey is how a key is stored and looked up.
func HashKey(key string) Hash { return sha256.Sum256([]byte(key)) }
