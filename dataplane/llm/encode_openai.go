package llm

// function writes a tool's name, description and parameters, as OpenAI calls them.
func (w *writer) function(t *Tool) {
	w.str("name", flatName(t.Namespace, t.Name))
	w.opt("description", t.Description)
	w.raw("parameters", schemaObject(t.Schema))
}

// format writes the members of a format; chat nests the schema once more.
func (w *writer) format(f *Format, nested bool) {
	if f.Schema == nil {
		w.str("type", "json_object")
		return
	}
	w.str("type", "json_schema")
	if nested {
		w.in("json_schema", '{')
	}
	name := f.Name
	if name == "" {
		name = "output"
	}
	w.str("name", name)
	w.opt("description", f.Description)
	w.raw("schema", f.Schema)
	if f.Strict != nil {
		w.bool("strict", *f.Strict)
	}
	if nested {
		w.close('}')
	}
}

// sampling writes how freely the model chooses its words, where that can be said.
func (w *writer) sampling(s *Settings, m *Model) {
	if !m.NoSampling {
		w.num("temperature", s.Temperature)
		w.num("top_p", s.TopP)
	}
}

// extras writes what is OpenAI's own: others refuse fields that they do not know.
func (w *writer) extras(s *Settings) {
	const maxUser = 64 // OpenAI refuses longer ones, and Claude Code's are
	if len(s.User) <= maxUser {
		w.opt("user", s.User)
	}
	w.raw("metadata", s.Metadata)
	w.opt("prompt_cache_key", s.CacheKey)
	w.opt("service_tier", s.Tier)
}
