/** Every page, with its heading. */
export const places = [
  ['overview', '/overview', 'Overview'],
  ['routes', '/routes?open=code-assistant', 'Model Routes'],
  ['route-groups', '/route-groups', 'Route Groups'],
  ['providers', '/providers', 'Providers'],
  ['credentials', '/credentials', 'Credentials'],
  ['models', '/models', 'Models'],
  ['pricing', '/pricing', 'Model Pricing'],
  ['keys', '/keys', 'API Keys'],
  ['access', '/access', 'Model Access'],
  ['explain', '/explain?model=code-assistant', 'Explain'],
  ['audit', '/audit', 'Audit'],
  ['my-models', '/settings/models', 'My Models'],
  ['account', '/settings/account', 'Account'],
] as const;
