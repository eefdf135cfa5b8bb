package llm

import "bytes"

// Inlined returns a messages request's body with the images and documents in it that it
// gives by their URLs: the clouds that host Anthropic's models take them as bytes only ("URL
// sources are not supported"). fetched are the files that earlier errors asked for, by URL.
// Where there is nothing to put in, which costs one search, it is body itself; else all
// other fields keep their bytes, but for those that are null.
// https://platform.claude.com/docs/en/build-with-claude/vision
func Inlined(body []byte, fetched map[string]File) ([]byte, error) {
	if !bytes.Contains(body, urlWord) {
		return body, nil
	}
	in := inliner{thoughts: thoughts{reader: new(reader)}, files: encoding{hop: &Hop{Fetched: fetched}}}
	m := in.document(body)
	in.list(m, "messages", in.message)
	out := in.rewrite(m)
	switch _, err := in.files.body(); {
	case in.err != nil:
		return nil, in.err
	case err != nil:
		return nil, err
	case !in.changed:
		return body, nil
	}
	return out, nil
}

var urlWord = []byte(`"url"`)

// inliner goes through a conversation for the files in it.
type inliner struct {
	thoughts          // how a list is gone through, and the rest of a body kept
	files    encoding // what is wanted, and how what came is judged
}

// message writes a message.
func (in *inliner) message(v raw, w *writer) bool { return in.within(v, w, "content") }

// within writes an object whose content may have files in it.
func (in *inliner) within(v raw, w *writer, key string) bool {
	if v.kind() != '{' || !bytes.Contains(v, urlWord) {
		return in.keep(v, w)
	}
	m := in.object("", v)
	if m.get(key).kind() != '[' {
		return in.keep(v, w)
	}
	content := writer{}
	content.open('[')
	in.each(m, key, func(v raw) { in.block(v, &content) })
	content.close(']')
	in.with(w, m, key, content.b)
	return true
}

// with writes an object with something else in place of one member.
func (in *inliner) with(w *writer, m members, key string, instead []byte) {
	w.open('{')
	for _, member := range m {
		w.member(member, key, instead)
	}
	w.close('}')
}

func (in *inliner) block(v raw, w *writer) {
	if v.kind() != '{' || !bytes.Contains(v, urlWord) {
		in.keep(v, w)
		return
	}
	m := in.object("", v)
	p := Part{Kind: Image}
	switch in.text(m, "type") {
	case "tool_result":
		in.within(v, w, "content")
		return
	case "document":
		p.Kind = Document
	case "image":
	default:
		in.keep(v, w)
		return
	}
	in.inside(m, "source", func(source members) {
		if in.text(source, "type") == "url" {
			p.Media = &Media{URL: in.needed(source, "url"), At: in.where("url")}
		}
	})
	if p.Media == nil {
		in.keep(v, w)
		return
	}
	in.changed = true
	file := in.files.inBytes(&p)
	source := writer{}
	source.open('{')
	source.str("type", "base64")
	source.str("media_type", imageType(file.MIME, file.Data))
	source.str("data", file.Data)
	source.close('}')
	in.with(w, m, "source", source.b)
}
