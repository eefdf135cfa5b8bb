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
    throw redirect({ to: isAdmin(context.who) ? '/overview' : '/settings/models' });
  },
});

/** The pages that only administrators have: for anybody else there is nothing at their addresses. */
const admin = createRoute({
  getParentRoute: () => shell,
  id: 'admin',
  beforeLoad: ({ context }) => {
    if (!isAdmin(context.who)) {
      throw redirect({ to: '/settings/models' });
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

const explain = createRoute({
  getParentRoute: () => admin,
  path: '/explain',
  validateSearch: (s: Record<string, unknown>): { model?: string } => ({ model: text(s.model) }),
  component: lazyRouteComponent(() => import('../pages/explain/ExplainPage'), 'ExplainPage'),
});

const overview = createRoute({
  getParentRoute: () => admin,
  path: '/overview',
  component: lazyRouteComponent(() => import('../pages/overview/OverviewPage'), 'OverviewPage'),
});

const groups = createRoute({
  getParentRoute: () => admin,
  path: '/route-groups',
  component: lazyRouteComponent(() => import('../pages/groups/RouteGroupsPage'), 'RouteGroupsPage'),
});

const providers = createRoute({
  getParentRoute: () => admin,
  path: '/providers',
  component: lazyRouteComponent(() => import('../pages/providers/ProvidersPage'), 'ProvidersPage'),
});

const credentials = createRoute({
  getParentRoute: () => admin,
  path: '/credentials',
  component: lazyRouteComponent(() => import('../pages/credentials/CredentialsPage'), 'CredentialsPage'),
});

const models = createRoute({
  getParentRoute: () => admin,
  path: '/models',
  component: lazyRouteComponent(() => import('../pages/models/ModelsPage'), 'ModelsPage'),
});

const pricing = createRoute({
  getParentRoute: () => admin,
  path: '/pricing',
  component: lazyRouteComponent(() => import('../pages/pricing/PricingPage'), 'PricingPage'),
});

const keys = createRoute({
  getParentRoute: () => admin,
  path: '/keys',
  component: lazyRouteComponent(() => import('../pages/keys/KeysPage'), 'KeysPage'),
});

const access = createRoute({
  getParentRoute: () => admin,
  path: '/access',
  component: lazyRouteComponent(() => import('../pages/access/AccessPage'), 'AccessPage'),
});

const audit = createRoute({
  getParentRoute: () => admin,
  path: '/audit',
  component: lazyRouteComponent(() => import('../pages/audit/AuditPage'), 'AuditPage'),
});

const ownModels = createRoute({
  getParentRoute: () => shell,
  path: '/settings/models',
  component: lazyRouteComponent(() => import('../pages/my-models/MyModelsPage'), 'MyModelsPage'),
});

const account = createRoute({
  getParentRoute: () => shell,
  path: '/settings/account',
  component: lazyRouteComponent(() => import('../pages/account/AccountPage'), 'AccountPage'),
});

const tree = root.addChildren([
  signIn,
  shell.addChildren([
    home,
    ownModels,
    account,
    admin.addChildren([overview, routes, groups, providers, credentials, models, pricing, keys, access, explain, audit]),
  ]),
]);

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
