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

export const routes = queryOptions({
  queryKey: ['routes'],
  queryFn: () => body(api.GET(`${admin}/routes`)),
  meta: configAndHealth,
});

export const mappings = queryOptions({
  queryKey: ['mappings'],
  queryFn: () => body(api.GET(`${admin}/model-mappings`)),
  meta: configAndHealth,
});

export const routeGroups = queryOptions({
  queryKey: ['route-groups'],
  queryFn: () => body(api.GET(`${admin}/model-route-groups`)),
  meta: config,
});

export const providers = queryOptions({
  queryKey: ['providers'],
  queryFn: () => body(api.GET(`${admin}/providers`)),
  meta: configAndHealth,
});

export const catalog = queryOptions({
  queryKey: ['catalog'],
  queryFn: () => body(api.GET(`${admin}/provider-catalog`)),
  staleTime: Number.POSITIVE_INFINITY,
});

export const connections = queryOptions({
  queryKey: ['connections'],
  queryFn: () => body(api.GET(`${admin}/connections`)),
  meta: config,
});

export const policies = queryOptions({
  queryKey: ['model-access'],
  queryFn: () => body(api.GET(`${admin}/model-access`)),
  meta: config,
});

export const governance = queryOptions({
  queryKey: ['governance'],
  queryFn: () => body(api.GET(`${admin}/governance-config`)),
  meta: config,
});

export const keys = queryOptions({
  queryKey: ['api-keys'],
  queryFn: () => body(api.GET(`${admin}/api-keys`)),
  meta: config,
});

export const users = queryOptions({
  queryKey: ['users'],
  queryFn: () => body(api.GET(`${admin}/users`)),
  meta: config,
});

export const groups = queryOptions({
  queryKey: ['groups'],
  queryFn: () => body(api.GET(`${admin}/groups`)),
  meta: config,
});

export const prices = queryOptions({
  queryKey: ['prices'],
  queryFn: () => body(api.GET(`${admin}/model-pricing`)),
  meta: config,
});

export const archivedPrices = queryOptions({
  queryKey: ['prices', 'archived'],
  queryFn: () => body(api.GET(`${admin}/model-pricing/archived`)),
  meta: config,
});

export const defaultPrices = queryOptions({
  queryKey: ['prices', 'defaults'],
  queryFn: () => body(api.GET(`${admin}/model-pricing/defaults`)),
  staleTime: Number.POSITIVE_INFINITY,
});

export const priceHistory = (pattern: string, family: string | null) =>
  queryOptions({
    queryKey: ['prices', 'history', pattern, family],
    queryFn: () =>
      body(
        api.GET(`${admin}/model-pricing/history`, {
          params: { query: { model_pattern: pattern, ...(family ? { model_provider: family } : {}) } },
        }),
      ),
    meta: config,
  });

export const routeHealth = queryOptions({
  queryKey: ['route-health'],
  queryFn: () => body(api.GET(`${admin}/llm-gw/route-health`)),
  meta: { topics: ['health'] },
});

export const configStatus = queryOptions({
  queryKey: ['config-status'],
  queryFn: () => body(api.GET(`${admin}/config-status`)),
  meta: { topics: ['config', 'nodes'] },
});

export const nodes = queryOptions({
  queryKey: ['nodes'],
  queryFn: () => body(api.GET(`${admin}/nodes`)),
  meta: { topics: ['nodes'] },
  refetchInterval: 20_000, // what they did is counted by the minute, and is no news
});

export const ownModels = queryOptions({
  queryKey: ['own-models'],
  queryFn: () => body(api.GET('/api/llm-gateway/user/models')),
  meta: configAndHealth,
});

export const ownKeys = queryOptions({
  queryKey: ['own-keys'],
  queryFn: () => body(api.GET('/api/llm-gateway/user/api-keys')),
  meta: config,
});

export const ownSessions = queryOptions({
  queryKey: ['own-sessions'],
  queryFn: () => body(api.GET('/api/llm-gateway/user/sessions')),
  meta: config,
});

export const profile = queryOptions({
  queryKey: ['profile'],
  queryFn: () => body(api.GET('/api/llm-gateway/user/profile')),
  meta: config,
});
