import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decide, type DocumentCommand, type SendAnswer } from './decide.js';
import type { DocumentEvent, DocumentOutcome, RegistryStatus } from './events.js';
import { OTHER_SHA, registration, SHA } from './given.js';
import type { DocumentRules, DocumentSagaState, PlannedTask } from './planned-task.js';
import { DOCUMENT_SAGA, keysOfDocumentEvent, reactToDocumentEvent } from './saga.js';
import { ABSENT, evolve, type DocumentState } from './state.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const RUNS = 1_500;
const WILD_STEPS = 150;
const MOST_CALM_STEPS = 2_000;

const RULES: DocumentRules = {
  ...{ statusAfterSendMs: 3_000, receiptAfterStatusMs: 5_000, statusPollMs: 3_000, failedGraceMs: 0 },
  ...{ unknownGraceMs: 30_000, statusGridMs: 1_000, lookUpEveryMs: 5_000 },
};
const LEASE_MS = 30_000;
/** No byte of an attempt leaves later than this after its intent (apps/worker patience.ts). */
const WRITE_WITHIN_MS = 20_000;
/** A send that is under way lands within a third of the grace or never: that is what a grace is chosen for. */
const LANDS_WITHIN_MS = RULES.unknownGraceMs / 3;

type Recorded = DocumentEvent & { stream: string; version: number; handledAt: Date; id: string };

interface TaskRow {
  task: PlannedTask;
  dueMs: number;
  leaseUntilMs: number;
  /** Claims so far: the number of the newest lease. */
  lease: number;
}

/** What a run brings with it: its task, its lease, and the process whose memory it works on. */
interface By {
  task: PlannedTask;
  lease: number;
  process: number;
}

interface Remembered {
  state: DocumentState;
  /** Events of the stream that it holds. */
  length: number;
}

const PROCESSES = 3;

/** One run of one task by one process; it stops wherever it asks the world for something. */
type Run = Generator<void, 'done' | { retryMs: number }>;
interface Running {
  row: TaskRow;
  run: Run;
}

type Chance = (below: number) => number;

/** A log, a task table, processes that die at any point, and a registry to which sends come late, or never. */
class Model {
  nowMs = 1_000_000;
  readonly log: Recorded[] = [];
  readonly tasks = new Map<string, TaskRow>();
  /** Every key ever scheduled, with what it was scheduled as. */
  readonly keys = new Map<string, string>();
  readonly running: Running[] = [];
  readonly faults: string[] = [];
  calm = false;
  resends = 0;
  late = 0;
  conflicts = 0;
  /** What each process remembers of documents; it may be old. */
  private readonly memories = Array.from({ length: PROCESSES }, () => new Map<string, Remembered>());
  private seen = 0;
  private readonly states = new Map<string, DocumentSagaState>();
  private readonly react = reactToDocumentEvent(RULES);
  /** Documents that are there, and attempts that may still land, by request_id. */
  private readonly landed = new Map<string, { documentId: string; status: RegistryStatus; result: 'accepted' | 'partial' | 'rejected' }[]>();
  private flying: { requestId: string; landsAtMs: number }[] = [];

  constructor(private readonly chance: Chance) {}

  register(requestId: string, after: string[]): void {
    const of = { ...registration(after.map((id) => ({ commandId: id, requestId: id }))), requestId, commandId: requestId };
    this.execute(requestId, { type: 'Register', registration: of }, { task: { key: `run_command:${requestId}` } as PlannedTask, lease: 1, process: 0 });
  }

  /** Decides on what the process remembers, as apps/worker does, and appends what follows; a conflict is decided again on the log. */
  execute(requestId: string, command: DocumentCommand, by: By): { events: DocumentEvent[]; state: DocumentState } {
    const memory = this.memories[by.process] as Map<string, Remembered>;
    for (;;) {
      const before = memory.get(requestId) ?? this.readOn(requestId);
      const events = decide(before.state, command);
      const after = { state: events.reduce(evolve, before.state), length: before.length + events.length };
      if (events.length > 0 && this.append(requestId, events, { by, from: before.length })) {
        memory.set(requestId, after);
        return { events, state: after.state };
      }
      const inLog = this.readOn(requestId);
      memory.set(requestId, inLog);
      if (events.length === 0 && inLog.length === before.length) return { events, state: before.state };
      this.conflicts += 1;
    }
  }

