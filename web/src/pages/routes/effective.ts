/**
 * What the retry fields of a target would do, in the words that the API has for what is saved
 * (`effective_behavior`).
 */
export function effective(retries: number, longestWait: number): string {
  if (retries === 0) {
    return 'On a rate limit, fails over at once.';
  }
  const tries = retries > 1 ? `up to ${retries} more times` : '1 more time';
  const wait = longestWait > 0 ? `what the provider asks, at most ${longestWait} s` : 'about 1 s';
  return `On a rate limit, tries this target ${tries}, waiting ${wait}${retries > 1 ? ' each time' : ''}, then fails over.`;
}
