import { useQuery } from '@tanstack/react-query';
import { keys, providers, routeGroups, users } from '../../api/queries';

/** What the ids in a policy are called. */
export interface Names {
  of: (id: string | null | undefined) => string | undefined;
}

export function useNames(): Names {
  const all = [
    ...(useQuery(users).data ?? []),
    ...(useQuery(keys).data ?? []),
    ...(useQuery(providers).data ?? []),
    ...(useQuery(routeGroups).data ?? []),
  ];
  const byId = new Map(all.map((x) => [x.id, x.name]));
  return { of: (id) => (id ? byId.get(id) : undefined) };
}
