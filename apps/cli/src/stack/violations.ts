const TIMEOUT_MS = 5_000;

/** Rules of the interface that were broken, as the sandbox counted them; undefined where nobody counts. */
export async function violationsAt(controlUrl: string | undefined): Promise<number | undefined> {
  if (controlUrl === undefined) return undefined;
  const response = await fetch(`${controlUrl}/violations`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return ((await response.json()) as { count: number }).count;
}

/** A sandbox says where its control port is; any other registry answers something else, and nobody counts. */
export async function controlUrlOf(registryUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${registryUrl}/.well-known/pedigree-sandbox`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { controlUrl } = (await response.json()) as { controlUrl?: unknown };
    return response.ok && typeof controlUrl === 'string' ? controlUrl : undefined;
  } catch {
    return undefined;
  }
}
