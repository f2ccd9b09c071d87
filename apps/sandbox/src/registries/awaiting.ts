import type { DocumentContent, RegistryDocument, Verdict } from '../documents/document.js';
import type { PackState } from '../packs/pack.js';
import type { PackStore } from '../packs/packs.js';
import { FINAL_STATUSES } from '../packs/trail.js';
import type { World } from '../packs/world.js';

/**
 * A sale by a cash register or a disposal by a registrar that could not be carried out yet. Moments are of the virtual
 * clock.
 */
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
  /** When the report of it came. */
  heardMs?: number | undefined;
  /** Why the last try failed, as the registry numbers its reasons. */
  reason?: number | undefined;
}

interface Waiting {
  entry: AwaitingEntry;
  document: RegistryDocument | undefined;
  checkedMs: number;
}

const MAX_WAITING = 1000;

/** What a whole pack becomes by each document type. */
const BECOMES: Record<number, string> = {
  10_511: 'in_sale',
  10_521: 'in_discount_prescription_sale',
  10_522: 'in_discount_prescription_sale',
  10_531: 'in_medical_use',
};

/**
 * Errors that goods which come later heal: not the owner's, elsewhere, shipped and not accepted (checks/reasons.ts).
 */
const HEALING_CODES: ReadonlySet<string> = new Set(['4', '11', '13']);
const CASH_REGISTER_TYPES: ReadonlySet<number> = new Set([10_511, 10_522]);

/** Why a sale cannot be carried out, by the registry's numbers (public-facts 1.3). */
const REASONS = { withdrawn_again: 2, not_in_circulation: 3, not_for_sale: 4, not_owned: 7 } as const;

interface Judged {
  verdict: Verdict;
  content: DocumentContent | undefined;
}

/**
 * Sales and disposals that await their withdrawal: the pack was not yet at the place that sold it. After each document
 * they are tried again; what succeeds leaves the queue.
 */
export class AwaitingQueue {
  private waiting: Waiting[] = [];

  /**
   * Queues an entry. `document`: the one that it came in, for the history of the pack. Beyond a thousand the oldest is
   * given up.
   */
  add(entry: AwaitingEntry, document?: RegistryDocument): void {
    if (this.waiting.length >= MAX_WAITING) this.waiting.shift();
    this.waiting.push({ entry, document, checkedMs: entry.opMs });
  }

  /** Queues what a cash register or a registrar reported and the goods did not allow yet. Hands the judgement on. */
  heard(document: RegistryDocument, judged: Judged): Judged {
    const { verdict, content } = judged;
    if (content === undefined || BECOMES[content.docType] === undefined || verdict.kind !== 'receipt') return judged;
    const errors = new Map(verdict.errors.map((error) => [error.objectId, error]));
    for (const item of content.items) {
      const error = errors.get(item.id);
      if (item.kind === 'sgtin' && error !== undefined && HEALING_CODES.has(error.code))
        this.add(entryOf({ document, content, item }), document);
    }
    return judged;
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

function entryOf({
  document,
  content,
  item,
}: {
  document: RegistryDocument;
  content: DocumentContent;
  item: { id: string; part?: string };
}): AwaitingEntry {
  return {
    kind: CASH_REGISTER_TYPES.has(content.docType) ? 'kkt' : 'device',
    sgtin: item.id,
    branch: content.fields.get('subject_id') ?? '',
    opMs: document.dueVirtualMs,
    docType: content.docType,
    soldPart: item.part,
    documentId: document.documentId,
    docNum: content.fields.get('doc_num'),
    heardMs: document.acceptedVirtualMs,
    reason: REASONS.not_owned,
  };
}

function withdraws(
  one: Waiting,
  { packs, world, virtualMs }: { packs: PackStore; world: World; virtualMs: number },
): boolean {
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

function whyNot(state: PackState | undefined, { branch }: AwaitingEntry, world: World): number | undefined {
  if (state === undefined) return REASONS.not_in_circulation;
  if (FINAL_STATUSES.has(state.status)) return REASONS.withdrawn_again;
  if (state.owner !== world.participantAt(branch)?.key || state.place !== branch) return REASONS.not_owned;
  return state.status === 'in_circulation' ? undefined : REASONS.not_for_sale;
}
