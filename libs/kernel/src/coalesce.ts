export interface CoalesceOptions {
  /** Most calls that one run serves. */
  maxBatch: number;
  /** Most calls that may wait; past it a call is refused with an error. */
  maxWaiting: number;
  /** Most runs under way at once. */
  maxRuns?: number;
}

/**
 * Turns many single calls into few runs over batches: while a run is under way, later calls gather for the next one.
 * This is how group commit works: no timer, so a lone call pays nothing, and under load the batch grows by itself.
 * `run` returns one result per input, in order. When it throws, each call of that batch is rejected with the error.
 */
export function coalesce<In, Out>(
  run: (inputs: In[]) => Promise<Out[]>,
  options: CoalesceOptions,
): (input: In) => Promise<Out> {
  const waiting: { input: In; resolve: (out: Out) => void; reject: (error: unknown) => void }[] = [];
  let runs = 0;

  const startRun = async (): Promise<void> => {
    runs += 1;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, options.maxBatch);
      try {
        const results = await run(batch.map((call) => call.input));
        if (results.length !== batch.length)
          throw new Error(`a batch of ${batch.length} got ${results.length} results`);
        batch.forEach((call, i) => call.resolve(results[i] as Out));
      } catch (error) {
        for (const call of batch) call.reject(error);
      }
    }
    runs -= 1;
  };

  return (input) =>
    new Promise<Out>((resolve, reject) => {
      if (waiting.length >= options.maxWaiting)
        return reject(new Error(`more than ${options.maxWaiting} calls wait for one batch`));
      waiting.push({ input, resolve, reject });
      // A run begins after this turn, so that calls made in the same turn share it.
      queueMicrotask(() => {
        if (runs < (options.maxRuns ?? 1) && waiting.length > 0) void startRun();
      });
    });
}
