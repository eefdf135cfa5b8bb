import { useRouteContext } from '@tanstack/react-router';
import type { CurrentSession } from '../api/schema';

/** Who is signed in. Only below Shell, where somebody is. */
export function useSession(): CurrentSession {
  return useRouteContext({ from: '/shell', select: (context) => context.who });
}

export const isAdmin = (s: CurrentSession) => s.role !== 'member';
