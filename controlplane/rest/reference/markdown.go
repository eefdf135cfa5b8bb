package reference

import (
	"html/template"
	"regexp"
	"strings"
)

var (
	code   = regexp.MustCompile("`([^`]+)`")
	strong = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// markdown renders what the document's descriptions use: paragraphs, tables, code and
// strong words. Everything else is text.
func markdown(text string) template.HTML {
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if block = strings.TrimSpace(block); block == "" {
			continue
		}
		if strings.HasPrefix(block, "|") {
			writeTable(&out, block)
			continue
		}
		out.WriteString("<p>" + inline(block) + "</p>")
	}
	return template.HTML(out.String())
}

// inline escapes a text and marks what is code or strong in it. Within code nothing is
// marked.
func inline(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range code.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(words(text[last:at[0]]))
		out.WriteString("<code>" + template.HTMLEscapeString(text[at[2]:at[3]]) + "</code>")
		last = at[1]
	}
	out.WriteString(words(text[last:]))
	return out.String()
}

func words(text string) string {
	return strong.ReplaceAllString(template.HTMLEscapeString(text), "<strong>$1</strong>")
}

// writeTable renders a table: a line of heads, one of dashes, and lines of cells.
func writeTable(out *strings.Builder, block string) {
	out.WriteString("<div class=scroll><table>")
	for i, line := range strings.Split(block, "\n") {
		if i == 1 {
			continue
		}
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		out.WriteString("<tr>")
		for part := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			out.WriteString("<" + cell + ">" + inline(strings.TrimSpace(part)) + "</" + cell + ">")
		}
		out.WriteString("</tr>")
	}
	out.WriteString("</table></div>")
}
