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
import type { Step, Tracing, TracingOptions } from './tracing.js';

const KINDS = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
};
const MOST_QUEUED_SPANS = 4_096;

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

export class OtlpTracing implements Tracing {
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
