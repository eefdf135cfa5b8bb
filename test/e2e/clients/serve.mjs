// The talk with the test that runs these scripts: it writes a call to stdin, one
// JSON object on a line, and reads what the call came to from stdout in the same
// way. One process makes all calls of an SDK, since loading one takes long.
import { createInterface } from "node:readline";

// serve answers calls until stdin ends. newClient is given where to and with which
// key; a call fills the outcome as it goes, so that it shows what came before an
// error.
export async function serve(newClient, calls) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { kind, base_url, key, model } = JSON.parse(line);
    const outcome = {};
    try {
      await calls[kind](newClient(base_url, key), model, outcome);
    } catch (err) {
      outcome.route ??= route(err.headers);
      outcome.error = failure(err);
    }
    process.stdout.write(JSON.stringify(outcome) + "\n");
  }
}

export function route(headers) {
  const value = (name) => headers?.get(name) ?? "";
  return {
    attempt: value("x-bd-provider-route-attempt"),
    count: value("x-bd-provider-route-count"),
    failovers: value("x-bd-provider-failover-count"),
  };
}

// The body of an error is what OpenAI's SDK makes of it, {message, ...}, or all of
// it in Anthropic's, {error: {message, ...}}.
function failure(err) {
  const said = err.error?.error ?? err.error;
  return {
    class: err.constructor.name,
    status: err.status,
    type: err.type,
    code: err.code,
    message: err.message,
    request_id: err.requestID,
    retry_after: err.headers?.get("retry-after"),
    attempts: said?.metadata?.attempts,
  };
}
