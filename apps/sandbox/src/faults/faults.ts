/**
 * Misbehaviours that a test orders through the control port, each one named knob. `when`: where it strikes. A plan holds
 * for `times` calls of one method, or of any ("*").
 */
export const FAULTS = {
  answer_429: { when: 'before_work', value: 'the interval that the text states, in ms', reason: 'limits are tightened without notice' },
  drop_connection_before_work: { when: 'before_work', value: 'unused', reason: 'a request is lost on its way, and nobody can tell that from a lost answer' },
  delay_ms: { when: 'answer', value: 'how long the answer is held back, in ms', reason: 'a send may hang for a minute and still arrive' },
  drop_connection_after_work: { when: 'answer', value: 'unused', reason: 'the work is done and nobody learns of it' },
  answer_500_after_work: { when: 'answer', value: 'unused', reason: 'the work is done and the answer says otherwise' },
  late_receipt: { when: 'processing', value: 'for how long the receipt is 404, in virtual ms', reason: 'a receipt is absent for a while after the final status' },
  failed_then_processed: { when: 'processing', value: 'for how long it shows FAILED, in virtual ms', reason: 'a bare FAILED can still turn out otherwise' },
} as const;

export type FaultName = keyof typeof FAULTS;

export interface FaultPlan {
  fault: FaultName;
  method: string;
  times: number;
  value: number;
}

const MAX_PLANS = 100;

export class Faults {
  private plans: FaultPlan[] = [];

  /** Throws an Error that says what is wrong with the plan. */
  add(raw: Record<string, unknown>): FaultPlan {
    const { fault, method = '*', times = 1, value = 0 } = raw;
    if (typeof fault !== 'string' || !(fault in FAULTS)) throw new Error(`there is no fault ${JSON.stringify(fault)}; known are ${Object.keys(FAULTS).join(', ')}`);
    if (typeof method !== 'string') throw new Error('method is the name of an operation of the profile, or *');
    if (!isCount(times, 1, 1_000_000)) throw new Error('times is a whole number from 1 to 1000000');
    if (!isCount(value, 0, 86_400_000)) throw new Error('value is a whole number of ms from 0 to 86400000');
    if (this.plans.length >= MAX_PLANS) throw new Error(`more than ${MAX_PLANS} plans are open`);
    const plan: FaultPlan = { fault: fault as FaultName, method, times, value };
    this.plans.push(plan);
    return plan;
  }

  /** Uses up one strike of the first plan that fits; its value, or undefined when none does. */
  take(fault: FaultName, method: string): number | undefined {
    if (this.plans.length === 0) return undefined;
    const plan = this.plans.find((one) => one.fault === fault && (one.method === '*' || one.method === method));
    if (plan === undefined) return undefined;
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

const isCount = (value: unknown, least: number, most: number): value is number => Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
