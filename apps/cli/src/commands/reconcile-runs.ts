import type { GatewayClient } from '../gateway-client.js';
import { instant, out, table } from '../print.js';

interface RunLine {
  id: string;
  kind: string;
  state: string;
  requested_at: string;
  requested_by: string;
  reason: string;
  problem?: string;
  progress?: string;
  result?: { findings: number };
  packs?: { findings: number; calls: number; reading?: { taken_over: number; calls_of_full: number } };
}

/** Those of a run that took rows over beside those that asking about all would have taken. */
function callsOf({ packs }: RunLine): string | number | undefined {
  const { calls, reading } = packs ?? {};
  return reading === undefined || reading.taken_over === 0 ? calls : `${calls} of ${reading.calls_of_full}`;
}

export interface RunsFlags {
  limit: string;
  json?: boolean;
}

/** The newest runs, each on a line: what became of it, or how far it is. */
export async function showRuns(gateway: GatewayClient, { limit, json }: RunsFlags): Promise<number> {
  const path = `/v1/reconciliations?limit=${encodeURIComponent(limit)}`;
  const { items } = (await gateway.raw(path)) as { items: RunLine[] };
  const rows = items.map((one) => [
    ...[one.id, one.kind, one.state, instant(one.requested_at), one.requested_by, one.reason],
    ...[(one.packs ?? one.result)?.findings, callsOf(one), one.problem ?? one.progress],
  ]);
  if (json === true) for (const one of items) out(JSON.stringify(one));
  else
    out(table(['run', 'compares', 'state', 'requested', 'by', 'reason', 'findings', 'calls', 'how it stands'], rows));
  return 0;
}
