import { ActionIcon, Burger, Menu, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBook2, IconChevronDown, IconDeviceDesktop, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { showError } from '../api/change';
import { api } from '../api/client';
import { useLive } from '../api/live';
import { session } from '../api/queries';
import type { CurrentSession } from '../api/schema';
import { Waiting } from '../shared/State';
import { Logo } from './Logo';
import { parts } from './nav';
import classes from './Shell.module.css';
import { isAdmin, useSession } from './session';

/** What somebody sees who is signed in, until they sign out. */
export function Shell() {
  const [leaving, setLeaving] = useState(false);
  return leaving ? <SigningOut onFailed={() => setLeaving(false)} /> : <Inside onLeave={() => setLeaving(true)} />;
}

/**
 * Stands in the place of all pages while the session ends: with them went what they were asking
 * for, which would only be refused.
 */
function SigningOut({ onFailed }: { onFailed: () => void }) {
  const client = useQueryClient();
  const { mutate } = useMutation({
    mutationFn: () => api.POST('/auth/logout'),
    onSuccess: () => client.setQueryData(session.queryKey, null),
    onError: (error) => {
      onFailed();
      showError(error);
    },
  });
  useEffect(mutate, [mutate]);
  return <Waiting />;
}

/** What stands around every page. */
function Inside({ onLeave }: { onLeave: () => void }) {
  const [opened, menu] = useDisclosure(false);
  const path = useRouterState({ select: (s) => s.location.pathname });
  const { close } = menu;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new path closes the menu
  useEffect(close, [path, close]);
  const who = useSession();
  useLive(isAdmin(who) ? '/api/llm-gateway/admin/events' : '/api/llm-gateway/user/events');
  return (
    <div className={classes.shell} data-opened={opened || undefined}>
      <a href="#main" className="skip">
        Skip to the page
      </a>
      <header className={classes.bar}>
        <Burger
          opened={opened}
          onClick={menu.toggle}
          size="sm"
          aria-label={opened ? 'Close the menu' : 'Open the menu'}
          aria-expanded={opened}
        />
        <Logo />
      </header>
      <aside className={classes.side}>
        <div className={classes.brand}>
          <Logo />
        </div>
        <Navigation session={who} />
        <Account session={who} onLeave={onLeave} />
      </aside>
      <main id="main" className={classes.main} tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

function Navigation({ session }: { session: CurrentSession }) {
  return (
    <nav className={classes.nav} aria-label="Main">
      {parts
        .filter((part) => !part.admin || isAdmin(session))
        .map((part) => (
          <div key={part.title || 'top'} className={classes.part}>
            {part.title && <div className={classes.partTitle}>{part.title}</div>}
            {part.places.map(({ to, title, icon: Icon }) => (
              <Link
                key={to}
                to={to}
                className={classes.link}
                activeProps={{ 'data-active': true, 'aria-current': 'page' }}
                activeOptions={{ includeSearch: false }}
              >
                <Icon size={17} stroke={1.7} aria-hidden />
                {title}
              </Link>
            ))}
          </div>
        ))}
    </nav>
  );
}

function Account({ session, onLeave }: { session: CurrentSession; onLeave: () => void }) {
  return (
    <div className={classes.foot}>
      <Menu position="top-start" width={220}>
        <Menu.Target>
          <UnstyledButton className={classes.account}>
            <span className={classes.initial} aria-hidden>
              {session.name.charAt(0).toUpperCase()}
            </span>
            <span className={classes.who}>
              <span className={classes.name}>{session.name}</span>
              <span className={classes.org}>{session.organization.name}</span>
            </span>
            <IconChevronDown size={14} aria-hidden />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{session.email ?? session.name}</Menu.Label>
          <Menu.Item component={Link} to="/settings/account" leftSection={<IconUserCircle size={16} />}>
            Account
          </Menu.Item>
          <Menu.Item component="a" href="/docs/" target="_blank" leftSection={<IconBook2 size={16} />}>
            API reference
          </Menu.Item>
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={onLeave}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <SchemeButton />
    </div>
  );
}

const next = { auto: 'light', light: 'dark', dark: 'auto' } as const;
const says = { auto: 'Colors: as the system', light: 'Colors: light', dark: 'Colors: dark' } as const;
const icons = { auto: IconDeviceDesktop, light: IconSun, dark: IconMoon } as const;

export function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = icons[colorScheme];
  return (
    <Tooltip label={`${says[colorScheme]}. Click for ${next[colorScheme] === 'auto' ? 'as the system' : next[colorScheme]}.`} fz="xs">
      <ActionIcon variant="subtle" color="gray" size="lg" onClick={() => setColorScheme(next[colorScheme])} aria-label={says[colorScheme]}>
        <Icon size={18} stroke={1.7} />
      </ActionIcon>
    </Tooltip>
  );
}
