const TIMEOUT_MS = 5_000;

/** Rules of the interface that were broken, as the sandbox counted them; undefined where nobody counts. */
export async function violationsAt(controlUrl: string | undefined): Promise<number | undefined> {
  if (controlUrl === undefined) return undefined;
  const response = await fetch(`${controlUrl}/violations`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return ((await response.json()) as { count: number }).count;
}
