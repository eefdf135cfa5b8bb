import { defineConfig } from 'vitest/config';

// Pictures of every page, into SPILLWAY_SCREENSHOTS.
export default defineConfig({
  test: { root: import.meta.dirname, include: ['screenshots.shoot.ts'], testTimeout: 300_000, hookTimeout: 120_000 },
});
