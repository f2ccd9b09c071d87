import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Link } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
  type IdGenerator,
} from '@opentelemetry/sdk-trace-base';
import { documentTrace, stepSpanId, type TracePlace } from './trace-ids.js';

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

const KINDS = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
};
const MOST_QUEUED_SPANS = 4_096;

export const NO_TRACING: Tracing = {
  isOn: false,
  step: () => undefined,
  document: () => undefined,
  close: () => Promise.resolve(),
};

/**
 * Hands out the ids that the next span is to have, and random ones otherwise. Spans are made in one go, so nothing
 * comes between.
 */
class GivenIds implements IdGenerator {
  private readonly random = new RandomIdGenerator();
  next: TracePlace | undefined;

  generateTraceId = (): string => this.next?.traceId ?? this.random.generateTraceId();
  generateSpanId = (): string => this.next?.spanId ?? this.random.generateSpanId();
}

/** Opens the way to an OTLP receiver. A receiver that is away costs spans and never work. */
export function openTracing(options: TracingOptions): Tracing {
  const { exportWithinMs = 5_000 } = options;
  const exporter = new OTLPTraceExporter({
    url: `${options.endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: exportWithinMs,
  });
  const ids = new GivenIds();
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': `pedigree-${options.program}`,
      'service.version': options.version,
    }),
    spanProcessors: [
      new BatchSpanProcessor(exporter, { maxQueueSize: MOST_QUEUED_SPANS, exportTimeoutMillis: exportWithinMs }),
    ],
  });
  const tracer = provider.getTracer('pedigree', options.version);

  const record = (place: TracePlace, parent: TracePlace | undefined, span: Omit<Step, 'requestId' | 'key'>): void => {
    ids.next = place;
    const links: Link[] =
      span.caller === undefined ? [] : [{ context: { ...span.caller, traceFlags: TraceFlags.SAMPLED } }];
    const within =
      parent === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags: TraceFlags.SAMPLED, isRemote: true });
    const made = tracer.startSpan(
      span.name,
      { kind: KINDS[span.kind ?? 'internal'], startTime: span.startedAt, attributes: span.attributes ?? {}, links },
      within,
    );
    ids.next = undefined;
    if (span.error !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: span.error });
    made.end(span.endedAt);
  };

  return {
    isOn: true,
    step: ({ requestId, key, ...span }) => {
      const root = documentTrace(requestId);
      record({ traceId: root.traceId, spanId: stepSpanId(requestId, `${span.name} ${key}`) }, root, {
        ...span,
        attributes: { 'pedigree.request_id': requestId, ...span.attributes },
      });
    },
    document: ({ requestId, ...span }) =>
      record(documentTrace(requestId), undefined, {
        name: 'document',
        ...span,
        attributes: { 'pedigree.request_id': requestId, ...span.attributes },
      }),
    close: async () => {
      await provider.shutdown().catch(() => undefined);
    },
  };
}
