import type { ModelAccessPolicy, ModelAccessTarget, PolicyType, ScopeType } from '../../api/schema';
import type { Names } from './names';

/** A target as its fields hold it: all keys are there, and the kind says which count. */
export interface TargetValue extends Record<string, unknown> {
  kind: ModelAccessTarget['kind'];
  alias: string;
  model: string;
  provider_id: string | null;
  group_id: string | null;
}

export interface AccessValues extends Record<string, unknown> {
  name: string;
  policy_type: PolicyType;
  scope_type: ScopeType;
  scope_id: string | null;
  scope_value: string;
  enabled: boolean;
  targets: TargetValue[];
}

/** Which keys a kind has. */
const keysOf: Record<ModelAccessTarget['kind'], readonly ('alias' | 'model' | 'provider_id' | 'group_id')[]> = {
  model_alias: ['alias'],
  model: ['model'],
  provider: ['provider_id'],
  provider_model: ['provider_id', 'model'],
  route_group: ['group_id'],
};

export const hasId = (scope: ScopeType) => scope === 'user' || scope === 'api_key';
export const hasValue = (scope: ScopeType) => scope === 'group';

export function bodyOf(v: AccessValues) {
  return {
    name: v.name.trim(),
    policy_type: v.policy_type,
    scope_type: v.scope_type,
    scope_id: hasId(v.scope_type) ? v.scope_id : null,
    scope_value: hasValue(v.scope_type) ? v.scope_value || null : null,
    enabled: v.enabled,
    targets: v.targets.map(targetBody),
  };
}

export function targetBody(t: TargetValue): ModelAccessTarget {
  const own = keysOf[t.kind].map((key) => [key, t[key] ?? '']).filter(([, value]) => value !== '');
  return { kind: t.kind, ...Object.fromEntries(own) };
}

export function valuesOf(p: ModelAccessPolicy): AccessValues {
  return {
    name: p.name,
    policy_type: p.policy_type,
    scope_type: p.scope_type,
    scope_id: p.scope_id,
    scope_value: p.scope_value ?? '',
    enabled: p.enabled,
    targets: p.targets.map((t) => ({
      kind: t.kind,
      alias: t.alias ?? '',
      model: t.model ?? '',
      provider_id: t.provider_id ?? null,
      group_id: t.group_id ?? null,
    })),
  };
}

export function scopeWords(p: Pick<ModelAccessPolicy, 'scope_type' | 'scope_id' | 'scope_value'>, names: Names): string {
  switch (p.scope_type) {
    case 'org':
      return 'everybody';
    case 'user':
      return p.scope_id ? (names.of(p.scope_id) ?? 'somebody who is gone') : 'every person';
    case 'api_key':
      return p.scope_id ? `the key ${names.of(p.scope_id) ?? 'that is gone'}` : 'every key';
    case 'group':
      return p.scope_value ? `the group ${p.scope_value}` : 'every group';
    default:
      return `${p.scope_type.replace('_', ' ')} ${p.scope_value ?? ''} (holds nobody yet)`;
  }
}

export function targetWords(t: ModelAccessTarget, names: Names): string {
  switch (t.kind) {
    case 'model_alias':
      return t.alias ?? '';
    case 'model':
      return `the model ${t.model}`;
    case 'provider':
      return `all of ${names.of(t.provider_id) ?? 'a provider that is gone'}`;
    case 'provider_model':
      return `${t.model} of ${names.of(t.provider_id) ?? 'a provider that is gone'}`;
    case 'route_group':
      return `the route group ${names.of(t.group_id) ?? 'that is gone'}`;
  }
}
