import { queryOptions } from '@tanstack/react-query';
import { api, body } from './client';
import { ApiError } from './errors';

/** What the server says has changed; see live.ts. */
export type Topic = 'config' | 'health' | 'nodes';

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: { topics?: readonly Topic[] };
  }
}

const config = { topics: ['config'] } as const;
const configAndHealth = { topics: ['config', 'health'] } as const;

export const session = queryOptions({
  queryKey: ['session'],
  queryFn: () =>
    body(api.GET('/auth/session')).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 401) {
        return null; // nobody is signed in
      }
      throw error;
    }),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
});

const admin = '/api/llm-gateway/admin' as const;

/** As configured: what a page shows of their health is in `unhealthy`. */
export const routes = queryOptions({
  queryKey: ['routes'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/routes`, { signal })),
  meta: config,
});

/** The first of the routes, if there is any. */
export const anyRoute = queryOptions({
  queryKey: ['routes', 'any'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/routes`, { signal, params: { query: { limit: 1 } } })),
  meta: config,
});

/** As configured; see `routes`. */
export const mappings = queryOptions({
  queryKey: ['mappings'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-mappings`, { signal })),
  meta: config,
});

/** The mappings that the nodes hold back just now: a few of thousands, asked for whenever health changes. */
export const unhealthy = queryOptions({
  queryKey: ['mappings', 'unhealthy'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-mappings`, { signal, params: { query: { unhealthy: true } } })),
  meta: configAndHealth,
});

export const routeGroups = queryOptions({
  queryKey: ['route-groups'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-route-groups`, { signal })),
  meta: config,
});

export const providers = queryOptions({
  queryKey: ['providers'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/providers`, { signal })),
  meta: configAndHealth,
});

export const catalog = queryOptions({
  queryKey: ['catalog'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/provider-catalog`, { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

export const connections = queryOptions({
  queryKey: ['connections'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/connections`, { signal })),
  meta: config,
});

export const policies = queryOptions({
  queryKey: ['model-access'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-access`, { signal })),
  meta: config,
});

export const governance = queryOptions({
  queryKey: ['governance'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/governance-config`, { signal })),
  meta: config,
});

export const keys = queryOptions({
  queryKey: ['api-keys'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/api-keys`, { signal })),
  meta: config,
});

export const users = queryOptions({
  queryKey: ['users'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/users`, { signal })),
  meta: config,
});

export const groups = queryOptions({
  queryKey: ['groups'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/groups`, { signal })),
  meta: config,
});

export const prices = queryOptions({
  queryKey: ['prices'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-pricing`, { signal })),
  meta: config,
});

export const archivedPrices = queryOptions({
  queryKey: ['prices', 'archived'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-pricing/archived`, { signal })),
  meta: config,
});

export const defaultPrices = queryOptions({
  queryKey: ['prices', 'defaults'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/model-pricing/defaults`, { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

export const priceHistory = (pattern: string, family: string | null) =>
  queryOptions({
    queryKey: ['prices', 'history', pattern, family],
    queryFn: ({ signal }) =>
      body(
        api.GET(`${admin}/model-pricing/history`, {
          signal,
          params: { query: { model_pattern: pattern, ...(family ? { model_provider: family } : {}) } },
        }),
      ),
    meta: config,
  });

export const routeHealth = queryOptions({
  queryKey: ['route-health'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/llm-gw/route-health`, { signal })),
  meta: { topics: ['health'] },
});

export const configStatus = queryOptions({
  queryKey: ['config-status'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/config-status`, { signal })),
  meta: { topics: ['config', 'nodes'] },
});

export const nodes = queryOptions({
  queryKey: ['nodes'],
  queryFn: ({ signal }) => body(api.GET(`${admin}/nodes`, { signal })),
  meta: { topics: ['nodes'] },
  refetchInterval: 20_000, // what they did is counted by the minute, and is no news
});

export const ownModels = queryOptions({
  queryKey: ['own-models'],
  queryFn: ({ signal }) => body(api.GET('/api/llm-gateway/user/models', { signal })),
  meta: configAndHealth,
});

export const ownKeys = queryOptions({
  queryKey: ['own-keys'],
  queryFn: ({ signal }) => body(api.GET('/api/llm-gateway/user/api-keys', { signal })),
  meta: config,
});

export const ownSessions = queryOptions({
  queryKey: ['own-sessions'],
  queryFn: ({ signal }) => body(api.GET('/api/llm-gateway/user/sessions', { signal })),
  meta: config,
});

export const profile = queryOptions({
  queryKey: ['profile'],
  queryFn: ({ signal }) => body(api.GET('/api/llm-gateway/user/profile', { signal })),
  meta: config,
});
