/**
 * A signal that comes a while after another: what is under way when a process is to end has so long to finish, and
 * whoever does not answer cannot keep it from ending. `forget` when there is nothing under way any more.
 */
export function delayedAbort(signal: AbortSignal, afterMs: number): { signal: AbortSignal; forget(): void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => late.abort(), afterMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  const forget = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', begin);
  };
  return { signal: late.signal, forget };
}
