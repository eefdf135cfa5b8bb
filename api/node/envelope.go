package node

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// MaxSnapshotBytes bounds a decoded snapshot: a document that unpacks to more is
// refused instead of filling a node's memory.
const MaxSnapshotBytes = 64 << 20

// MaxEnvelopeBytes is the largest envelope that is published whole; it must stay
// under NATS's default max_payload of 1 MiB.
const MaxEnvelopeBytes = 960 << 10

// An envelope is magic, SHA-256 of the payload, Ed25519 signature, payload. The
// payload is zstd over the snapshot's JSON. The signature covers the magic and
// the digest, so a digest alone identifies a signed document.
const (
	envelopeMagic  = "spillway-snapshot-1\n"
	envelopeHeader = len(envelopeMagic) + sha256.Size + ed25519.SignatureSize
)

// Errors of Open; the codes of an Ack are named after them.
var (
	ErrBadSignature = errors.New("the document is not signed by this installation's control plane")
	ErrBadDocument  = errors.New("the document cannot be read")
)

// Stateless and safe for concurrent use by EncodeAll and DecodeAll.
var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxSnapshotBytes), zstd.WithDecoderConcurrency(1))
)

// Envelope packs and signs a snapshot. Equal snapshots give equal bytes.
func Envelope(key ed25519.PrivateKey, s *Snapshot) ([]byte, error) {
	doc, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding snapshot of %s: %w", s.OrganizationID, err)
	}
	if len(doc) > MaxSnapshotBytes {
		return nil, fmt.Errorf("snapshot of %s is %d bytes, the limit is %d", s.OrganizationID, len(doc), MaxSnapshotBytes)
	}
	payload := packer.EncodeAll(doc, nil)
	digest := sha256.Sum256(payload)
	signed := append([]byte(envelopeMagic), digest[:]...)
	out := make([]byte, 0, envelopeHeader+len(payload))
	out = append(out, signed...)
	out = append(out, ed25519.Sign(key, signed)...)
	return append(out, payload...), nil
}

// Open verifies and reads an envelope. The error is ErrBadSignature or wraps
// ErrBadDocument.
func Open(key ed25519.PublicKey, envelope []byte) (*Snapshot, error) {
	if len(envelope) < envelopeHeader || string(envelope[:len(envelopeMagic)]) != envelopeMagic {
		return nil, fmt.Errorf("%w: it does not start as a snapshot does", ErrBadDocument)
	}
	signed := envelope[:len(envelopeMagic)+sha256.Size]
	signature := envelope[len(signed):envelopeHeader]
	payload := envelope[envelopeHeader:]
	if sha256.Sum256(payload) != [sha256.Size]byte(signed[len(envelopeMagic):]) {
		return nil, fmt.Errorf("%w: its checksum does not match", ErrBadDocument)
	}
	if !ed25519.Verify(key, signed, signature) {
		return nil, ErrBadSignature
	}
	doc, err := unpacker.DecodeAll(payload, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadDocument, err)
	}
	s := new(Snapshot)
	if err := json.Unmarshal(doc, s); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadDocument, err)
	}
	if s.Format != Format {
		return nil, fmt.Errorf("%w: format %d, this node reads %d", ErrBadDocument, s.Format, Format)
	}
	return s, nil
}

// ParseSigningKey reads the hexadecimal seed that `spillway keygen` prints.
func ParseSigningKey(text string) (ed25519.PrivateKey, error) {
	seed, err := hex.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a signing key is %d hexadecimal digits", 2*ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// ParseSigningPublicKey reads the hexadecimal public key that `spillway keygen` prints.
func ParseSigningPublicKey(text string) (ed25519.PublicKey, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a signing public key is %d hexadecimal digits", 2*ed25519.PublicKeySize)
	}
	return key, nil
}
