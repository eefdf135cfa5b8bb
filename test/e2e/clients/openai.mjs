// Calls with the OpenAI SDK in the package that the first argument names.
import { route, serve } from "./serve.mjs";

const { default: OpenAI } = await import(process.argv[2]);
const newClient = (url, apiKey) => new OpenAI({ baseURL: url + "/v1", apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "Hello" }];

await serve(newClient, {
  async whole(client, model, outcome) {
    const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = data.choices[0].message.content;
    outcome.finish = data.choices[0].finish_reason;
    outcome.tokens = data.usage.completion_tokens;
  },

  async stream(client, model, outcome) {
    const body = { model, messages, stream: true, stream_options: { include_usage: true } };
    const { data, response } = await client.chat.completions.create(body).withResponse();
    outcome.route = route(response.headers);
    outcome.text = "";
    for await (const chunk of data) {
      outcome.text += chunk.choices[0]?.delta.content ?? "";
      outcome.finish = chunk.choices[0]?.finish_reason ?? outcome.finish;
      outcome.tokens = chunk.usage?.completion_tokens ?? outcome.tokens;
    }
  },

  // Without an encoding the SDK asks for base64 and decodes it.
  async embed(client, model, outcome) {
    const { data, response } = await client.embeddings.create({ model, input: ["Hello", "Bye"] }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = data.data.map((d) => Array.from(d.embedding, (x) => x.toFixed(5)).join(" ")).join("\n");
    outcome.tokens = data.usage.prompt_tokens;
  },

  async models(client, model, outcome) {
    const ids = [];
    for await (const { id } of client.models.list()) {
      ids.push((await client.models.retrieve(id)).id);
    }
    outcome.models = ids;
  },
});
