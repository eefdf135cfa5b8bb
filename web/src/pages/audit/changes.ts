import type { AuditChange, AuditEvent } from '../../api/schema';

/** The fields of a change, those that are empty on both sides left out. */
export function fieldsOf(c: AuditChange): string[] {
  const all = [...new Set([...Object.keys(c.before ?? {}), ...Object.keys(c.after ?? {})])].sort();
  return all.filter((f) => (c.before?.[f] ?? null) !== null || (c.after?.[f] ?? null) !== null);
}

/** A value as people read it. */
export function show(v: unknown): string {
  if (v === null || v === undefined || v === '') {
    return '–';
  }
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

/** What a change was made to, by the name that one of its rows has. */
export function nameOf(e: Pick<AuditEvent, 'changes'>): string {
  for (const c of e.changes) {
    for (const row of [c.after, c.before]) {
      const name = row?.name ?? row?.model_alias ?? row?.email ?? row?.model_pattern;
      if (typeof name === 'string') {
        return name;
      }
    }
  }
  return '';
}
