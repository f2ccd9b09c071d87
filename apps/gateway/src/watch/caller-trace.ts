import { AsyncLocalStorage } from 'node:async_hooks';

const traceparents = new AsyncLocalStorage<string>();

/** Does the work in the name of a caller's trace (W3C Trace Context), where he named one. */
export const inTraceOf = <T>(traceparent: unknown, work: () => T): T =>
  typeof traceparent === 'string' ? traceparents.run(traceparent, work) : work();

/** The `traceparent` of whoever asked for the work that is under way. */
export const callersTraceparent = (): string | undefined => traceparents.getStore();
