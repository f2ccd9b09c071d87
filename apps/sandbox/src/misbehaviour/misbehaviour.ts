import { spreadOf } from '../seeded.js';
import { isKnob, KNOB_NAMES, KNOBS, type KnobName } from './knobs.js';

export interface MisbehaviourOptions {
  seed: number;
  /** Rate of every knob, 0 to 1. */
  rate: number;
  /** Rates of single knobs, above `rate`. */
  knobs: Record<string, number>;
  /** Longest value that a strike may take, where the profile says what a client has to bear; 0: no strike at a rate. */
  longest: Partial<Record<KnobName, number>>;
  /** Ends of spans that were asked for in place of the knobs' own. */
  spanEnds?: Partial<Record<KnobName, number>>;
}

/** Knobs after which a caller has nothing in hand. */
const SPOILS = new Set<KnobName>([
  'answer_429',
  'answer_500_before_work',
  'drop_connection_before_work',
  'token_revoked',
  'land_late',
  'drop_connection_after_work',
  'answer_500_after_work',
  'html_error',
  'wrong_content_type',
  'cut_answer',
]);
/**
 * With all of them at a high rate hardly a call would ever go well; after so many spoiled ones of a method the next one
 * does.
 */
const MOST_IN_A_ROW = 2;

/**
 * Misbehaviour at rates. Whether the nth chance of a knob strikes follows from seed, knob and n alone, so that the same
 * calls in the same order meet the same misbehaviour.
 */
export class Misbehaviour {
  private readonly rates = new Map<KnobName, number>();
  private readonly chances = new Map<KnobName, number>();
  private readonly strikes = new Map<KnobName, number>();
  private readonly streaks = new Map<string, number>();
  private readonly seed: number;
  private readonly longest: Partial<Record<KnobName, number>>;
  private readonly spanEnds: Partial<Record<KnobName, number>>;

  constructor({ seed, rate, knobs, longest, spanEnds = {} }: MisbehaviourOptions) {
    this.seed = seed;
    this.longest = longest;
    this.spanEnds = spanEnds;
    this.set({ rate, knobs });
  }

  /** Sets all rates, then single ones. Throws an Error that names what is wrong, and then nothing is set. */
  set({ rate, knobs = {} }: { rate?: unknown; knobs?: unknown }): void {
    if (rate !== undefined && !isRate(rate)) throw new Error('rate is a number from 0 to 1');
    const single = ratesOf(knobs);
    if (rate !== undefined) for (const name of KNOB_NAMES) this.rates.set(name, rate);
    for (const [name, value] of single) this.rates.set(name, value);
  }

  /** Whether the knob strikes this call of a method: its value, or undefined. */
  draw(name: KnobName, method = '*'): number | undefined {
    const rate = this.rates.get(name) ?? 0;
    if (rate === 0 || this.longest[name] === 0) return undefined;
    if (SPOILS.has(name) && this.spoiled(method) >= MOST_IN_A_ROW && rate < 1) return undefined;
    const chance = (this.chances.get(name) ?? 0) + 1;
    this.chances.set(name, chance);
    const seed = this.seed ^ seedOf(name);
    if (spreadOf(seed, 2 * chance) >= rate) return undefined;
    this.strikes.set(name, (this.strikes.get(name) ?? 0) + 1);
    if (SPOILS.has(name)) this.streaks.set(method, this.spoiled(method) + 1);
    const { least, most } = this.spanOf(name);
    return Math.round(least + (most - least) * spreadOf(seed, 2 * chance + 1));
  }

  private spanOf(name: KnobName): { least: number; most: number } {
    const { from = 0, to = from } = KNOBS[name];
    const most = Math.min(this.spanEnds[name] ?? to, this.longest[name] ?? Infinity);
    return { least: Math.min(from, most), most };
  }

  /** How many calls of the method were spoiled since one went well. */
  spoiled(method: string): number {
    return this.streaks.get(method) ?? 0;
  }

  /** A call of the method went well. */
  wentWell(method: string): void {
    this.streaks.delete(method);
  }

  /** Rates and strikes by knob. */
  report(): { knob: KnobName; rate: number; strikes: number; when: string; reason: string }[] {
    return KNOB_NAMES.map((knob) => ({
      knob,
      rate: this.rates.get(knob) ?? 0,
      strikes: this.strikes.get(knob) ?? 0,
      when: KNOBS[knob].when,
      reason: KNOBS[knob].reason,
    }));
  }
}

const isRate = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1;

function ratesOf(knobs: unknown): [KnobName, number][] {
  if (typeof knobs !== 'object' || knobs === null || Array.isArray(knobs))
    throw new Error('knobs is an object of rates by name');
  return Object.entries(knobs).map(([name, rate]: [string, unknown]) => {
    if (!isKnob(name)) throw new Error(`there is no knob "${name}"; known are ${KNOB_NAMES.join(', ')}`);
    if (!isRate(rate)) throw new Error(`the rate of ${name} is a number from 0 to 1`);
    return [name, rate];
  });
}

function seedOf(name: string): number {
  let seed = 0;
  for (const character of name) seed = (Math.imul(seed, 31) + character.charCodeAt(0)) | 0;
  return seed;
}
