// One call with the OpenAI SDK that PACKAGE names.
import { route, run } from "./outcome.mjs";

const { default: OpenAI } = await import(process.env.PACKAGE);
const client = new OpenAI({
  baseURL: process.env.BASE_URL + "/v1",
  apiKey: process.env.API_KEY,
  maxRetries: 0,
});
const messages = [{ role: "user", content: "Hello" }];

await run({
  async whole(outcome, model) {
    const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
    outcome.route = route(response.headers);
    outcome.text = data.choices[0].message.content;
    outcome.finish = data.choices[0].finish_reason;
    outcome.tokens = data.usage.completion_tokens;
  },

  async stream(outcome, model) {
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

  async models(outcome) {
    const ids = [];
    for await (const { id } of client.models.list()) {
      ids.push((await client.models.retrieve(id)).id);
    }
    outcome.models = ids;
  },
});
