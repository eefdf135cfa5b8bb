package provider

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
)

// embeddings is the OpenAI embeddings call; keys, headers and errors are chat's.
type embeddings struct{ chat }

// vectors is what a call wants embedded.
type vectors struct {
	inputs     []json.RawMessage // texts, or lists of tokens
	base64     bool
	dimensions int
}

const defaultDimensions = 8 // few, so that people can read them

func (embeddings) parse(body []byte) (call, *fault) {
	var in struct {
		Model          string          `json:"model"`
		Input          json.RawMessage `json:"input"`
		EncodingFormat string          `json:"encoding_format"`
		Dimensions     int             `json:"dimensions"`
	}
	refuse := func(param, format string, args ...any) (call, *fault) {
		return call{model: in.Model}, &fault{status: 400, typ: "invalid_request_error", param: param, message: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return refuse("", "We could not parse the JSON body of your request. (%v)", err)
	}
	c := call{model: in.Model, promptTokens: estimateTokens(in.Input), embed: vectors{inputs: inputs(in.Input), dimensions: defaultDimensions}}
	switch {
	case in.Model == "":
		return refuse("", "you must provide a model parameter")
	case len(c.embed.inputs) == 0:
		return refuse("input", "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	case in.Dimensions < 0:
		return refuse("dimensions", "Invalid value for 'dimensions'.")
	case in.Dimensions > 0:
		c.embed.dimensions = in.Dimensions
	}
	switch in.EncodingFormat {
	case "", "float":
	case "base64":
		c.embed.base64 = true
	default:
		return refuse("encoding_format", "Invalid value: '%s'. Supported values are: 'float' and 'base64'.", in.EncodingFormat)
	}
	return c, nil
}

// inputs are the parts to embed: a text or a list of tokens is one, a list of them many.
func inputs(raw json.RawMessage) []json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil
		}
		return []json.RawMessage{raw}
	}
	var tokens []int
	if json.Unmarshal(raw, &tokens) == nil && len(tokens) > 0 {
		return []json.RawMessage{raw}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

func (embeddings) document(c call, a answer) any {
	data := make([]any, len(c.embed.inputs))
	for i, input := range c.embed.inputs {
		data[i] = object("object", "embedding", "index", i, "embedding", c.embed.of(c.model, input))
	}
	return object("object", "list", "data", data, "model", c.model,
		"usage", object("prompt_tokens", a.usage.Input, "total_tokens", a.usage.Input))
}

// of makes up the vector that a model has for an input: always the same, and another for
// another model.
func (v vectors) of(model string, input json.RawMessage) any {
	h := fnv.New64a()
	_, _ = h.Write([]byte(model + "\x00" + string(input))) // never fails
	seed := h.Sum64()
	floats := make([]float32, v.dimensions)
	for i := range floats {
		seed = seed*6364136223846793005 + 1442695040888963407
		floats[i] = float32(seed>>40)/(1<<23) - 1
	}
	if !v.base64 {
		return floats
	}
	raw := make([]byte, 0, 4*len(floats))
	for _, f := range floats {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
