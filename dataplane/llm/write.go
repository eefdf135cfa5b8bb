package llm

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

// writer puts JSON together. The order of fields is the order of calls, so the same
// value always gives the same bytes: prompt caches depend on it.
type writer struct{ b []byte }

// sep writes the comma that the next key or element needs.
func (w *writer) sep() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':', ' ', '\n':
		default:
			w.b = append(w.b, ',')
		}
	}
}

// open starts an object or a list as an element or after a key.
func (w *writer) open(c byte) {
	w.sep()
	w.b = append(w.b, c)
}

func (w *writer) close(c byte) { w.b = append(w.b, c) }

func (w *writer) key(k string) {
	w.sep()
	w.b = append(w.b, '"')
	w.b = append(w.b, k...)
	w.b = append(w.b, '"', ':')
}

// in writes a member that is an object or a list.
func (w *writer) in(k string, c byte) {
	w.key(k)
	w.b = append(w.b, c)
}

// element writes a string in a list.
func (w *writer) element(s string) {
	w.sep()
	w.b = quote(w.b, s)
}

func (w *writer) str(k, s string) {
	w.key(k)
	w.b = quote(w.b, s)
}

// opt writes a string that is not empty.
func (w *writer) opt(k, s string) {
	if s != "" {
		w.str(k, s)
	}
}

func (w *writer) int(k string, n int64) {
	w.key(k)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) num(k string, n Number) {
	if n != "" {
		w.key(k)
		w.b = append(w.b, n...)
	}
}

func (w *writer) bool(k string, yes bool) {
	w.key(k)
	w.b = strconv.AppendBool(w.b, yes)
}

func (w *writer) null(k string) {
	w.key(k)
	w.b = append(w.b, "null"...)
}

// raw writes a value as it came, where there is one. Line ends cannot stand inside a
// JSON string, and must not stand in an event's data.
func (w *writer) raw(k string, v []byte) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	w.value(v)
}

func (w *writer) value(v []byte) {
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		w.b = append(w.b, v...)
		return
	}
	for _, c := range v {
		if c != '\n' && c != '\r' {
			w.b = append(w.b, c)
		}
	}
}

// dataURL writes a member that is a data: URL.
func (w *writer) dataURL(k, mime, base64 string) {
	w.str(k, "data:"+mime+";base64,"+base64)
}

const hexDigits = "0123456789abcdef"

// quote writes s as a JSON string.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(escape(dst, s), '"')
}

// escape writes what stands between the quotes.
func escape(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0xed {
			continue
		}
		if c == 0xed && (i+2 >= len(s) || s[i+1] < 0xa0) {
			continue // not half of a surrogate pair
		}
		dst = append(dst, s[from:i]...)
		switch {
		case c == 0xed:
			u := rune(c&0xf)<<12 | rune(s[i+1]&0x3f)<<6 | rune(s[i+2]&0x3f)
			dst = append(dst, '\\', 'u', hexDigits[u>>12&0xf], hexDigits[u>>8&0xf], hexDigits[u>>4&0xf], hexDigits[u&0xf])
			i += 2
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		from = i + 1
	}
	return append(dst, s[from:]...)
}

// parseDataURL takes "data:image/png;base64,..." apart. Anything but base64 is none.
func parseDataURL(url string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	mime, data, ok = strings.Cut(rest, ",")
	mime, isBase64 := strings.CutSuffix(mime, ";base64")
	if !ok || !isBase64 {
		return "", "", false
	}
	mime, _, _ = strings.Cut(mime, ";")
	return mime, data, isMIME(mime) && data != ""
}

func encodeBase64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
