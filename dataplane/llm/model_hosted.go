package llm

import (
	"slices"
	"strings"
)

// Trait is how a model differs from what most take, those that AWS hosts above all.
type Trait uint16

// Traits. What a model lacks is only what its vendor says it lacks: a table that is behind
// must not refuse what works.
const (
	NoSystem        Trait = 1 << iota // instructions apart from the conversation
	NoTools                           // tools
	NoStreamedTools                   // tools where the answer is streamed; see Translation.Whole
	NoForcedCalls                     // a choice of tools
	NoImages                          // images
	NoDocuments                       // documents that are not text
	NoStops                           // stop sequences
	NoPrefill                         // an answer's beginning, as the last turn
	NamedCalls                        // it can be made to call one tool by its name
	FailedResults                     // a result can say that the tool failed
	PlainSchemas                      // a tool's schema has type, properties and required on top and no more
	NestedTopK                        // top_k stands in an inferenceConfig of the model's own, up to 128

	nova = NamedCalls | FailedResults | PlainSchemas | NestedTopK
)

func (m *Model) has(t Trait) bool { return m.Traits&t != 0 }

// hosted are families of models by how their ids on AWS begin, after the region. Sources:
// https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
// https://docs.aws.amazon.com/nova/latest/userguide/tool-choice.html
// https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
// and what the service answers, in AWS's and its users' public reports.
var hosted = map[string]Model{
	"amazon.nova-":              {MaxOutput: 10000, Caches: true, NoSchemas: true, Traits: nova},
	"amazon.nova-micro":         {MaxOutput: 10000, Caches: true, NoSchemas: true, Traits: nova | NoImages | NoDocuments},
	"amazon.nova-premier":       {MaxOutput: 25000, Caches: true, NoSchemas: true, Traits: nova},
	"amazon.nova-2-":            {MaxOutput: 64000, Reasoning: ByConfig, NoSchemas: true, Traits: nova | NoPrefill},
	"amazon.titan-text-":        {NoSchemas: true, Traits: NoSystem | NoTools | NoImages},
	"amazon.titan-text-express": {MaxOutput: 8192, NoSchemas: true, Traits: NoSystem | NoTools | NoImages},
	"amazon.titan-text-lite":    {MaxOutput: 4096, NoSchemas: true, Traits: NoSystem | NoTools | NoImages},
	"ai21.jamba-":               {MaxOutput: 4096, NoSchemas: true, Traits: NoImages},
	"ai21.jamba-instruct":       {MaxOutput: 4096, NoSchemas: true, Traits: NoImages | NoDocuments | NoTools},
	"cohere.command-r":          {MaxOutput: 4000, NoSchemas: true, Traits: NoImages | NoForcedCalls},
	"deepseek.r1":               {MaxOutput: 32768, NoSchemas: true, Traits: NoTools | NoImages},
	"deepseek.v3":               {Traits: NoStops | NoImages},
	"meta.llama":                {NoSchemas: true, Traits: NoStreamedTools | NoForcedCalls | NoPrefill},
	"meta.llama2":               {MaxOutput: 2048, NoSchemas: true, Traits: NoTools | NoImages | NoPrefill},
	"meta.llama3-8b":            {MaxOutput: 2048, NoSchemas: true, Traits: NoTools | NoImages | NoPrefill},
	"meta.llama3-70b":           {MaxOutput: 2048, NoSchemas: true, Traits: NoTools | NoImages | NoPrefill},
	"mistral.mistral-7b":        {MaxOutput: 8192, NoSchemas: true, Traits: NoSystem | NoTools | NoImages},
	"mistral.mixtral-":          {MaxOutput: 4096, NoSchemas: true, Traits: NoSystem | NoTools | NoImages},
	"mistral.mistral-large-24":  {MaxOutput: 8192, NoSchemas: true, Traits: NoStreamedTools | NoImages},
	"mistral.mistral-small-24":  {MaxOutput: 8192, NoSchemas: true, Traits: NoStreamedTools | NoImages | NoDocuments},
	"mistral.pixtral-large-25":  {NoSchemas: true, Traits: NoStreamedTools},
	"openai.gpt-oss":            {Reasoning: ByEffort, Traits: NoStops | NoImages},
	"qwen.":                     {Traits: NoStops},
	"writer.palmyra-":           {NoSchemas: true, Traits: NoStreamedTools | NoImages},
}

// regions are those of AWS's profiles for inference across several of its own, which
// stand before a model's id.
// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
var regions = []string{"af", "apac", "au", "ca", "eu", "global", "il", "in", "jp", "me", "mx", "sa", "us", "us-gov"}

// withoutRegion is a model's id on AWS, or the name as it is.
func withoutRegion(name string) string {
	if region, id, found := strings.Cut(name, "."); found && slices.Contains(regions, region) {
		return id
	}
	return name
}
