/** Dollars per million tokens as people write them: "$1.25", "$0.025", "free". */
export function price(perMillion: number | null | undefined): string {
  if (perMillion === null || perMillion === undefined) {
    return '–';
  }
  if (perMillion === 0) {
    return 'free';
  }
  const digits = perMillion >= 0.1 ? 2 : 6;
  const text = perMillion.toFixed(Math.max(digits, decimals(perMillion)));
  const [whole, part = ''] = text.split('.');
  return `$${whole}.${part.replace(/0+$/, '').padEnd(2, '0')}`;
}

const decimals = (n: number) => Math.min(10, String(n).split('.')[1]?.length ?? 0);