  private readOn(requestId: string): Remembered {
    const stream = this.streamOf(requestId);
    return { state: stream.reduce<DocumentState>(evolve, ABSENT), length: stream.length };
  }

  /** The log's word: appended, or a repeat of what stands there under the same ids; false for a conflict. */
  private append(requestId: string, events: DocumentEvent[], { by, from }: { by: By; from: number }): boolean {
    const ids = events.map((event, n) => idOf(event, by, from + n));
    const stream = this.streamOf(requestId);
    if (stream.length > from) return ids.every((id, n) => stream[from + n]?.id === id);
    this.nowMs += 1;
    for (const [n, event] of events.entries()) this.log.push({ ...event, stream: `document-${requestId}`, version: this.log.length, handledAt: new Date(this.nowMs), id: ids[n] as string });
    return true;
  }

  state(requestId: string): DocumentState {
    return this.streamOf(requestId).reduce<DocumentState>(evolve, ABSENT);
  }

  private streamOf(requestId: string): Recorded[] {
    return this.log.filter((event) => event.stream === `document-${requestId}`);
  }

  /** The saga's transaction over a page: it happens as a whole, or the page comes again. */
  sagaPage(size: number): void {
    for (const event of this.log.slice(this.seen, this.seen + size)) {
      for (const key of keysOfDocumentEvent(event)) {
        const { state, tasks } = this.react(this.states.get(key) ?? DOCUMENT_SAGA.initial, event, key);
        this.states.set(key, state);
        for (const task of tasks) this.schedule(task as PlannedTask);
      }
      this.seen += 1;
    }
  }

  private schedule(task: PlannedTask): void {
    const meaning = JSON.stringify([task.kind, task.lane, task.payload]);
    const known = this.keys.get(task.key);
    if (known !== undefined && known !== meaning) this.faults.push(`${task.key} was scheduled as ${known} and as ${meaning}`);
    if (known !== undefined) return;
    this.keys.set(task.key, meaning);
    this.tasks.set(task.key, { task, dueMs: task.dueAt.getTime(), leaseUntilMs: -Infinity, lease: 0 });
  }

  get sagaIsBehind(): boolean {
    return this.seen < this.log.length;
  }

  claimable(): TaskRow[] {
    return [...this.tasks.values()].filter((row) => row.dueMs <= this.nowMs && row.leaseUntilMs <= this.nowMs);
  }

  claim(row: TaskRow): void {
    row.leaseUntilMs = this.nowMs + LEASE_MS;
    row.lease += 1;
    this.running.push({ row, run: this.begin({ task: row.task, lease: row.lease, process: this.chance(PROCESSES) }) });
  }

  private begin(by: By): Run {
    switch (by.task.kind) {
      case 'send':
        return this.send(by);
      case 'look_up':
        return this.lookUp(by);
      case 'status':
        return this.readStatus(by);
      case 'receipt':
        return this.fetchReceipt(by);
      case 'note_predecessor':
        return this.notePredecessor(by);
      case 'download':
      case 'upload':
      default:
        return this.nothing();
    }
  }

  /** One step of one run; what ends settles its task, unless its lease is another's by now. */
  step(one: Running): void {
    const { value, done } = one.run.next();
    if (done !== true) return;
    this.running.splice(this.running.indexOf(one), 1);
    if (this.running.some((other) => other.row === one.row)) return;
    if (typeof value === 'object') Object.assign(one.row, { dueMs: this.nowMs + value.retryMs, leaseUntilMs: -Infinity });
    else this.tasks.delete(one.row.task.key);
  }

