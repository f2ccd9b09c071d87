/** Asks a sandbox's control port, or tells it something by a body. Throws on a refusal, with what it said. */
export async function askControl<T>(controlUrl: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${controlUrl}${path}`, {
    // A connection that is kept is closed by the sandbox after a while, on a slow machine just as it is used again.
    headers: { connection: 'close' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}
