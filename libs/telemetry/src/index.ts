/**
 * What operators watch: metrics for Prometheus, and traces from the ERP's message to the receipt by OpenTelemetry.
 * Promise: every metric is one of the table; no secret, document or pack is ever a label or an attribute; whoever
 * watches can never stop the work. Proven in: metrics.spec.ts, trace-ids.spec.ts, tracing.int.spec.ts,
 * test/gates/dashboards.spec.ts.
 */
export * from './metric-table.js';
export * from './metrics.js';
export * from './trace-ids.js';
export * from './tracing.js';
export * from './serve-metrics.js';
export * from './watching.js';
