import { defined, PedigreeError } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import { requestIdOfNamed } from '../named-document.js';
import { out } from '../print.js';

interface Decided {
  request_id: string;
  held_for: { command_id: string; outcome: string }[];
  held_at_gate?: { packs: string[]; pack_count: number };
  held_for_suspension?: { suspensions: string[]; pack_count: number };
  held_by_person?: { by: string; reason: string };
  missing?: { command_id: string }[];
  start?: 'unconfirmed' | 'halted';
  in_work?: true;
}

/** Releases or ends a document or a group, whichever has the id, that is held or waits for what never came. */
export async function decideHold(
  gateway: GatewayClient,
  decision: 'release' | 'end',
  { named, reason, inWork }: { named: string; reason: string; inWork?: true },
): Promise<number> {
  const id = await requestIdOfNamed(gateway, named, inWork === true ? 'group' : undefined);
  const post = (noun: string) =>
    gateway.change('POST', `/v1/${noun}/${encodeURIComponent(id)}/${decision}`, {
      reason,
      ...defined({ in_work: inWork }),
    }) as Promise<Decided>;
  const either = () =>
    post('documents').catch((error: unknown) => {
      if (error instanceof PedigreeError && error.code === 'not_found') return post('groups');
      throw error;
    });
  const decided = await (inWork === true ? post('groups') : either());
  const done = decision === 'release' ? 'is released' : 'is ended';
  out(`${decided.request_id} ${done}, ${whyNot(decided)}`);
  return 0;
}

function whyNot(decided: Decided): string {
  if (decided.start !== undefined) return howEnded(decided);
  const held = whyHeld(decided);
  const missing = (decided.missing ?? []).map((one) => `${one.command_id} never came`);
  return [...(held.length === 0 ? [] : [`though held: ${held.join(', ')}`]), ...missing].join(', ');
}

const howEnded = ({ start, in_work: inWork }: Decided): string =>
  `${start === 'unconfirmed' ? 'though nobody knows whether the registry has begun' : 'as it had halted'}: ` +
  (inWork === true
    ? 'its documents end, also those that the registry shows as in work'
    : 'its documents end once the registry shows that it has not');

function whyHeld(decided: Decided): string[] {
  const { held_for: predecessors, held_at_gate: gate, held_for_suspension: suspended, held_by_person: by } = decided;
  return [
    ...predecessors.map((one) => `${one.command_id} ended ${one.outcome}`),
    ...(gate === undefined ? [] : [`by the state of ${gate.pack_count} packs, ${gate.packs[0]} first`]),
    ...(suspended === undefined
      ? []
      : [`for ${suspended.pack_count} suspended packs, by ${suspended.suspensions.join(' ')}`]),
    ...(by === undefined ? [] : [`by ${by.by}: ${by.reason}`]),
  ];
}

/** Keeps a document from being sent that was not sent yet. */
export async function holdDocument(
  gateway: GatewayClient,
  { named, reason }: { named: string; reason: string },
): Promise<number> {
  const id = await requestIdOfNamed(gateway, named);
  await gateway.change('POST', `/v1/documents/${encodeURIComponent(id)}/hold`, { reason });
  out(`${id} is to be held: pedigree release ${named} lets it go`);
  return 0;
}
