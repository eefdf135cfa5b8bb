import { useRef, useState } from 'react';

/** One of several calls. What has the same key is the same call. */
export interface Step {
  key: string;
  run: () => Promise<unknown>;
}

/**
 * Makes calls one after the other, and tells before each how many are made. What was made before one is refused stays, and
 * is in `made`: it is not made again when the rest is tried once more.
 */
export async function oneByOne(steps: readonly Step[], made: Set<string>, tell: (at: number) => void): Promise<void> {
  for (const [at, { key, run }] of steps.entries()) {
    tell(at);
    if (!made.has(key)) {
      await run();
      made.add(key);
    }
  }
}

/** The same for a form, with how far it is: "3 of 12", or nothing while nothing is being made. */
export function useOneByOne() {
  const made = useRef(new Set<string>());
  const [progress, setProgress] = useState<string>();
  const run = (steps: readonly Step[]) =>
    oneByOne(steps, made.current, (at) => setProgress(steps.length > 1 ? `${at + 1} of ${steps.length} …` : undefined)).finally(() =>
      setProgress(undefined),
    );
  return { run, progress };
}
