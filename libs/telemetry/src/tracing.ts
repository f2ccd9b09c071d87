import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Tracer } from '@opentelemetry/api';
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
export const openTracing = (options: TracingOptions): Tracing => new OtlpTracing(options);

class OtlpTracing implements Tracing {
  readonly isOn = true;
  private readonly ids = new GivenIds();
  private readonly provider: BasicTracerProvider;
  private readonly tracer: Tracer;

  constructor({ program, version, endpoint, exportWithinMs = 5_000 }: TracingOptions) {
    const exporter = new OTLPTraceExporter({
      url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
      timeoutMillis: exportWithinMs,
    });
    this.provider = new BasicTracerProvider({
      idGenerator: this.ids,
      resource: resourceFromAttributes({ 'service.name': `pedigree-${program}`, 'service.version': version }),
      spanProcessors: [
        new BatchSpanProcessor(exporter, { maxQueueSize: MOST_QUEUED_SPANS, exportTimeoutMillis: exportWithinMs }),
      ],
    });
    this.tracer = this.provider.getTracer('pedigree', version);
  }

  step({ key, ...span }: Step): void {
    const root = documentTrace(span.requestId);
    const spanId = stepSpanId(span.requestId, `${span.name} ${key}`);
    this.record({ traceId: root.traceId, spanId }, root, span);
  }

  document(span: Parameters<Tracing['document']>[0]): void {
    this.record(documentTrace(span.requestId), undefined, { name: 'document', ...span });
  }

  async close(): Promise<void> {
    await this.provider.shutdown().catch(() => undefined);
  }

  private record(place: TracePlace, parent: TracePlace | undefined, span: Omit<Step, 'key'>): void {
    const { requestId, name, kind = 'internal', startedAt: startTime, endedAt, caller, error } = span;
    const attributes = { 'pedigree.request_id': requestId, ...span.attributes };
    const links = caller === undefined ? [] : [{ context: { ...caller, traceFlags: TraceFlags.SAMPLED } }];
    const within =
      parent === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags: TraceFlags.SAMPLED, isRemote: true });
    this.ids.next = place;
    const made = this.tracer.startSpan(name, { kind: KINDS[kind], startTime, attributes, links }, within);
    this.ids.next = undefined;
    if (error !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: error });
    made.end(endedAt);
  }
}
