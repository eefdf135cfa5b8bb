import { defineConfig } from 'vitest/config';

// What test/clients has pasted: the portal's text for a tool, as one copies it.
export default defineConfig({
  test: { root: import.meta.dirname, include: ['setup.copy.ts'], testTimeout: 240_000, hookTimeout: 120_000 },
});
