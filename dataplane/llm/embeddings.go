package llm

// readEmbeddings judges a whole answer with vectors: there must be some, and none empty.
// https://platform.openai.com/docs/api-reference/embeddings
func readEmbeddings(body []byte) AnswerKind {
	s := scanner{b: body}
	s.space()
	if s.peek() != '{' {
		return NoAnswer
	}
	kind := NoAnswer
	err := s.object(1, func(key string) error {
		start := s.i
		switch {
		case key == "data" && s.peek() == '[':
			n, empty := 0, false
			err := s.elements(func() error {
				n++
				there, err := s.vector()
				empty = empty || !there
				return err
			})
			if kind == NoAnswer && n > 0 && !empty {
				kind = RealAnswer
			}
			return err
		case key == "error":
			err := s.value(1)
			if string(s.b[start:s.i]) != "null" {
				kind = ErrorAnswer
			}
			return err
		}
		return s.value(1)
	})
	s.space()
	if err != nil || s.i != len(body) {
		return NoAnswer
	}
	return kind
}

// vector reads an entry of data and reports whether it holds an embedding: numbers, or
// their bytes in base64.
func (s *scanner) vector() (there bool, _ error) {
	if s.peek() != '{' {
		return false, s.value(2)
	}
	err := s.object(3, func(key string) error {
		start := s.i
		if err := s.value(3); err != nil {
			return err
		}
		if value := s.b[start:s.i]; key == "embedding" {
			there = value[0] == '[' && !emptyArray(value) || value[0] == '"' && len(value) > 2
		}
		return nil
	})
	return there, err
}
