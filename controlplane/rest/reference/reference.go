// Package reference renders the API's description as one page: every operation and every
// schema, with anchors, examples and a filter. The page is whole in itself, so that it
// works where no other network is, and a browser is told to load nothing from elsewhere.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// Page is the rendered page, and the Content-Security-Policy to send with it.
type Page struct {
	HTML   []byte
	Policy string
}

// view is what the page is made from.
type view struct {
	Title, Version string
	Description    template.HTML
	CSS            template.CSS
	JS             template.JS
	Tags           []tag
	Schemas        []schemaView
	Security       []named
}

type tag struct {
	Name        string
	Description template.HTML
	Operations  []operation
}

type operation struct {
	ID, Method, Path, Summary, Search string
	Description                       template.HTML
	Public                            bool
	Parameters                        []property
	Body                              *body
	Answers                           []answer
}

type body struct {
	Media, Example string
	Type           template.HTML
}

type answer struct {
	Status      string
	Description template.HTML
	Type        template.HTML
	Headers     []property
	Example     string
}

type property struct {
	Name, In    string
	Type        template.HTML
	Required    bool
	Description template.HTML
	Facts       []string
}

type schemaView struct {
	Name, Search string
	Description  template.HTML
	Type         template.HTML
	Facts        []string
	Properties   []property
}

type named struct {
	Name string
	Text template.HTML
}

// Render makes the page of a document.
func Render(spec *openapi3.T) (Page, error) {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return Page{}, err
	}
	v := view{Title: spec.Info.Title, Version: spec.Info.Version, Description: markdown(spec.Info.Description), CSS: template.CSS(pageCSS), JS: template.JS(pageJS)}
	for _, d := range spec.Tags {
		v.Tags = append(v.Tags, tag{Name: d.Name, Description: markdown(d.Description)})
	}
	if err := v.operations(spec); err != nil {
		return Page{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Components.Schemas)) {
		v.Schemas = append(v.Schemas, showSchema(name, spec.Components.Schemas[name].Value))
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Components.SecuritySchemes)) {
		v.Security = append(v.Security, named{name, markdown(spec.Components.SecuritySchemes[name].Value.Description)})
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return Page{}, err
	}
	return Page{out.Bytes(), "default-src 'none'; style-src '" + hash(pageCSS) + "'; script-src '" + hash(pageJS) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}, nil
}

// hash names an inline style or script in a Content-Security-Policy
// (https://www.w3.org/TR/CSP3/#grammardef-hash-source).
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// operations puts every operation under its tag, in the order of the paths.
func (v *view) operations(spec *openapi3.T) error {
	paths := spec.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path]
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			described := item.GetOperation(method)
			if described == nil {
				continue
			}
			i := slices.IndexFunc(v.Tags, func(t tag) bool { return slices.Contains(described.Tags, t.Name) })
			if i < 0 {
				return fmt.Errorf("operation %s has no tag that the document describes", described.OperationID)
			}
			v.Tags[i].Operations = append(v.Tags[i].Operations, showOperation(method, path, item, described))
		}
	}
	return nil
}

func showOperation(method, path string, item *openapi3.PathItem, described *openapi3.Operation) operation {
	op := operation{ID: described.OperationID, Method: method, Path: path, Summary: described.Summary, Description: markdown(described.Description),
		Public: described.Security != nil && len(*described.Security) == 0,
		Search: strings.ToLower(strings.Join([]string{described.OperationID, method, path, described.Summary}, " "))}
	for _, ref := range slices.Concat(item.Parameters, described.Parameters) {
		p := ref.Value
		shown := showProperty(p.Name, p.Schema, p.Required)
		shown.In = p.In
		if p.Description != "" {
			shown.Description = markdown(p.Description)
		}
		op.Parameters = append(op.Parameters, shown)
	}
	if described.RequestBody != nil {
		for media, content := range described.RequestBody.Value.Content {
			op.Body = &body{Media: media, Type: typeOf(content.Schema)}
			if media == "application/json" {
				op.Body.Example = sample(content, true)
			}
		}
	}
	answers := described.Responses.Map()
	for _, status := range slices.Sorted(maps.Keys(answers)) {
		op.Answers = append(op.Answers, showAnswer(status, answers[status].Value))
	}
	return op
}

func showAnswer(status string, r *openapi3.Response) answer {
	a := answer{Status: status}
	if r.Description != nil {
		a.Description = markdown(*r.Description)
	}
	for media, content := range r.Content {
		a.Type = typeOf(content.Schema)
		if media == "application/json" {
			a.Example = sample(content, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		h := r.Headers[name].Value
		p := showProperty(name, h.Schema, false)
		p.Description = markdown(h.Description)
		a.Headers = append(a.Headers, p)
	}
	return a
}

func showSchema(name string, s *openapi3.Schema) schemaView {
	v := schemaView{Name: name, Search: strings.ToLower(name), Description: markdown(s.Description), Facts: facts(s)}
	if !s.Type.Is(openapi3.TypeObject) {
		v.Type = typeOf(&openapi3.SchemaRef{Value: s})
	}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		v.Properties = append(v.Properties, showProperty(field, s.Properties[field], slices.Contains(s.Required, field)))
	}
	sort.SliceStable(v.Properties, func(i, j int) bool { return v.Properties[i].Required && !v.Properties[j].Required })
	return v
}

func showProperty(name string, ref *openapi3.SchemaRef, required bool) property {
	p := property{Name: name, Type: typeOf(ref), Required: required}
	if ref.Value != nil {
		p.Facts = facts(ref.Value)
		if ref.Ref == "" {
			p.Description = markdown(ref.Value.Description)
		}
	}
	return p
}

// typeOf is a schema in one word, or a link to it.
func typeOf(ref *openapi3.SchemaRef) template.HTML {
	s := ref.Value
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		return template.HTML(fmt.Sprintf(`<a href="#schema-%[1]s">%[1]s</a>`, template.HTMLEscapeString(name)))
	}
	switch {
	case s == nil:
		return "any"
	case len(s.AllOf) == 1:
		return typeOf(s.AllOf[0])
	case s.Type.Is(openapi3.TypeArray):
		return "list of " + typeOf(s.Items)
	case s.Type == nil:
		return "any"
	case s.Format != "" && s.Type.Is(openapi3.TypeString):
		return template.HTML(template.HTMLEscapeString(s.Format))
	}
	return template.HTML(template.HTMLEscapeString(strings.Join(s.Type.Slice(), " or ")))
}

// facts are what a value must be beside its type.
func facts(s *openapi3.Schema) (out []string) {
	if s.Nullable {
		out = append(out, "may be null")
	}
	if s.WriteOnly {
		out = append(out, "never shown")
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, v := range s.Enum {
			words = append(words, fmt.Sprint(v))
		}
		out = append(out, "one of "+strings.Join(words, ", "))
	}
	switch {
	case s.Min != nil && s.Max != nil:
		out = append(out, fmt.Sprintf("%v to %v", *s.Min, *s.Max))
	case s.Min != nil:
		out = append(out, fmt.Sprintf("at least %v", *s.Min))
	case s.Max != nil:
		out = append(out, fmt.Sprintf("at most %v", *s.Max))
	}
	if s.MaxLength != nil {
		out = append(out, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	if s.Default != nil {
		raw, err := json.Marshal(s.Default)
		if err == nil {
			out = append(out, "default "+string(raw))
		}
	}
	if s.Example != nil {
		raw, err := json.Marshal(s.Example)
		if err == nil {
			out = append(out, "such as "+string(raw))
		}
	}
	return out
}
