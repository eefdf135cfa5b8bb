// One call with the Anthropic SDK that PACKAGE names.
import { route, run } from "./outcome.mjs";

const { default: Anthropic } = await import(process.env.PACKAGE);
const client = new Anthropic({
  baseURL: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  maxRetries: 0,
});
const request = { max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };

await run({
  async whole(outcome, model) {
    const { data, response } = await client.messages.create({ model, ...request }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = data.content[0].text;
    outcome.finish = data.stop_reason;
    outcome.tokens = data.usage.output_tokens;
  },

  async stream(outcome, model) {
    const { data, response } = await client.messages.create({ model, ...request, stream: true }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = "";
    for await (const event of data) {
      outcome.text += event.delta?.text ?? "";
      outcome.finish = event.delta?.stop_reason ?? outcome.finish;
      outcome.tokens = event.usage?.output_tokens ?? outcome.tokens;
    }
  },

  async models(outcome) {
    const ids = [];
    for await (const { id } of client.models.list()) {
      ids.push((await client.models.retrieve(id)).id);
    }
    outcome.models = ids;
  },
});
