// Calls with the AI SDK and one of its providers, in the package that the first argument
// names.
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { route, serve } from "./serve.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const pkg = await import(process.argv[2]);
const create = pkg.createOpenAI ?? pkg.createAnthropic ?? pkg.createOpenAICompatible;
const settings = { name: "gateway", includeUsage: true, supportsStructuredOutputs: true };
const newClient = (url, apiKey) => create({ ...settings, baseURL: url + "/v1", apiKey });
const prompt = "Hello";
// Else the SDK refers to what OpenAI stored, which nobody else knows.
const providerOptions = { openai: { store: false } };
// What has no counterpart in another dialect, for each provider.
const unheardOf = {
  openai: { previousResponseId: "resp_1" },
  anthropic: { mcpServers: [{ type: "url", name: "files", url: "https://mcp.example" }] },
  gateway: { logprobs: true },
};
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

async function generated(outcome, options) {
  const result = await generateText({ maxRetries: 0, maxOutputTokens: 1000, providerOptions, ...options });
  outcome.route = route(new Headers(result.response.headers));
  outcome.text = result.text;
  outcome.finish = result.finishReason;
  outcome.tokens = result.usage.outputTokens;
  return result;
}

// told notes an error of the SDK's as a person would see it.
function told(call) {
  return async (client, model, outcome) => {
    try {
      await call(client(model), outcome);
    } catch (err) {
      outcome.route = route(new Headers(err.responseHeaders));
      outcome.error = { class: err.name, status: err.statusCode, message: err.message };
    }
  };
}

await serve(newClient, {
  whole: told((model, outcome) => generated(outcome, { model, prompt })),

  stream: told(async (model, outcome) => {
    const result = streamText({ model, prompt, providerOptions, maxRetries: 0, maxOutputTokens: 1000, onError() {} });
    outcome.text = "";
    for await (const part of result.fullStream) {
      if (part.type === "text-delta") outcome.text += part.text;
      if (part.type === "error") throw part.error;
    }
    outcome.route = route(new Headers((await result.response).headers));
    outcome.finish = await result.finishReason;
    outcome.tokens = (await result.usage).outputTokens;
  }),

  tool: told((model, outcome) => {
    const weather = tool({
      description: "Tells the weather",
      inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
      execute: ({ city }) => `rain in ${city}`,
    });
    return generated(outcome, { model, prompt, tools: { weather }, stopWhen: stepCountIs(2) });
  }),

  object: told(async (model, outcome) => {
    const schema = jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false });
    const result = await generated(outcome, { model, prompt, output: Output.object({ schema }) });
    outcome.text = result.output.city;
  }),

  image: told((model, outcome) => {
    const content = [{ type: "text", text: prompt }, { type: "image", image: dot, mediaType: "image/png" }];
    return generated(outcome, { model, messages: [{ role: "user", content }] });
  }),

  unheard: told((model, outcome) => generated(outcome, { model, prompt, providerOptions: unheardOf })),
});