  /** Nothing more is heard of it. Its lease runs out, or is ended at once where it is known to be dead. */
  crash(one: Running, isKnownDead: boolean): void {
    this.running.splice(this.running.indexOf(one), 1);
    if (isKnownDead) one.row.leaseUntilMs = -Infinity;
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const one of this.flying.filter(({ landsAtMs }) => landsAtMs <= this.nowMs)) this.land(one.requestId);
    this.flying = this.flying.filter(({ landsAtMs }) => landsAtMs > this.nowMs);
  }

  /** The next moment at which anything may happen. */
  nextMs(): number {
    const moments = [...this.tasks.values()].map((row) => Math.max(row.dueMs, row.leaseUntilMs)).concat(this.flying.map((one) => one.landsAtMs));
    return Math.min(...moments, this.nowMs + LEASE_MS);
  }

  private land(requestId: string): void {
    const there = this.landed.get(requestId) ?? [];
    if (there.length > 0) this.faults.push(`${requestId} came to the registry twice`);
    const status = (['processed', 'processed', 'failed_result_ready', 'failed'] as const)[this.chance(4)] as RegistryStatus;
    const result = (['accepted', 'accepted', 'partial', 'rejected'] as const)[this.chance(4)] as 'accepted';
    this.landed.set(requestId, [...there, { documentId: `${requestId}/${there.length}`, status, result }]);
  }

  private *send(by: By): Run {
    const { requestId, attempt = 0 } = by.task.payload;
    yield;
    const state = this.state(requestId);
    if (state.phase === 'sending' && state.attempt === attempt) return this.giveUp(by, requestId, attempt);
    if (state.phase !== 'ready' || state.nextAttempt !== attempt) return 'done';
    const writeUntilMs = this.nowMs + WRITE_WITHIN_MS;
    yield;
    const begun = this.execute(requestId, { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA }, by);
    if (begun.events.length === 0) return begun.state.phase === 'sending' && begun.state.attempt === attempt ? this.giveUp(by, requestId, attempt) : 'done';
    yield;
    const answer = this.nowMs > writeUntilMs ? ({ kind: 'not_delivered', reason: 'too late', retryAfterMs: 500 } as const) : this.call(requestId);
    // The answer is under way: a process may die before it comes.
    yield;
    this.execute(requestId, { type: 'RecordSendAnswer', attempt, answer }, by);
    return 'done';
  }

  /** Bytes leave. This is the moment at which nothing else of the document may be under way or there. */
  private call(requestId: string): SendAnswer {
    if (this.landed.has(requestId)) this.faults.push(`${requestId} was sent again, and the registry had it`);
    if (this.flying.some((one) => one.requestId === requestId)) this.faults.push(`${requestId} was sent again while an earlier attempt might land`);
    if (this.streamOf(requestId).filter((event) => event.type === 'SendAttempted').length > 1) this.resends += 1;
    const after = (this.state(requestId) as { registration: { after: { requestId: string }[] } }).registration.after;
    for (const before of after) {
      const first = this.state(before.requestId);
      if (first.phase !== 'concluded' || (first.outcome !== 'accepted' && first.outcome !== 'partial')) this.faults.push(`${requestId} was sent, and ${before.requestId} is ${first.phase}`);
    }
    switch (this.calm ? 0 : this.chance(8)) {
      case 1:
        return { kind: 'refused', code: '400', text: 'no', answerSha256: SHA };
      case 2:
        return { kind: 'not_delivered', reason: '429', retryAfterMs: 500 };
      case 3:
        return { kind: 'unconfirmed', reason: 'lost on its way' };
      case 4:
        this.land(requestId);
        return { kind: 'unconfirmed', reason: 'the answer was lost' };
      case 5:
      case 6:
        this.late += 1;
        this.flying.push({ requestId, landsAtMs: this.nowMs + 1 + this.chance(LANDS_WITHIN_MS) });
        return { kind: 'unconfirmed', reason: 'the connection broke' };
      default:
        this.land(requestId);
        return { kind: 'sent', documentId: `${requestId}/0`, answerSha256: SHA };
    }
  }

  private giveUp(by: By, requestId: string, attempt: number): 'done' {
    this.execute(requestId, { type: 'RecordSendAnswer', attempt, answer: { kind: 'unconfirmed', reason: 'its process ended' } }, by);
    return 'done';
  }

  private *lookUp(by: By): Run {
    const { requestId, attempt = 0, attemptEndedAt = '' } = by.task.payload;
    yield;
    if (!this.calm && this.chance(5) === 0) return { retryMs: 2_000 };
    const sinceAttemptEndedMs = this.nowMs - new Date(attemptEndedAt).getTime();
    const documentIds = (this.landed.get(requestId) ?? []).map((one) => one.documentId);
    yield;
    this.execute(requestId, { type: 'RecordLookUp', attempt, documentIds, sinceAttemptEndedMs, unknownGraceMs: RULES.unknownGraceMs, answerSha256: SHA }, by);
    return 'done';
  }

  private *readStatus(by: By): Run {
    const { requestId } = by.task.payload;
    yield;
    const there = this.landed.get(requestId)?.[0];
    if (there === undefined) return { retryMs: RULES.statusPollMs };
    const status: RegistryStatus = !this.calm && this.chance(3) === 0 ? 'processing' : there.status;
    yield;
    const { state } = this.execute(requestId, { type: 'ObserveStatus', status, answerSha256: SHA }, by);
    return state.phase === 'sent' && state.status === 'processing' ? { retryMs: RULES.statusPollMs } : 'done';
  }

  private *fetchReceipt(by: By): Run {
    const { requestId } = by.task.payload;
    yield;
    const there = this.landed.get(requestId)?.[0];
    if (there === undefined || (!this.calm && this.chance(4) === 0)) return { retryMs: 1_000 };
    yield;
    const receipt = { receiptSha256: OTHER_SHA, result: there.result, acceptedAt: '2026-03-01T10:00:00Z', errorCount: 0 };
    this.execute(requestId, { type: 'RecordReceipt', receipt }, by);
    return 'done';
  }

  private *notePredecessor(by: By): Run {
    const { requestId, predecessor = '', outcome = 'failed' } = by.task.payload;
    yield;
    this.execute(requestId, { type: 'NotePredecessor', requestId: predecessor, outcome: outcome as DocumentOutcome }, by);
    return 'done';
  }

  private *nothing(): Run {
    yield;
    return 'done';
  }
}

