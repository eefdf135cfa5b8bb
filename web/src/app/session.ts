import { useRouteContext } from '@tanstack/react-router';
import type { CurrentSession } from '../api/schema';

/** Who is signed in. Only below Shell, where somebody is. */
export function useSession(): CurrentSession {
  return useRouteContext({ from: '/shell', select: (context) => context.who });
}

export const isAdmin = (s: CurrentSession) => s.role !== 'member';

/** Where callers reach the gateway: as its operator says, else where the portal is. */
export function useGateway(): string {
  return useSession().gateway_url ?? window.location.origin;
}
