package main

import "bytes"

// scanModel finds the value of the top-level "model" of a JSON object, without its
// quotes; 0, 0 without one. It does the least: it skips strings and counts brackets,
// and decodes nothing.
func scanModel(body []byte) (start, end int) {
	depth, isName, name := 0, false, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			depth++
			name = depth == 1
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case ':':
			name = false
		case '"':
			stop := skipString(body, i+1)
			if stop < 0 {
				return 0, 0
			}
			switch {
			case depth != 1:
			case name:
				isName = string(body[i+1:stop]) == "model"
			case isName:
				return i + 1, stop
			}
			i = stop
		}
	}
	return 0, 0
}

// skipString returns where the string that begins at i ends, -1 if it does not.
func skipString(body []byte, i int) int {
	for {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for body[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
}
