import { expect, it } from 'vitest';
import type { AuditChange } from '../../api/schema';
import { fieldsOf, nameOf, show } from './changes';

const change = (before: AuditChange['before'], after: AuditChange['after']): AuditChange => ({
  kind: 'providers',
  resource_id: 'id',
  action: 'update',
  before,
  after,
});

it('lists the fields that say something', () => {
  expect(fieldsOf(change({ b: 1, a: null }, { b: 2, a: null, c: '' }))).toEqual(['b', 'c']);
  expect(fieldsOf(change(null, { z: 1, y: null }))).toEqual(['z']);
});

it('shows values', () => {
  expect([null, undefined, '', 0, false, 'x', { a: 1 }].map(show)).toEqual(['–', '–', '–', '0', 'false', 'x', '{"a":1}']);
});

it('names what was changed', () => {
  expect(nameOf({ changes: [change(null, { priority: 1 }), change({ name: 'old' }, { name: 'new' })] })).toBe('new');
  expect(nameOf({ changes: [change({ model_alias: 'smart' }, null)] })).toBe('smart');
  expect(nameOf({ changes: [] })).toBe('');
});
