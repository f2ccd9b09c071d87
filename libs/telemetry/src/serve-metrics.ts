import type { Metrics } from './metrics.js';

/** The port of a program, as far as this library needs it; `HttpPort` of the service library fits. */
interface MetricsPort {
  answer(path: string, route: () => Promise<{ contentType: string; body: string }>): void;
}

/** How a program stands with what it needs; `Health` of the service library fits. */
interface NeedsShown {
  readiness(): { parts: { name: string; status: string }[] };
}

/** Answers `/metrics`, with the needs of the program among them. */
export function serveMetrics(metrics: Metrics, port: MetricsPort, needs: NeedsShown): void {
  metrics.collect(() =>
    metrics.replace(
      'pedigree_need_up',
      needs.readiness().parts.map(({ name, status }) => ({ labels: { need: name }, value: status === 'up' ? 1 : 0 })),
    ),
  );
  port.answer('/metrics', () => metrics.text());
}
