import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/**
 * Asks again when the first of some cooldowns is over: nothing happens then that the server
 * could tell of. `at` is when the answer came, in milliseconds since 1970.
 */
export function useRecovery(at: number, seconds: readonly (number | undefined)[]): void {
  const client = useQueryClient();
  const first = Math.min(...seconds.filter((s) => s !== undefined && s > 0).map(Number));
  useEffect(() => {
    if (!Number.isFinite(first)) {
      return;
    }
    const wait = Math.max(0, at + first * 1000 - Date.now()) + 200;
    const timer = setTimeout(() => {
      void client.invalidateQueries({ predicate: (q) => q.meta?.topics?.includes('health') ?? false }, { cancelRefetch: false });
    }, wait);
    return () => clearTimeout(timer);
  }, [client, at, first]);
}
