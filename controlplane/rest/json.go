package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spillway-gateway/spillway/controlplane/tenant"
)

// maxDepth bounds the nesting of a body.
const maxDepth = 64

// jsonObject is an object in the order it was written, each name once.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// parseJSON reads one JSON value without guessing: of two equal names
// encoding/json takes the last, and another reader the first, so what was checked
// need not be what is meant.
func parseJSON(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, badJSON("it is not UTF-8")
	}
	p := jsonParser{json.NewDecoder(bytes.NewReader(data))}
	p.UseNumber()
	value, err := p.value(0)
	if err == nil {
		if _, extra := p.Token(); extra != io.EOF {
			err = badJSON("there is text after the value")
		}
	}
	if domain := (*tenant.Error)(nil); err != nil && !errors.As(err, &domain) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, badJSON(err.Error())
	}
	return value, err
}

func badJSON(reason string) error {
	return &tenant.Error{Kind: tenant.KindInvalid, Code: "invalid_json", Message: "the request body is not valid JSON: " + reason}
}

type jsonParser struct{ *json.Decoder }

func (p jsonParser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, badJSON(fmt.Sprintf("it is nested deeper than %d levels", maxDepth))
	}
	token, err := p.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case string:
		return t, storable(t)
	}
	return token, nil
}

func (p jsonParser) object(depth int) (any, error) {
	object, seen := jsonObject{}, map[string]bool{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder allows nothing else here
		if seen[name] {
			return nil, &tenant.Error{Kind: tenant.KindInvalid, Code: "duplicate_field", Param: name, Message: "duplicate field `" + name + "`"}
		}
		seen[name] = true
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := storable(name); err != nil {
			return nil, err
		}
		object = append(object, jsonMember{name, value})
	}
	_, err := p.Token()
	return object, err
}

func (p jsonParser) array(depth int) (any, error) {
	array := []any{}
	for p.More() {
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := p.Token()
	return array, err
}

// storable refuses the one character that Postgres text cannot hold.
func storable(text string) error {
	if !storableText(text) {
		return badJSON("a string contains the character U+0000")
	}
	return nil
}

// storableText reports whether Postgres can hold the text, or even look for it.
func storableText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
