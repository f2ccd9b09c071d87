import type { Awaited, GatePack, SuspensionFinding } from '#domain';
import { defined } from '#kernel';
import { ownHoldOf, predecessorsHeldFor, type HeldRow } from '../document-outcomes/holds.js';

/** What is waited for, as the ERP is told of it. */
export const waitingForOf = ({ waitingFor }: HeldRow) => waitingFor.map(referenceOf);

const referenceOf = (one: Awaited) => ({
  command_id: one.commandId,
  request_id: one.requestId,
  ...('items' in one ? { items: one.items, item_count: one.itemCount } : {}),
});

/** The predecessors that ended badly, as the ERP is told of them. */
export const heldForOf = ({ heldFor }: HeldRow) =>
  predecessorsHeldFor(heldFor).map((one) => ({ ...referenceOf(one), outcome: one.outcome }));

/** What suspensions or a person hold it for, as the ERP is told of it. */
export function stoppedOf({ heldFor }: HeldRow) {
  const suspension = ownHoldOf(heldFor, 'suspension');
  const person = ownHoldOf(heldFor, 'person');
  return defined({
    held_for_suspension: suspension && findingShown(suspension),
    held_by_person: person && { by: person.by, reason: person.reason },
  });
}

/** A finding, in the names of the API. */
const findingShown = ({ series, packCount, unknown, knownAt }: SuspensionFinding) => ({
  series: series.map(({ packCount: pack_count, ...one }) => ({ ...one, pack_count })),
  pack_count: packCount,
  ...(unknown === undefined ? {} : { unknown: { items: unknown.items, item_count: unknown.itemCount } }),
  known_at: knownAt,
});

/** What the sequence gate holds it for, as the ERP is told of it. */
export function heldAtGateOf({ heldFor }: HeldRow) {
  const gate = ownHoldOf(heldFor, 'gate');
  if (gate === undefined) return {};
  const packs = gate.packs.map(({ toldBy, ...pack }) => ({
    ...pack,
    ...(toldBy === undefined ? {} : { told_by: toldByOf(toldBy) }),
  }));
  return { held_at_gate: { packs, pack_count: gate.packCount, known_at: gate.knownAt } };
}

const toldByOf = ({ docType, requestId, documentId, knownAt }: NonNullable<GatePack['toldBy']>) => ({
  doc_type: docType,
  ...defined({ request_id: requestId, document_id: documentId }),
  known_at: knownAt,
});
