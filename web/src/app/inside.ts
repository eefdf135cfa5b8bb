/** An address to go to after signing in: of this site only, or a link could lead elsewhere. */
export function inside(to: string | undefined): string {
  return to?.startsWith('/') && !to.startsWith('//') && !to.startsWith('/\\') ? to : '/';
}
