package llm

import "strconv"

// Limits of what the service reads.
const (
	maxConverseTokens = 1<<31 - 1
	maxNestedTopK     = 128
)

// inference writes inferenceConfig. At its highest effort Amazon's model takes none of
// limit and sampling.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html
func (e *converseEncoder) inference() {
	s := &e.q.Settings
	start := len(e.b)
	e.in("inferenceConfig", '{')
	empty := len(e.b)
	if e.configEffort() != "high" {
		if limit := e.m.limit(s.MaxTokens); limit > 0 {
			e.int("maxTokens", min(limit, maxConverseTokens))
		}
		e.num("temperature", atMost1(s.Temperature))
		e.num("topP", s.TopP)
	}
	if len(s.Stop) > 0 {
		e.stops(s.Stop)
	}
	if len(e.b) == empty {
		e.b = e.b[:start]
		return
	}
	e.close('}')
}

func (e *converseEncoder) stops(stops []string) {
	if e.m.has(NoStops) {
		e.cannot("stop", "the target's model knows no stop sequences")
	}
	e.in("stopSequences", '[')
	for _, stop := range stops {
		if stop != "" {
			e.element(stop)
		}
	}
	e.close(']')
}

// configEffort is the word for a model that is told to think by an object, or empty. It
// does not think before a call that it is made to make. Its highest effort goes without a
// limit, so whoever gave one gets the effort below: nobody pays for more than was asked.
// https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
func (e *converseEncoder) configEffort() string {
	t := &e.q.Settings.Think
	if e.m.Reasoning != ByConfig || t.Mode == ThinkOff || e.forced() {
		return ""
	}
	word := t.word()
	if word == "" && t.Mode == ThinkAdaptive {
		word = "medium"
	}
	effort := e.m.effort(word)
	if effort == "high" && e.q.Settings.MaxTokens > 0 {
		return "medium"
	}
	return effort
}

// additional writes what only some models take.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
func (e *converseEncoder) additional() {
	start := len(e.b)
	e.in("additionalModelRequestFields", '{')
	empty := len(e.b)
	effort := e.configEffort()
	if effort != "" {
		e.in("reasoningConfig", '{')
		e.str("type", "enabled")
		e.str("maxReasoningEffort", effort)
		e.close('}')
	}
	e.opt("reasoning_effort", e.m.openAIEffort(e.q.Settings.Think))
	if k := e.q.Settings.TopK; k != "" && e.m.has(NestedTopK) && effort != "high" {
		e.in("inferenceConfig", '{')
		e.num("topK", atMostTopK(k))
		e.close('}')
	}
	if len(e.b) == empty {
		e.b = e.b[:start]
		return
	}
	e.close('}')
}

func atMostTopK(k Number) Number {
	if f, err := strconv.ParseFloat(string(k), 64); err == nil && f > maxNestedTopK {
		return Number(strconv.Itoa(maxNestedTopK))
	}
	return k
}

// format writes outputConfig. The schema is the text of one.
// https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
func (e *converseEncoder) format(f *Format) {
	if f == nil || e.answer != "" {
		return
	}
	e.schema(f, "Converse")
	e.in("outputConfig", '{')
	e.in("textFormat", '{')
	e.str("type", "json_schema")
	e.in("structure", '{')
	e.in("jsonSchema", '{')
	e.str("schema", string(f.Schema))
	e.opt("name", f.Name)
	e.opt("description", f.Description)
	for range 4 {
		e.close('}')
	}
}
