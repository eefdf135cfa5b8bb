package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// maxNumberLen bounds a number's text, so that it can be compared exactly.
const maxNumberLen = 40

// number is a number in the one form it has here: int64 where it is whole and fits.
func number(text string) (any, error) {
	if len(text) > maxNumberLen {
		return nil, errors.New("the number is too long")
	}
	if strings.Trim(text, "0123456789+-.eE") != "" { // nor what else math/big would read
		return nil, errors.New("must be a number")
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if exp, err := strconv.Atoi(text[at+1:]); err != nil || exp > maxNumberLen || exp < -maxNumberLen {
			return nil, errors.New("must be a number of ordinary size")
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errors.New("must be a number")
	}
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().Int64(), nil
	}
	places, _ := r.FloatPrec()
	return json.Number(r.FloatString(places)), nil
}

// decode reads JSON into the values of an object.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return plain(v), nil
}

// plain brings what encoding/json and the API's description have into the values of an
// object.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := number(v.String()); err == nil {
			return n
		}
		return v
	case float64:
		if n, err := number(strconv.FormatFloat(v, 'f', -1, 64)); err == nil {
			return n
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case map[string]any:
		out := object{}
		for k := range v {
			out[k] = plain(v[k])
		}
		return out
	}
	return v
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

func whole(v any) int64 {
	n, _ := v.(int64)
	return n
}
