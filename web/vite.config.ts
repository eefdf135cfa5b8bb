import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The addresses of the control plane, which `npm run dev` passes on to a running product.
const product = process.env.SPILLWAY_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // data: URLs of fonts would not pass the policy
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700, // kB before packing; what is loaded first is measured by a test
  },
  server: {
    proxy: Object.fromEntries(['/api', '/auth', '/oauth', '/v1'].map((path) => [path, { target: product, changeOrigin: false }])),
  },
  test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx'] },
});
