/** Seconds by path. */
export const LONG: Record<string, number>;
export function inOrder(specs: { path: string; bytes: number }[]): string[];
