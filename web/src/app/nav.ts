import { IconArrowsSplit2, type IconKey } from '@tabler/icons-react';

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
  { title: 'LLM Management', admin: true, places: [{ to: '/routes', title: 'Model Routes', icon: IconArrowsSplit2 }] },
];
