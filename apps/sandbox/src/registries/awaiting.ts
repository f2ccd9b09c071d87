import type { RegistryDocument } from '../documents/document.js';
import type { PackState } from '../packs/pack.js';
import type { PackStore } from '../packs/packs.js';
import type { World } from '../packs/world.js';

/** A sale by a cash register or a disposal by a registrar that could not be carried out yet. Moments are of the virtual clock. */
export interface AwaitingEntry {
  kind: 'kkt' | 'device';
  sgtin: string;
  /** The place that sold or dispensed it. */
  branch: string;
  opMs: number;
  /** 10511 or 10522 of a cash register, 10521 or 10531 of a registrar. */
  docType: number;
  soldPart?: string | undefined;
  price?: string | undefined;
  vatValue?: string | undefined;
  deviceId?: string | undefined;
  documentId?: string | undefined;
  docNum?: string | undefined;
  /** Why the last try failed. */
  reason?: string | undefined;
}

interface Waiting {
  entry: AwaitingEntry;
  document: RegistryDocument | undefined;
  checkedMs: number;
}

const MAX_WAITING = 1000;

/** What a whole pack becomes by each document type. */
const BECOMES: Record<number, string> = { 10_511: 'in_sale', 10_521: 'in_discount_prescription_sale', 10_522: 'in_discount_prescription_sale', 10_531: 'in_medical_use' };

/**
 * Sales and disposals that await their withdrawal: the pack was not yet at the place that sold it. After each document they are
 * tried again; what succeeds leaves the queue.
 */
export class AwaitingQueue {
  private waiting: Waiting[] = [];

  /** Queues an entry. `document`: the one that it came in, for the history of the pack. Beyond a thousand the oldest is given up. */
  add(entry: AwaitingEntry, document?: RegistryDocument): void {
    if (this.waiting.length >= MAX_WAITING) this.waiting.shift();
    this.waiting.push({ entry, document, checkedMs: entry.opMs });
  }

  /** Withdraws what can be by now. Deterministic, so it may follow each document also when a journal is replayed. */
  settle(packs: PackStore, world: World, virtualMs: number): void {
    if (this.waiting.length === 0) return;
    this.waiting = this.waiting.filter((one) => !withdraws(one, { packs, world, virtualMs }));
  }

  /** The entries of a queue at places. */
  of(kind: AwaitingEntry['kind'], places: readonly string[]): { entry: AwaitingEntry; checkedMs: number }[] {
    return this.waiting.filter(({ entry }) => entry.kind === kind && places.includes(entry.branch));
  }
}

function withdraws(one: Waiting, { packs, world, virtualMs }: { packs: PackStore; world: World; virtualMs: number }): boolean {
  const { entry, document } = one;
  const state = packs.pack(entry.sgtin);
  const becomes = BECOMES[entry.docType];
  one.checkedMs = virtualMs;
  entry.reason = whyNot(state, entry, world);
  if (entry.reason !== undefined || state === undefined || becomes === undefined) return false;
  packs.begin({ atMs: virtualMs, document, docType: entry.docType });
  packs.takeOutPack(entry.sgtin);
  const whole = entry.soldPart === undefined;
  const partly = becomes.replace('in_', 'in_partial_');
  packs.setPack(entry.sgtin, { ...state, sscc: undefined, status: whole ? becomes : partly, partUsed: entry.soldPart });
  return true;
}

function whyNot(state: PackState | undefined, { branch }: AwaitingEntry, world: World): string | undefined {
  if (state === undefined) return 'the pack is not registered';
  if (state.owner !== world.participantAt(branch)?.key) return 'the pack is not owned by the seller';
  if (state.place !== branch) return `the pack is at ${state.place}`;
  return state.status === 'in_circulation' ? undefined : `the pack is ${state.status}`;
}
