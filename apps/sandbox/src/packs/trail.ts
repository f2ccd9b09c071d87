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
]);

/**
 * Statuses in which a decision of suspension stops a pack. Others, for example shipped ones, stop when they come here.
 */
const CIRCULATING: ReadonlySet<string> = new Set([
  'in_circulation',
  'in_partial_sale',
  'in_partial_discount_prescription_sale',
  'in_partial_medical_use',
  'in_partial_dispensing_by_document',
]);

const PAUSED = 'paused_circulation';

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
    const trail: Trail = { change: this.change, status: kept.status, sinceMs, sscc: kept.sscc, previous };
    return { ...kept, pausedFrom: kept.status === PAUSED ? kept.pausedFrom : undefined, trail };
  }
}

const paused = (state: PackState): PackState =>
  CIRCULATING.has(state.status) ? { ...state, status: PAUSED, pausedFrom: state.status } : state;

/** Whether a decision changes the pack at once. One that is shipped or gone is left alone. */
export const isTouchedBy = (halt: 'suspend' | 'cancel', { status }: PackState): boolean =>
  halt === 'suspend' ? CIRCULATING.has(status) : status === PAUSED;

/** What a suspended pack becomes when nothing holds it any more. */
export const freed = (state: PackState): PackState =>
  state.status === PAUSED ? { ...state, status: state.pausedFrom ?? 'in_circulation' } : state;
