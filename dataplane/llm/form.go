package llm

// Form is how a request's body differs from what the dialect's own vendor takes, where a
// cloud hosts the vendor's models.
type Form uint8

// Forms. The zero value changes nothing.
const (
	OwnForm     Form = iota
	BedrockForm      // Anthropic's models on AWS: the address names the model and the stream
	VertexForm       // Anthropic's models on Google's cloud: the address names the model
)

// hostedVersions are what each cloud wants as anthropic_version.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
// https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
var hostedVersions = map[Form]string{BedrockForm: "bedrock-2023-05-31", VertexForm: "vertex-2023-10-16"}

// Write is a body of the messages dialect in the form, for a model of the target's. betas
// are those of Betas that go into the body. Fields that are not the form's business keep
// their bytes and their order, but for those that are null. The error is a *CannotError.
func (f Form) Write(body []byte, betas []string, model string) ([]byte, error) {
	switch f {
	case OwnForm:
		return body, nil
	case BedrockForm:
		return bedrockBody(body, betas, model)
	}
	var r reader
	m := r.document(body)
	if r.err != nil {
		return nil, r.err
	}
	w := writer{b: make([]byte, 0, len(body)+128)}
	w.open('{')
	w.str("anthropic_version", hostedVersions[f])
	w.betas(betas)
	for _, member := range m {
		w.vertexField(&r, member, model)
	}
	w.close('}')
	if r.err != nil {
		return nil, r.err
	}
	return w.b, nil
}

// WriteCount is Write for a question how many tokens the request is, whose address names
// no model.
func (f Form) WriteCount(body []byte, betas []string, model string) ([]byte, error) {
	written, err := f.Write(body, betas, model)
	if err != nil || f != VertexForm {
		return written, err
	}
	w := writer{b: make([]byte, 0, len(written)+len(model)+16)}
	w.open('{')
	w.str("model", counted(model))
	w.sep()
	w.b = append(w.b, written[1:]...)
	return w.b, nil
}

// same writes a member as it came.
func (w *writer) same(m member) {
	w.named(m.key)
	w.value(m.value)
}

func (w *writer) betas(betas []string) {
	if len(betas) == 0 {
		return
	}
	w.in("anthropic_beta", '[')
	for _, b := range betas {
		w.element(b)
	}
	w.close(']')
}
