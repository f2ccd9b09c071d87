import { Metrics, type MetricsOptions } from './metrics.js';
import { NO_TRACING, type Tracing, type TracingOptions } from './tracing.js';

/** What a program tells of itself while it works. */
export interface Watching {
  metrics: Metrics;
  tracing: Tracing;
}

/** Metrics always; traces where an OTLP endpoint is configured. */
export const openWatching = async ({
  otlpEndpoint,
  ...options
}: MetricsOptions & { otlpEndpoint: string | undefined }): Promise<Watching> => ({
  metrics: new Metrics(options),
  tracing:
    otlpEndpoint === undefined
      ? NO_TRACING
      : await openTracing({ program: options.program, version: options.version, endpoint: otlpEndpoint }),
});

/**
 * Opens the way to an OTLP receiver. A receiver that is away costs spans and never work. What it needs is loaded here:
 * most programs have no receiver.
 */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const { OtlpTracing } = await import('./otlp-tracing.js');
  return new OtlpTracing(options);
}
