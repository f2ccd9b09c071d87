import type { TracePlace } from './trace-ids.js';

/**
 * One step of a document's way. No secret and no content of a document may be an attribute; ids, counts and outcomes
 * may.
 */
export interface Step {
  requestId: string;
  /** What was done, for example `send`; with `key` it names the span for ever. */
  name: string;
  /** Tells several steps of one name apart, for example the task's key. */
  key: string;
  startedAt: Date;
  endedAt: Date;
  kind?: 'server' | 'consumer' | 'client' | 'producer' | 'internal';
  attributes?: Record<string, string | number | boolean>;
  /** Set when the step went wrong: one sentence without secrets. */
  error?: string;
  /** The caller's own trace, to which this step is linked. */
  caller?: TracePlace | undefined;
}

/** Where spans go. Without an OTLP endpoint nothing is made. */
export interface Tracing {
  /** False where nothing is made: what costs a question need not be asked then. */
  readonly isOn: boolean;
  step(step: Step): void;
  /** The whole way of a document, told once it is concluded. */
  document(of: {
    requestId: string;
    startedAt: Date;
    endedAt: Date;
    attributes: Record<string, string | number | boolean>;
    error?: string;
  }): void;
  /** Sends what is still here, within a few seconds. */
  close(): Promise<void>;
}

export interface TracingOptions {
  program: string;
  version: string;
  /** Base address of an OTLP/HTTP receiver, as OTEL_EXPORTER_OTLP_ENDPOINT names it: `/v1/traces` is added. */
  endpoint: string;
  /** Longest that one export, its repeats included, may take. Default 5,000. */
  exportWithinMs?: number;
}

export const NO_TRACING: Tracing = {
  isOn: false,
  step: () => undefined,
  document: () => undefined,
  close: () => Promise.resolve(),
};
