import { defineConfig } from 'vitest/config';

// Stories that are told in a browser, against a product that test/e2e started. They share it: each makes what it needs under names of
// its own.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.story.ts'],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    reporters: ['default', 'json'],
    outputFile: process.env.SPILLWAY_PORTAL_RESULT,
  },
});
