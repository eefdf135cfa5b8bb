// Package tenant is what an organization has: its providers, model mappings and
// gateway keys, what each of them may hold, and who may do what with them. It is
// pure: it reads no clock, does no I/O and knows no technology, so that every
// rule can be read and tested by itself.
package tenant

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Limits on text, in characters.
const (
	maxNameLen = 255
	maxNoteLen = 1000
)

// Change is one field of an update that can also be cleared: not Set leaves it as
// it is, Set without a Value clears it.
type Change[T any] struct {
	Set   bool
	Value *T
}

func (c Change[T]) apply(field **T) {
	if c.Set {
		*field = c.Value
	}
}

// apply copies a field of an update that cannot be cleared.
func apply[T any](field *T, change *T) {
	if change != nil {
		*field = *change
	}
}

// Actor is who did something. All parts may be unknown.
type Actor struct {
	UserID *uuid.UUID
	Email  *string
	Name   *string
}

// Attribution is who created a resource and who changed it last. ModifiedAt is nil
// until the first change after creation.
type Attribution struct {
	CreatedBy  Actor
	ModifiedBy Actor
	ModifiedAt *time.Time
	ChangeNote *string
}

// Timeouts of one attempt, in seconds; nil is unset and leaves it to the next tier
// (mapping, provider, default).
type Timeouts struct {
	RequestSecs    *int
	StreamIdleSecs *int
}

func (t Timeouts) validate() error {
	if err := optionalBetween("request_timeout_secs", t.RequestSecs, 1, 600); err != nil {
		return err
	}
	return optionalBetween("stream_idle_timeout_secs", t.StreamIdleSecs, 1, 300)
}

// TimeoutsPatch changes Timeouts.
type TimeoutsPatch struct {
	RequestSecs    Change[int]
	StreamIdleSecs Change[int]
}

func (t *Timeouts) apply(p TimeoutsPatch) {
	p.RequestSecs.apply(&t.RequestSecs)
	p.StreamIdleSecs.apply(&t.StreamIdleSecs)
}

// Secret is text that no formatter, logger or encoder prints.
type Secret struct{ text string }

const redacted = "[redacted]"

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal is the only way to the text.
func (s Secret) Reveal() string { return s.text }

// Format prints [redacted] for every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// MarshalText keeps the text out of every encoder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue keeps the text out of every log.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

func validateNote(note *string) error {
	if note != nil && utf8.RuneCountInString(*note) > maxNoteLen {
		return Invalid("change_note", "change_note must be at most %d characters", maxNoteLen)
	}
	return nil
}

// ValidateName refuses what cannot be shown on one line or typed back: blank text,
// surrounding space, control characters.
func ValidateName(field, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return Invalid(field, "%s must not be blank", field)
	case strings.TrimSpace(name) != name:
		return Invalid(field, "%s must not start or end with a space", field)
	case utf8.RuneCountInString(name) > maxNameLen:
		return Invalid(field, "%s must be at most %d characters", field, maxNameLen)
	case strings.ContainsFunc(name, unicode.IsControl):
		return Invalid(field, "%s must not contain control characters", field)
	}
	return nil
}

func optionalName(field string, name *string) error {
	if name == nil {
		return nil
	}
	return ValidateName(field, *name)
}

// oneOf refuses a value that is not in a list of at least two.
func oneOf(field, value string, allowed []string) error {
	if !slices.Contains(allowed, value) {
		return Invalid(field, "%s must be %s", field, quoted(allowed))
	}
	return nil
}

// quoted is the list in words: 'a', 'b' or 'c'.
func quoted(list []string) string {
	last := len(list) - 1
	return "'" + strings.Join(list[:last], "', '") + "' or '" + list[last] + "'"
}

func optionalBetween(field string, value *int, least, most int) error {
	if value == nil {
		return nil
	}
	return between(field, *value, least, most)
}

func between(field string, value, least, most int) error {
	if value < least || value > most {
		return Invalid(field, "%s must be between %d and %d", field, least, most)
	}
	return nil
}
