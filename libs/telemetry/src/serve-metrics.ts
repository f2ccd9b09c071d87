import type { Metrics } from './metrics.js';

/** The port of a program, as far as this library needs it; `HttpPort` of the service library fits. */
interface MetricsPort {
  answer(path: string, route: () => Promise<{ contentType: string; body: string }>): void;
}

/** How a program stands with what it needs; `Health` of the service library fits. */
interface NeedsShown {
  readiness(): { parts: { name: string; status: string }[]; degraded?: { name: string }[] };
}

/** Answers `/metrics`, with the needs of the program among them, and what its readiness is degraded by. */
export function serveMetrics(metrics: Metrics, port: MetricsPort, needs: NeedsShown): void {
  metrics.collect(() => {
    const { parts, degraded = [] } = needs.readiness();
    metrics.replace(
      'pedigree_need_up',
      parts.map(({ name, status }) => ({ labels: { need: name }, value: status === 'up' ? 1 : 0 })),
    );
    const troubles = new Set(degraded.map(({ name }) => name));
    metrics.replace(
      'pedigree_degraded',
      [...troubles].map((trouble) => ({ labels: { trouble }, value: 1 })),
    );
  });
  port.answer('/metrics', () => metrics.text());
}
