import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/errors';
import { fieldOf, merged } from './FormModal';

const refusal = (param: string) => new ApiError(400, { message: 'no', type: 'invalid_request_error', param });

describe('fieldOf', () => {
  const values = { name: '', targets: [{ provider_id: null }], key: '' };

  it.each([
    ['name', 'name'],
    ['targets[0].provider_id', 'targets.0.provider_id'],
    ['targets[1].provider_id', undefined],
    ['change_note', undefined],
  ])('%s', (param, field) => {
    expect(fieldOf(refusal(param), values)).toBe(field);
  });

  it('knows what a field is called on the wire', () => {
    expect(fieldOf(refusal('api_key'), values, { api_key: 'key' })).toBe('key');
  });
});

describe('merged', () => {
  it('takes what others saved, and keeps what was typed', () => {
    expect(merged({ a: 2, b: 2, c: 2 }, { a: 1, b: 1, c: 1 }, { a: 1, b: 9, c: 1 })).toEqual({ a: 2, b: 9, c: 2 });
  });
});
