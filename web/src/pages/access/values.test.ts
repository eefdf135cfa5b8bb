import { describe, expect, it } from 'vitest';
import type { ModelAccessTarget } from '../../api/schema';
import { type AccessValues, bodyOf, scopeWords, type TargetValue, targetBody, targetWords, valuesOf } from './values';

const all: Omit<TargetValue, 'kind'> = { alias: 'smart*', model: 'gpt', provider_id: 'p', group_id: 'g' };
const names = { of: (id: string | null | undefined) => (id === 'gone' ? undefined : id?.toUpperCase()) };

describe('a target', () => {
  it.each([
    ['model_alias', { kind: 'model_alias', alias: 'smart*' }, 'smart*'],
    ['model', { kind: 'model', model: 'gpt' }, 'the model gpt'],
    ['provider', { kind: 'provider', provider_id: 'p' }, 'all of P'],
    ['provider_model', { kind: 'provider_model', provider_id: 'p', model: 'gpt' }, 'gpt of P'],
    ['route_group', { kind: 'route_group', group_id: 'g' }, 'the route group G'],
  ] as const)('%s is sent with its own keys only', (kind, want, words) => {
    expect(targetBody({ kind, ...all } as TargetValue)).toEqual(want);
    expect(targetWords(want as ModelAccessTarget, names)).toBe(words);
  });

  it('without its key leaves it out, so that the API says what is missing', () => {
    expect(targetBody({ kind: 'provider', ...all, provider_id: null } as TargetValue)).toEqual({ kind: 'provider' });
  });
});

describe('a policy', () => {
  const values: AccessValues = {
    name: ' a ',
    policy_type: 'denylist',
    scope_type: 'group',
    scope_id: 'left over',
    scope_value: 'team',
    enabled: true,
    targets: [],
  };

  it('is sent with the key of its scope only', () => {
    expect(bodyOf(values)).toMatchObject({ name: 'a', scope_id: null, scope_value: 'team' });
    expect(bodyOf({ ...values, scope_type: 'user' })).toMatchObject({ scope_id: 'left over', scope_value: null });
    expect(bodyOf({ ...values, scope_type: 'org' })).toMatchObject({ scope_id: null, scope_value: null });
  });

  it('comes back as it was', () => {
    const policy = { ...bodyOf(values), targets: [{ kind: 'model', model: 'gpt' }] } as Parameters<typeof valuesOf>[0];
    expect(bodyOf(valuesOf(policy))).toEqual(policy);
  });

  it.each([
    [{ scope_type: 'org', scope_id: null, scope_value: null }, 'everybody'],
    [{ scope_type: 'user', scope_id: 'dana', scope_value: null }, 'DANA'],
    [{ scope_type: 'user', scope_id: 'gone', scope_value: null }, 'somebody who is gone'],
    [{ scope_type: 'api_key', scope_id: null, scope_value: null }, 'every key'],
    [{ scope_type: 'group', scope_id: null, scope_value: 'team' }, 'the group team'],
  ] as const)('says whom it is for', (scope, words) => {
    expect(scopeWords(scope, names)).toBe(words);
  });
});
