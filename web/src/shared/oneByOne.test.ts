import { expect, it } from 'vitest';
import { oneByOne } from './oneByOne';

it('goes on after what was refused, and makes nothing twice', async () => {
  const calls: string[] = [];
  const told: number[] = [];
  let refuse = true;
  const step = (key: string) => ({
    key,
    run: async () => {
      calls.push(key);
      if (key === 'b' && refuse) {
        throw new Error('no');
      }
    },
  });
  const steps = ['a', 'b', 'c'].map(step);
  const made = new Set<string>();
  await expect(oneByOne(steps, made, (at) => told.push(at))).rejects.toThrow('no');
  refuse = false;
  await oneByOne(steps, made, (at) => told.push(at));
  expect(calls).toEqual(['a', 'b', 'b', 'c']);
  expect(told).toEqual([0, 1, 0, 1, 2]);
});
