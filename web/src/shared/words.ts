import type { AuthType, ModelProvider } from '../api/schema';

/** What people call the families of providers. */
export const families: Record<ModelProvider, string> = {
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  azure_openai: 'Azure OpenAI',
  google_ai: 'Google AI',
  bedrock: 'AWS Bedrock',
  vertex: 'Google Vertex AI',
  groq: 'Groq',
  together: 'Together AI',
  mistral: 'Mistral',
  cohere: 'Cohere',
  xai: 'xAI',
  fireworks: 'Fireworks AI',
  perplexity: 'Perplexity',
  openrouter: 'OpenRouter',
  deepseek: 'DeepSeek',
  custom: 'Custom endpoint',
};

export const familyOptions = Object.entries(families).map(([value, label]) => ({ value, label }));

export const authTypes: Record<AuthType, string> = {
  bearer_api_key: 'API key (Authorization: Bearer)',
  x_api_key: 'API key (x-api-key)',
  azure_api_key: 'API key (api-key)',
  bedrock_api_key: 'Bedrock API key',
  aws_role: 'The node’s own AWS role',
  aws_keys: 'AWS access keys',
  google_adc: 'The node’s own Google identity',
  google_service_account: 'Google service account',
  google_impersonation: 'Google impersonation',
  claude_oauth: 'The caller’s own Claude subscription',
  codex_oauth: 'The caller’s own ChatGPT plan',
};

const keyTypes: AuthType[] = ['bearer_api_key', 'x_api_key', 'azure_api_key'];

/** The ways in which a family takes a credential, its usual one first. */
export function authOf(family: ModelProvider): AuthType[] {
  switch (family) {
    case 'bedrock':
      return ['aws_role', 'aws_keys', 'bedrock_api_key'];
    case 'vertex':
      return ['google_adc', 'google_service_account', 'google_impersonation'];
    case 'anthropic':
      return ['x_api_key', 'bearer_api_key', 'claude_oauth'];
    case 'azure_openai':
      return ['azure_api_key', 'bearer_api_key'];
    case 'openai':
      return ['bearer_api_key', 'codex_oauth'];
    case 'custom':
      return keyTypes;
    default:
      return ['bearer_api_key', 'x_api_key'];
  }
}

/** What is stored for a way: one key, a JSON document (required or not), or nothing. */
export function secretOf(auth: AuthType): 'key' | 'document' | 'optional' | 'none' {
  switch (auth) {
    case 'aws_keys':
    case 'google_service_account':
    case 'google_impersonation':
      return 'document';
    case 'aws_role':
    case 'google_adc':
      return 'optional';
    case 'claude_oauth':
    case 'codex_oauth':
      return 'none';
    default:
      return 'key';
  }
}

/** "createModelMapping" as words. */
export function operationWords(operation: string): string {
  const words = operation.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
