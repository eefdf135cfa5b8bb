package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Text writes the changes for people: + what is made, ~ what is changed, - what is
// deleted.
func (p *Plan) Text() []string {
	var out []string
	for _, c := range p.Changes {
		out = append(out, map[string]string{ActionCreate: "+ ", ActionUpdate: "~ ", ActionDelete: "- "}[c.Action]+strings.TrimSpace(c.Kind+" "+c.Name))
		for _, f := range c.Fields {
			line := "    " + f.Field + ": "
			switch {
			case c.Action == ActionCreate:
				line += show(f.New)
			case f.Old == nil && strings.HasPrefix(f.Field, "target "):
				line = "  + " + f.Field + more(f.New)
			case f.New == nil && strings.HasPrefix(f.Field, "target "):
				line = "  - " + f.Field
			case isMention(f.New):
				line += show(f.New)
			default:
				line += show(f.Old) + " -> " + show(f.New)
			}
			out = append(out, line)
		}
		for _, n := range c.Notes {
			out = append(out, "    ("+n+")")
		}
	}
	return out
}

func isMention(v any) bool {
	_, ok := v.(mention)
	return ok
}

// more are the settings of a new target.
func more(v any) string {
	if o, ok := v.(object); ok {
		for _, settings := range o {
			return " " + show(settings)
		}
	}
	return ""
}

// show is a value in one line, a long one in part.
func show(v any) string {
	if v == nil {
		return "unset"
	}
	if hidden, ok := v.(mention); ok {
		return "(" + string(hidden) + ")"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}
