import { isKnob, KNOB_NAMES, KNOBS, type KnobName } from '../misbehaviour/knobs.js';
import type { Misbehaviour } from '../misbehaviour/misbehaviour.js';

/**
 * Misbehaviours that a test can order through the control port: the same knobs that strike at a rate
 * (misbehaviour/knobs.ts).
 */
export const FAULTS = KNOBS;
export type FaultName = KnobName;

/** A plan holds for `times` calls of one method, or of any ("*"). */
interface FaultPlan {
  fault: FaultName;
  method: string;
  times: number;
  value: number;
}

const MAX_PLANS = 100;

/** What strikes a call: what was ordered for it first, then what its rate brings. */
export class Faults {
  private plans: FaultPlan[] = [];

  constructor(
    readonly misbehaviour: Misbehaviour,
    /** The operations that a plan may name. */
    private readonly methods: readonly string[],
  ) {}

  /** Throws an Error that says what is wrong with the plan. */
  add(raw: Record<string, unknown>): FaultPlan {
    const { fault, method = '*', times = 1, value = 0 } = raw;
    if (typeof fault !== 'string' || !isKnob(fault))
      throw new Error(`there is no fault ${JSON.stringify(fault)}; known are ${KNOB_NAMES.join(', ')}`);
    if (typeof method !== 'string' || (method !== '*' && !this.methods.includes(method)))
      throw new Error(`there is no method ${JSON.stringify(method)}; known are *, ${this.methods.join(', ')}`);
    if (!isCount(times, 1, 1_000_000)) throw new Error('times is a whole number from 1 to 1000000');
    if (!isCount(value, 0, 86_400_000)) throw new Error('value is a whole number of ms from 0 to 86400000');
    if (this.plans.length >= MAX_PLANS) throw new Error(`more than ${MAX_PLANS} plans are open`);
    const plan: FaultPlan = { fault, method, times, value };
    this.plans.push(plan);
    return plan;
  }

  /**
   * Uses up one strike of the first plan that fits, or draws one at the knob's rate; its value, or undefined when
   * nothing strikes.
   */
  take(fault: FaultName, method: string): number | undefined {
    const plan =
      this.plans.length === 0
        ? undefined
        : this.plans.find((one) => one.fault === fault && (one.method === '*' || one.method === method));
    if (plan === undefined) return this.misbehaviour.draw(fault, method);
    plan.times -= 1;
    if (plan.times === 0) this.plans = this.plans.filter((one) => one !== plan);
    return plan.value;
  }

  clear(): void {
    this.plans = [];
  }

  open(): FaultPlan[] {
    return this.plans.map((plan) => ({ ...plan }));
  }
}

const isCount = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
