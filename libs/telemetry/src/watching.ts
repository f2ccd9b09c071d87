import { Metrics, type MetricsOptions } from './metrics.js';
import { NO_TRACING, openTracing, type Tracing } from './tracing.js';

/** What a program tells of itself while it works. */
export interface Watching {
  metrics: Metrics;
  tracing: Tracing;
}

/** Metrics always; traces where an OTLP endpoint is configured. */
export const openWatching = ({
  otlpEndpoint,
  ...options
}: MetricsOptions & { otlpEndpoint: string | undefined }): Watching => ({
  metrics: new Metrics(options),
  tracing:
    otlpEndpoint === undefined
      ? NO_TRACING
      : openTracing({ program: options.program, version: options.version, endpoint: otlpEndpoint }),
});
