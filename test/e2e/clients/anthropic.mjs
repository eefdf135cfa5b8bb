// Calls with the Anthropic SDK in the package that the first argument names.
import { route, serve } from "./serve.mjs";

const { default: Anthropic } = await import(process.argv[2]);
const newClient = (url, apiKey) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
const request = { max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };

await serve(newClient, {
  async whole(client, model, outcome) {
    const { data, response } = await client.messages.create({ model, ...request }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = data.content[0].text;
    outcome.finish = data.stop_reason;
    outcome.tokens = data.usage.output_tokens;
  },

  async stream(client, model, outcome) {
    const { data, response } = await client.messages.create({ model, ...request, stream: true }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = "";
    for await (const event of data) {
      outcome.text += event.delta?.text ?? "";
      outcome.finish = event.delta?.stop_reason ?? outcome.finish;
      outcome.tokens = event.usage?.output_tokens ?? outcome.tokens;
    }
  },

  async count(client, model, outcome) {
    const { data, response } = await client.messages.countTokens({ model, messages: request.messages }).withResponse();
    outcome.route = route(response.headers);
    outcome.tokens = data.input_tokens;
  },

  async models(client, model, outcome) {
    const ids = [];
    const page = await client.models.list();
    if (!page.first_id) throw new Error("this is no list of Anthropic's");
    for await (const { id } of page) {
      ids.push((await client.models.retrieve(id)).id);
    }
    outcome.models = ids;
  },
});
