// Calls of OpenAI's responses with the SDK in the package that the first argument
// names.
import { route, serve } from "./serve.mjs";

const { default: OpenAI } = await import(process.argv[2]);
const newClient = (url, apiKey) => new OpenAI({ baseURL: url + "/v1", apiKey, maxRetries: 0 });
const input = [{ role: "user", content: "Hello" }];

await serve(newClient, {
  async whole(client, model, outcome) {
    const { data, response } = await client.responses.create({ model, input }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = data.output_text;
    outcome.finish = data.status;
    outcome.tokens = data.usage.output_tokens;
  },

  // A response that failed is told by its last event, and is no error of the SDK's.
  async stream(client, model, outcome) {
    const { data, response } = await client.responses.create({ model, input, stream: true }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = "";
    for await (const event of data) {
      if (event.type === "response.output_text.delta") outcome.text += event.delta;
      if (event.type === "response.completed") {
        outcome.finish = event.response.status;
        outcome.tokens = event.response.usage.output_tokens;
      }
      if (event.type === "response.failed") outcome.error = { class: event.type, ...event.response.error };
    }
  },

  async models(client, model, outcome) {
    const ids = [];
    for await (const { id } of client.models.list()) {
      ids.push((await client.models.retrieve(id)).id);
    }
    outcome.models = ids;
  },
});