/** As apps/worker names events (noun-repository.ts). */
const idOf = (event: DocumentEvent, { task, lease }: By, at: number): string => `${task.key}@${lease}@${at}/${event.type}/${JSON.stringify(event.data)}`;

/** Any of the things that can happen now, by chance. */
function happen(model: Model, chance: Chance): void {
  const { running } = model;
  const one = running[chance(Math.max(1, running.length))];
  const due = model.claimable();
  const what = chance(100);
  if (what < 40 && one !== undefined) model.step(one);
  else if (what < 62 && due.length > 0) model.claim(due[chance(due.length)] as TaskRow);
  else if (what < 80) model.sagaPage(1 + chance(4));
  else if (what < 88 && one !== undefined) model.crash(one, chance(2) === 0);
  else if (what < 94) model.pass(chance(12_000));
  else model.pass(Math.max(0, model.nextMs() - model.nowMs));
}

/** Nothing goes wrong any more; everything is worked off in order. */
function settle(model: Model): number {
  model.calm = true;
  for (let steps = 0; steps < MOST_CALM_STEPS; steps += 1) {
    const [due] = model.claimable();
    if (model.running.length > 0) model.step(model.running[0] as Running);
    else if (model.sagaIsBehind) model.sagaPage(10);
    else if (due !== undefined) model.claim(due);
    else if (model.tasks.size > 0) model.pass(Math.max(1, model.nextMs() - model.nowMs));
    else return steps;
  }
  return MOST_CALM_STEPS;
}

/** Three documents, the last after the first; lived through in an order that follows from the seed. */
function live(seed: number): { model: Model; steps: number } {
  const chance = chanceOf(seed);
  const model = new Model(chance);
  // The one that comes after may be registered first.
  for (const [id, after] of [['c', ['a']], ['a', []], ['b', []]] as const) model.register(id, [...after]);
  for (let n = 0; n < WILD_STEPS; n += 1) happen(model, chance);
  return { model, steps: settle(model) };
}

function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe(`any interleaving of processes, crashes and late landings (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  let resends = 0;
  let late = 0;
  let conflicts = 0;
  const outcomes = new Set<string>();

  it(`sends nothing twice, keeps the order, plans each key as one task, and concludes every document: ${RUNS} times`, () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xff_ff_ff_ff }), (seed) => {
        const { model, steps } = live(seed);
        expect(model.faults).toEqual([]);
        expect(steps).toBeLessThan(MOST_CALM_STEPS);
        for (const id of ['a', 'b', 'c']) {
          const state = model.state(id);
          expect(state.phase).toBe('concluded');
          if (state.phase === 'concluded') outcomes.add(state.outcome);
        }
        expect(model.log.filter((event) => event.type === 'DuplicateDetected')).toEqual([]);
        resends += model.resends;
        late += model.late;
        conflicts += model.conflicts;
      }),
      { seed: SEED, numRuns: RUNS, verbose: fc.VerbosityLevel.None },
    );
  });

  it('went into the far corners', () => {
    expect({ manyResends: resends > RUNS / 50, manyLate: late > RUNS / 20, manyConflicts: conflicts > RUNS }).toEqual({ manyResends: true, manyLate: true, manyConflicts: true });
    expect([...outcomes].sort()).toEqual(['accepted', 'failed', 'partial', 'rejected']);
  });
});
