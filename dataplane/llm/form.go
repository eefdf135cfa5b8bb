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

// Write is a body of the messages dialect in the form, for the model as the cloud names it.
// betas are what the caller asked for in its anthropic-beta header, one in each, for the form
// that has them in the body. Fields that are not the form's business keep their bytes and
// their order, but for those that are null. The error is a *CannotError.
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
	for _, member := range m {
		switch key := string(member.key); {
		case key == "model", key == "anthropic_version":
			continue
		}
		w.same(member)
	}
	w.close('}')
	return w.b, nil
}

// same writes a member as it came.
func (w *writer) same(m member) {
	w.sep()
	w.b = append(quote(w.b, string(m.key)), ':')
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
