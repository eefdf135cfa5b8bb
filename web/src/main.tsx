import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import './app/global.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { sessionEnded } from './api/client';
import { queryClient, router } from './app/router';
import { theme, variables } from './app/theme';

const scheme = localStorageColorSchemeManager({ key: 'spillway-color-scheme' });

// A session that ended is found out by whatever is asked next; the page then goes to the sign-in and comes back.
sessionEnded.addEventListener('ended', () => {
  if (queryClient.getQueryData(['session']) !== null) {
    queryClient.setQueryData(['session'], null);
  }
});
// Who signs out or is signed out sees nothing of what was there.
queryClient.getQueryCache().subscribe(({ query, type }) => {
  if (
    type === 'updated' &&
    query.queryKey[0] === 'session' &&
    query.state.data === null &&
    !router.state.location.pathname.startsWith('/sign-in')
  ) {
    void router.invalidate().then(() => queryClient.removeQueries({ predicate: (q) => q.queryKey[0] !== 'session' }));
  }
});

const at = document.getElementById('root');
if (at) {
  createRoot(at).render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto" colorSchemeManager={scheme}>
        <QueryClientProvider client={queryClient}>
          <Notifications position="bottom-right" limit={4} />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
