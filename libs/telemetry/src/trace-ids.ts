import { createHash } from 'node:crypto';

/** A place in a trace, as W3C Trace Context names it: 32 and 16 lower-case hexadecimal digits. */
export interface TracePlace {
  traceId: string;
  spanId: string;
}

/**
 * The trace of a document, from the ERP's message to its receipt, and the id of its root span. Both follow from the
 * request_id, so that every process, today or after a crash, adds to one trace without being told of it.
 */
export function documentTrace(requestId: string): TracePlace {
  const hex = requestId.replaceAll('-', '').toLowerCase();
  const traceId = /^(?!0{32})[0-9a-f]{32}$/.test(hex) ? hex : digest(requestId).slice(0, 32);
  return { traceId, spanId: digest(`document ${requestId}`).slice(0, 16) };
}

/** A span id that the same step of the same document always has: a step that is told twice is shown once. */
export const stepSpanId = (requestId: string, step: string): string => digest(`${requestId} ${step}`).slice(0, 16);

/**
 * The place that a caller's `traceparent` header names (W3C Trace Context, 3.2), or undefined when there is none that
 * holds.
 */
export function parseTraceparent(header: string | undefined): TracePlace | undefined {
  const [, traceId, spanId] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/.exec(header ?? '') ?? [];
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
