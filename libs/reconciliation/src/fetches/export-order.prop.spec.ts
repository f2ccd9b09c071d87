import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CallAnswer } from '#domain';
import type { Sha256 } from '#kernel';
import type { ExportPhase } from './fetch.js';
import {
  answerOrder,
  beginOrder,
  MOST_DOUBTS,
  MOST_UNDELIVERED,
  NEW_ORDER,
  searchedFor,
  type ExportOrder,
  type ExportStep,
} from './export-order.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_125);
const RUNS = 500;
const GRACE_MS = 60_000;
const SHA = 'a'.repeat(64) as Sha256;

/** What the registry does with an order, and what of its answer arrives, also long after. */
type Call = { lands: boolean; told: 'answered' | 'lost' | 'late' | 'refused' | 'not_delivered' };
const call: fc.Arbitrary<Call> = fc.oneof(
  fc.constantFrom<Call>(
    { lands: true, told: 'answered' },
    { lands: true, told: 'lost' },
    { lands: true, told: 'late' },
  ),
  fc.constantFrom<Call>(
    { lands: false, told: 'lost' },
    { lands: false, told: 'lost' },
    { lands: false, told: 'refused' },
    { lands: false, told: 'not_delivered' },
  ),
);
interface Step {
  call: Call;
  /** Before the step. */
  waitsMs: number;
  /** Somebody else orders an export of his own. */
  others: boolean;
  /** Another process comes by an order that is made, and holds its process for dead. */
  doubts: boolean;
  /** An answer that is late comes now. */
  comes: boolean;
}
const step: fc.Arbitrary<Step> = fc.record({
  call,
  waitsMs: fc.constantFrom(1, GRACE_MS / 2, GRACE_MS),
  others: fc.boolean(),
  doubts: fc.boolean(),
  comes: fc.boolean(),
});
const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });

interface Lived {
  orders: number;
  adopted: string[];
  ours: string[];
  problems: string[];
  proven: number;
}

/** The order of a fetch in a world; who resumes it goes on where it ended. */
class World {
  readonly lived: Lived = { orders: 0, adopted: [], ours: [], problems: [], proven: 0 };
  private readonly tasks = ['old'];
  private readonly late: { attempt: number; taskId: string }[] = [];
  private order: ExportOrder = NEW_ORDER;
  private phase: ExportPhase = 'export_seek';
  private nowMs = 0;

  get isOver(): boolean {
    return this.order.taskId !== null;
  }

  step({ waitsMs, others, comes, call: made, doubts }: Step): void {
    this.nowMs += waitsMs;
    if (others) this.tasks.push(`another's ${this.nowMs}`);
    const came = comes ? this.late.shift() : undefined;
    if (came !== undefined) this.hear(came.attempt, { kind: 'done', taskId: came.taskId });
    else if (this.phase === 'export_seek') this.seek();
    else this.make(made, doubts);
  }

  private get at(): string {
    return new Date(this.nowMs).toISOString();
  }

  private seek(): void {
    const { step } = this.order.attempt;
    const sought = { tasks: [...this.tasks], answerSha256: SHA, at: this.at, unknownGraceMs: GRACE_MS };
    const made = searchedFor(this.order, sought);
    if (step === 'doubtful' && made.phase === 'export_order') this.lived.proven += 1;
    this.take(made);
  }

  private make({ lands, told }: Call, doubts: boolean): void {
    const { attempt } = this.order.attempt;
    const begun = beginOrder(this.order, this.at);
    if (begun === undefined) return this.hear(attempt, { kind: 'unconfirmed', reason: 'the process ended' });
    this.order = begun;
    const taskId = `ours ${(this.lived.orders += 1)}`;
    if (lands) [this.lived.ours, this.tasks].forEach((all) => all.push(taskId));
    if (doubts) this.hear(attempt, { kind: 'unconfirmed', reason: 'another process came by' });
    if (told === 'late') this.late.push({ attempt, taskId });
    else this.hear(attempt, told === 'answered' ? { kind: 'done', taskId } : NOT_DONE[told]);
  }

  private hear(attempt: number, answer: CallAnswer | { kind: 'done'; taskId: string }): void {
    this.take(answerOrder(this.order, { attempt, answer, at: this.at }));
  }

  private take(made: ExportStep | undefined): void {
    if (made === undefined) return;
    if (made.problem !== undefined) this.lived.problems.push(made.problem);
    if (made.order.taskId !== null) this.lived.adopted.push(made.order.taskId);
    [this.order, this.phase] = [made.order, made.phase];
  }
}

const NOT_DONE = {
  lost: { kind: 'unconfirmed', reason: 'timeout' },
  refused: { kind: 'refused', code: '400', text: 'no', answerSha256: SHA },
  not_delivered: { kind: 'not_delivered', reason: '429', retryAfterMs: 1 },
} as const satisfies Record<Exclude<Call['told'], 'answered' | 'late'>, CallAnswer>;

function live(sequence: readonly Step[]): Lived {
  const world = new World();
  for (const one of sequence) if (!world.isOver) world.step(one);
  return world.lived;
}

const all = (judge: (lived: Lived) => void): void =>
  fc.assert(
    fc.property(steps, (sequence) => judge(live(sequence))),
    { seed: SEED, numRuns: RUNS, verbose: fc.VerbosityLevel.None },
  );

