/** How long a key may live, in days; empty is for ever. */
export const lifetimes = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

export function expiry(days: string | null, now: Date): { expires_at?: string } {
  return days ? { expires_at: new Date(now.getTime() + Number(days) * 86_400_000).toISOString() } : {};
}
