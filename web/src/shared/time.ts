const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const localDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

export const inLocal = (at: Date) => local.format(at);
export const dayInLocal = (at: Date) => localDay.format(at);

/** RFC 3339 to the second, as logs have it. */
export const inUTC = (at: Date) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** "3 min. ago", "in 2 days"; within a minute "just now". */
export function ago(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) {
      return relative.format(Math.trunc(seconds / size), unit);
    }
  }
  return seconds > 0 ? 'in a moment' : 'just now';
}

/** "45 s", "3 min 5 s", "1 h 2 min". Never less than a second: what is over is said otherwise. */
export function span(seconds: number): string {
  const s = Math.max(1, Math.ceil(seconds));
  if (s < 60) {
    return `${s} s`;
  }
  const m = Math.floor(s / 60);
  if (m < 60) {
    return s % 60 ? `${m} min ${s % 60} s` : `${m} min`;
  }
  return m % 60 ? `${Math.floor(m / 60)} h ${m % 60} min` : `${Math.floor(m / 60)} h`;
}

/** What a `datetime-local` input holds of a moment, in local time. */
export function toInput(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
