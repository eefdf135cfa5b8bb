// What a call came to, as the test that runs these scripts reads it: one JSON
// object on stdout.

// run makes the call that CALL names; the calls fill the outcome as they go, so
// that it shows what came before an error.
export async function run(calls) {
  const outcome = {};
  try {
    await calls[process.env.CALL](outcome, process.env.MODEL);
  } catch (err) {
    outcome.route ??= route(err.headers);
    outcome.error = failure(err);
  }
  process.stdout.write(JSON.stringify(outcome) + "\n");
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
