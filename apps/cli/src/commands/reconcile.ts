import { invalidParameter, systemClock } from '#kernel';
import { snakeCase } from '../../../gateway/src/api/snake-case.js';
import type { GatewayClient } from '../gateway-client.js';
import { out, say, table } from '../print.js';

export interface ReconcileOptions {
  reason: string;
  wait: string;
  json?: boolean;
}

interface Run {
  id: string;
  result?: {
    asOf: string;
    findings: number;
    /** Of these, so many are not kept. */ findingsLeftOut?: number;
    counts: Record<string, number>;
    notOurs: Record<string, number>;
    digest: string;
  };
  findings: {
    kind: string;
    reasonCode: string;
    requestId: string;
    documentId?: string;
    sentence: string;
    remedy: string;
  }[];
}

const LOOK_EVERY_MS = 250;
/** Findings that are printed; the API has all. */
const MOST_PRINTED = 1_000;

/**
 * Asks for a comparison, waits for it and prints what it found. Returns 0 without findings, 1 with some, or when it was
 * not made in time.
 */
export async function reconcile(gateway: GatewayClient, { reason, wait, json }: ReconcileOptions): Promise<number> {
  if (!/^\d{1,6}$/.test(wait)) throw invalidParameter('--wait', `${wait} is not a number of seconds`);
  const { id } = (await gateway.change('POST', '/v1/reconciliations', { reason })) as { id: string };
  const path = `/v1/reconciliations/${encodeURIComponent(id)}?limit=${MOST_PRINTED}`;
  const patienceMs = Number(wait) * 1_000;
  const begunMs = systemClock.monotonicMs();
  let run = await gateway.get<Run>(path);
  while (run.result === undefined && systemClock.monotonicMs() - begunMs < patienceMs) {
    await systemClock.wait(LOOK_EVERY_MS);
    run = await gateway.get<Run>(path);
  }
  if (run.result === undefined) {
    say(
      `the reconciliation ${id} was not made in ${wait} s: is a reconciler running? pedigree tasks shows what ` +
        'was given up',
    );
    return 1;
  }
  if (json === true) out(JSON.stringify(await gateway.raw(path)));
  else print(run, run.result);
  return run.result.findings === 0 ? 0 : 1;
}

function print(
  { id, findings }: Run,
  { asOf, findings: found, findingsLeftOut: left = 0, counts, notOurs, digest }: NonNullable<Run['result']>,
): void {
  out(`reconciliation ${id} as of ${asOf}: ${found} findings, digest ${digest}`);
  out(
    table(
      ['counted', ''],
      [
        ...Object.entries(snakeCase(counts)),
        ...Object.entries(notOurs).map(([channel, n]): [string, number] => [`not ours, ${channel}`, n]),
      ],
    ),
  );
  if (findings.length > 0)
    out(
      table(
        ['finding', 'request_id', 'document_id', 'what', 'remedy'],
        findings.map((one) => [one.reasonCode, one.requestId, one.documentId, one.sentence, one.remedy]),
      ),
    );
  out('documents that ended badly and were not sent again become cases too: pedigree cases');
  const more = found - findings.length - left;
  if (more > 0) out(`and ${more} more: GET /v1/reconciliations/${id}`);
  if (left > 0) out(`and ${left} that were counted and not kept: this run opens no cases of them, and resolves none`);
}