describe(`the order of an export (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('reads no task but one that an answer to this fetch has named', () => {
    let adopted = 0;
    all((lived) => {
      adopted += lived.adopted.length;
      for (const task of lived.adopted) expect(lived.ours).toContain(task);
    });
    expect(adopted).toBeGreaterThan(RUNS / 4);
  });

  it('orders another only behind a word: of the answer, of a proof, or of whoever goes on with what failed', () => {
    let proven = 0;
    all((lived) => {
      proven += lived.proven;
      // Whatever landed and is not read was said in words, but for the one in hand at the end.
      const unread = lived.ours.filter((task) => !lived.adopted.includes(task)).length;
      expect(unread).toBeLessThanOrEqual(lived.problems.length + 1);
    });
    expect(proven).toBeGreaterThan(RUNS / 10);
  });

  it('never proves an order absent that has landed', () => {
    all((lived) => {
      if (lived.proven > 0) expect(lived.ours.length).toBeLessThanOrEqual(lived.orders - lived.proven);
    });
  });
});

describe('the order of an export', () => {
  const at = (ms: number): string => new Date(ms).toISOString();
  const sought = (ms: number, ...tasks: string[]) => ({
    ...{ tasks, answerSha256: SHA, at: at(ms), unknownGraceMs: GRACE_MS },
  });
  const open = (order = NEW_ORDER): ExportOrder => searchedFor(order, sought(0, 'old')).order;
  const ordered = (order: ExportOrder): ExportOrder => {
    const begun = beginOrder(order, at(0));
    if (begun === undefined) throw new Error('it is ordered already');
    return begun;
  };
  const heard = (order: ExportOrder, answer: CallAnswer | { kind: 'done'; taskId: string }, attempt = 1) =>
    answerOrder(order, { attempt, answer, at: at(0) });
  const lost = (order: ExportOrder): ExportOrder =>
    heard(order, { kind: 'unconfirmed', reason: 'timeout' }, order.attempt.attempt)?.order ?? order;

  it('is proven absent by two look-ups, the second past the grace', () => {
    const doubtful = lost(ordered(open()));
    const first = searchedFor(doubtful, sought(GRACE_MS, 'old'));
    expect(first.phase).toBe('export_seek');
    expect(searchedFor(first.order, sought(GRACE_MS - 1, 'old')).phase).toBe('export_seek');
    expect(searchedFor(first.order, sought(GRACE_MS, 'old')).phase).toBe('export_order');
  });

  it('is over when the registry refuses it, and looked up when a server before the registry may have', () => {
    const refused = { kind: 'refused', code: '405', text: 'no', answerSha256: SHA } as const;
    expect(heard(ordered(open()), refused)?.problem).toBe('the export was refused: 405 no');
    const byOthers = heard(ordered(open()), { ...refused, mayBeOthers: true });
    expect(byOthers).toMatchObject({ phase: 'export_seek', order: { attempt: { step: 'doubtful' }, endedAt: at(0) } });
    expect(byOthers?.problem).toBeUndefined();
  });

  it('takes no task for its own that is new in the list, and says so', () => {
    const found = searchedFor(lost(ordered(open())), sought(GRACE_MS, 'old', 'new'));
    expect(found).toMatchObject({ phase: 'export_seek', order: { taskId: null, resultId: null } });
    expect(found.problem).toContain('there is a new export new. Whether it is ours cannot be proven');
    // Whoever goes on knows it, and orders another.
    expect(open(found.order)).toMatchObject({ attempt: { step: 'open' } });
  });

  it('hears a late answer to the call that it doubts', () => {
    expect(heard(lost(ordered(open())), { kind: 'done', taskId: 't' })).toMatchObject({
      ...{ phase: 'export_wait', order: { taskId: 't' } },
    });
  });

  it('hears no answer to a call before it was ended and gone on with', () => {
    const found = searchedFor(lost(ordered(open())), sought(GRACE_MS, 'old', 'new'));
    const second = ordered(open(found.order));
    expect(second.attempt.attempt).toBe(2);
    expect(heard(second, { kind: 'done', taskId: 't' })).toBeUndefined();
    expect(heard(second, { kind: 'not_delivered', reason: '429', retryAfterMs: 1 })).toBeUndefined();
    expect(heard(second, { kind: 'unconfirmed', reason: 'timeout' })).toBeUndefined();
  });

  it('ends when the registry is not reached so often, or loses so many orders', () => {
    let order = open();
    let problem: string | undefined;
    for (let n = 1; problem === undefined && n <= MOST_UNDELIVERED; n += 1) {
      const begun = ordered(order);
      const made = heard(begun, { kind: 'not_delivered', reason: '429', retryAfterMs: 1 }, begun.attempt.attempt);
      if (made === undefined) throw new Error('an answer was not heard');
      ({ order, problem } = made);
    }
    expect(problem).toBe(`the export was not ordered, ${MOST_UNDELIVERED} times: 429`);
    let [doubted, ends] = [0, undefined as string | undefined];
    for (order = open(); ends === undefined && doubted < MOST_DOUBTS + 1; doubted += 1) {
      const once = searchedFor(lost(ordered(order)), sought(GRACE_MS, 'old'));
      ({ order, problem: ends } = searchedFor(once.order, sought(GRACE_MS, 'old')));
    }
    expect([doubted, ends]).toEqual([
      MOST_DOUBTS,
      `${MOST_DOUBTS} orders of an export were lost, and none has arrived`,
    ]);
  });
});
