import type { RegistryDocument } from '../documents/document.js';
import type { Change, PackState, Trail } from './pack.js';

/** Statuses that end a pack's circulation; none is absorbing, for 391 may bring it back (public-facts 3.2). */
export const FINAL_STATUSES: ReadonlySet<string> = new Set([
  'in_sale',
  'in_discount_prescription_sale',
  'in_medical_use',
  'dispensing_by_document',
  'disposed',
  'out_of_circulation',
  'experiment_outbound',
  'relabeled',
  'reexported',
  'moved_to_eeu',
  'eliminated',
  'expired_not_paid',
  'ooc_part_sale',
  'ooc_part_prescription_sale',
  'ooc_part_medical_use',
  'ooc_part_dispensing_by_doc',
]);

/**
 * Statuses in which a decision of suspension stops a pack; one that travels is then on its shipper's balance, suspended
 * (public-facts 3.2). Others stop when they come here.
 */
const CIRCULATING: ReadonlySet<string> = new Set([
  'in_circulation',
  'in_partial_sale',
  'in_partial_discount_prescription_sale',
  'in_partial_medical_use',
  'in_partial_dispensing_by_document',
  'in_partial_ooc',
  'in_realization',
]);

export const PAUSED = 'paused_circulation';
/** On its way back, suspended (417). */
export const RETURNING = 'confirm_return_paused';

/**
 * Gives every state that is set its step in the pack's life, and stops or frees packs as decisions of suspension
 * demand.
 */
export class Stamps {
  private change: Change = { atMs: 0 };
  private readonly free = new Map<PackState, PackState>();
  private readonly held = new Map<PackState, PackState>();

  begin(change: Change): void {
    this.change = change;
    this.free.clear();
    this.held.clear();
  }

  get current(): Change {
    return this.change;
  }

  /** The state as it is kept. States that are one object before are one after. */
  stamp(state: PackState, isHeld: boolean): PackState {
    const memo = isHeld ? this.held : this.free;
    let stamped = memo.get(state);
    if (stamped === undefined) memo.set(state, (stamped = this.stamped(state, isHeld)));
    return stamped;
  }

  private stamped(state: PackState, isHeld: boolean): PackState {
    const kept = isHeld ? paused(state) : state;
    // A change may set a pack twice; that is still one step.
    const previous = kept.trail?.change === this.change ? kept.trail.previous : kept.trail;
    const sinceMs = previous?.status === kept.status ? previous.sinceMs : this.change.atMs;
    const { status, sscc } = kept;
    const stamped = { ...kept, pausedFrom: status === PAUSED ? kept.pausedFrom : undefined };
    const trail: Trail = { change: this.change, status, sinceMs, sscc, state: stamped, previous };
    return Object.assign(stamped, { trail });
  }
}

const paused = (state: PackState): PackState =>
  CIRCULATING.has(state.status) ? { ...state, status: PAUSED, pausedFrom: state.status } : state;

/** Whether a decision changes the pack at once. One that is gone is left alone. */
export const isTouchedBy = (halt: 'suspend' | 'cancel', { status }: PackState): boolean =>
  halt === 'suspend' ? CIRCULATING.has(status) : status === PAUSED || status === RETURNING;

/** What a suspended pack becomes when nothing holds it any more. A return of one goes on as a shipment. */
export function freed(state: PackState): PackState {
  if (state.status === RETURNING) return { ...state, status: 'in_realization' };
  return state.status === PAUSED ? { ...state, status: state.pausedFrom ?? 'in_circulation' } : state;
}

/** What a pack is after a movement: a suspended one stays so, whatever moves it (public-facts 3.2). */
export const movedTo = (pack: PackState, status: string): Pick<PackState, 'status' | 'pausedFrom'> =>
  pack.status === PAUSED || pack.status === RETURNING
    ? { status: PAUSED, pausedFrom: status === PAUSED ? undefined : status }
    : { status, pausedFrom: undefined };

/** The state before a document, and whether no other document has changed the pack since. */
export interface Undoing {
  before: PackState;
  isLast: boolean;
}

/** How to undo what a document did to the packs of a trail; undefined when it did nothing to them. */
export function undoingOf(trail: Trail | undefined, document: RegistryDocument): Undoing | undefined {
  let isLast = true;
  let isFreed = false;
  for (let step = trail; step !== undefined; step = step.previous) {
    if (step.change.document === document) {
      const before = step.previous?.state;
      return before && { before: isFreed ? freed(before) : before, isLast };
    }
    // A decision of suspension may come between; an automatic write-off may not.
    if (step.change.document === undefined && step.change.docType === undefined) isFreed = true;
    else isLast = false;
  }
  return undefined;
}
