import { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { session } from '../api/queries';
import { SignIn } from '../pages/sign-in/SignIn';
import { Failure, Waiting } from '../shared/State';
import { inside } from './inside';
import { NotFound } from './NotFound';
import { Shell } from './Shell';
import { isAdmin } from './session';

export const queryClient = new QueryClient({
  defaultOptions: { queries: { staleTime: 2_000, retry: 1, refetchOnWindowFocus: true } },
});

interface Context {
  client: QueryClient;
}

interface RoutesSearch {
  q?: string;
  group?: string;
  /** The route that is shown open at first. */
  open?: string;
}

const text = (v: unknown) => (typeof v === 'string' && v !== '' ? v : undefined);

const root = createRootRouteWithContext<Context>()({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (s: Record<string, unknown>) => ({ to: text(s.to) }),
  beforeLoad: async ({ context, search }) => {
    if (await context.client.ensureQueryData(session)) {
      throw redirect({ href: inside(search.to) });
    }
  },
  component: SignIn,
});

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ context, location }) => {
    const who = await context.client.ensureQueryData(session);
    if (!who) {
      throw redirect({ to: '/sign-in', search: { to: location.href === '/' ? undefined : location.href } });
    }
    return { who };
  },
  component: Shell,
  notFoundComponent: NotFound,
});

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: ({ context }) => {
    throw redirect({ to: isAdmin(context.who) ? '/routes' : '/' });
  },
});

/** The pages that only administrators have: for anybody else there is nothing at their addresses. */
const admin = createRoute({
  getParentRoute: () => shell,
  id: 'admin',
  beforeLoad: ({ context }) => {
    if (!isAdmin(context.who)) {
      throw redirect({ to: '/' });
    }
  },
});

const routes = createRoute({
  getParentRoute: () => admin,
  path: '/routes',
  validateSearch: (s: Record<string, unknown>): RoutesSearch => ({
    q: text(s.q),
    group: text(s.group),
    open: text(s.open),
  }),
  component: lazyRouteComponent(() => import('../pages/routes/RoutesPage'), 'RoutesPage'),
});

const tree = root.addChildren([signIn, shell.addChildren([home, admin.addChildren([routes])])]);

export const router = createRouter({
  routeTree: tree,
  context: { client: queryClient },
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Waiting />,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
