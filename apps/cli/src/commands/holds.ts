import { PedigreeError } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import { requestIdOfNamed } from '../named-document.js';
import { out } from '../print.js';

interface Decided {
  request_id: string;
  held_for: { command_id: string; outcome: string }[];
  held_at_gate?: { packs: string[]; pack_count: number };
}

/** Releases or ends a document that is held, or a group: whichever has the id. */
export async function decideHold(
  gateway: GatewayClient,
  decision: 'release' | 'end',
  { named, reason }: { named: string; reason: string },
): Promise<number> {
  const id = await requestIdOfNamed(gateway, named);
  const post = (noun: string) =>
    gateway.change('POST', `/v1/${noun}/${encodeURIComponent(id)}/${decision}`, { reason }) as Promise<Decided>;
  const decided = await post('documents').catch((error: unknown) => {
    if (error instanceof PedigreeError && error.code === 'not_found') return post('groups');
    throw error;
  });
  const { held_for: predecessors, held_at_gate: gate } = decided;
  const forbidding = gate === undefined ? [] : [`by the state of ${gate.pack_count} packs, ${gate.packs[0]} first`];
  const why = [...predecessors.map((one) => `${one.command_id} ended ${one.outcome}`), ...forbidding].join(', ');
  out(`${decided.request_id} ${decision === 'release' ? 'is released' : 'is ended'}, though held: ${why}`);
  return 0;
}
