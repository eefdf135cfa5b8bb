import {
  IconAdjustmentsHorizontal,
  IconArrowsSplit2,
  IconBox,
  IconCloud,
  IconCoin,
  IconFolders,
  IconGauge,
  IconHistory,
  IconKey,
  IconLock,
  IconRoute,
  IconSparkles,
  IconUserCircle,
} from '@tabler/icons-react';

export interface Place {
  to: string;
  title: string;
  icon: typeof IconKey;
}

export interface Part {
  title: string;
  /** Only for who administers the organization. */
  admin: boolean;
  places: Place[];
}

/** Where one can go. What does not act yet has no place here. */
export const parts: Part[] = [
  { title: '', admin: true, places: [{ to: '/overview', title: 'Overview', icon: IconGauge }] },
  {
    title: 'LLM Management',
    admin: true,
    places: [
      { to: '/routes', title: 'Model Routes', icon: IconArrowsSplit2 },
      { to: '/route-groups', title: 'Route Groups', icon: IconFolders },
      { to: '/providers', title: 'Providers', icon: IconCloud },
      { to: '/credentials', title: 'Credentials', icon: IconLock },
      { to: '/models', title: 'Models', icon: IconBox },
      { to: '/pricing', title: 'Model Pricing', icon: IconCoin },
      { to: '/keys', title: 'API Keys', icon: IconKey },
    ],
  },
  {
    title: 'LLM Controls',
    admin: true,
    places: [{ to: '/access', title: 'Model Access', icon: IconAdjustmentsHorizontal }],
  },
  {
    title: 'Activity',
    admin: true,
    places: [
      { to: '/explain', title: 'Explain', icon: IconRoute },
      { to: '/audit', title: 'Audit', icon: IconHistory },
    ],
  },
  {
    title: 'Settings',
    admin: false,
    places: [
      { to: '/settings/models', title: 'My Models', icon: IconSparkles },
      { to: '/settings/account', title: 'Account', icon: IconUserCircle },
    ],
  },
];
