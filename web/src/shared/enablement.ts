import type { ModelMapping } from '../api/schema';

/** The routes that use a model on its provider, by name. */
export function routesUsing(all: readonly ModelMapping[], m: ModelMapping): string[] {
  const using = all.filter(
    (o) => o.provider_id === m.provider_id && o.upstream_model === m.upstream_model && o.model_alias !== m.upstream_model,
  );
  return [...new Set(using.map((o) => o.model_alias))];
}
