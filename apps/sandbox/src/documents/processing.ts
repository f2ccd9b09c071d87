import type { VirtualTime } from '../clock/virtual-time.js';
import type { SandboxSettings } from '../config.js';
import { isFinal, type DocumentContent, type RegistryDocument, type Verdict } from './document.js';
import { DueQueue, type DueWork } from './due-queue.js';

/** Decides about a document and applies it to the packs. Deterministic: bytes and earlier decisions in, verdict out. */
type Judge = (document: RegistryDocument, xml: Buffer) => Generator<void, Judgement>;

/** What became of a document, and what was read out of it. */
export interface Judgement {
  verdict: Verdict;
  content: DocumentContent | undefined;
}

export interface ProcessingParts {
  clock: VirtualTime;
  receiptStatus: SandboxSettings['receiptStatus'];
  judge: Judge;
  /** Reads a document's bytes back. */
  xmlOf(document: RegistryDocument): Buffer;
  /** Makes it durable that everything due until this virtual moment is processed; called before anybody can see it. */
  mark(virtualMs: number): void;
  monotonicMs(): number;
  /** Called when the verdict on a document is there: what follows from it. */
  concluded(document: RegistryDocument, content: DocumentContent | undefined): void;
}

interface Step extends DueWork {
  document: RegistryDocument;
  step: 'process' | 'unmask';
}

/** Real ms of work after which the process turns to its sockets again. */
const SLICE_MS = 4;
const LONGEST_TIMER_MS = 60_000;

/**
 * Works off documents in the order in which they fall due on the virtual clock, in slices, with one timer. The order
 * depends on nothing else, so a replay of the journal comes to the same state.
 */
export class Processing {
  private readonly queue = new DueQueue<Step>();
  /** What is being worked on; a long document takes several slices. */
  private current: { next: Step; judging: Generator<void, Judgement> } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private timerDueVirtualMs = Infinity;
  private sliceAhead = false;
  private stopped = true;

  constructor(private readonly parts: ProcessingParts) {}

  get waiting(): number {
    return this.queue.size + (this.current === undefined ? 0 : 1);
  }

  add(document: RegistryDocument): void {
    this.queue.push({ document, step: 'process', dueVirtualMs: document.dueVirtualMs, seq: document.seq });
    if (document.dueVirtualMs < this.timerDueVirtualMs) this.arm();
  }

  /** Begins to work by itself; before that only `drain` works. */
  start(): void {
    this.stopped = false;
    this.arm();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /**
   * Works off everything due until `virtualMs`, at once. `changedRealMs`: the real moment at which that counts as done.
   */
  drain(virtualMs: number, changedRealMs = this.parts.monotonicMs()): void {
    while (this.isDue(virtualMs)) this.work(changedRealMs);
  }

  /** Works off everything due by now and makes it durable. */
  drainNow(): number {
    const now = this.parts.clock.nowMs();
    if (this.isDue(now)) {
      this.drain(now);
      this.parts.mark(now);
    }
    this.arm();
    return now;
  }

  /** Sets the timer anew, after the clock was moved. */
  arm(): void {
    if (this.stopped || this.sliceAhead) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    const next = this.queue.peek();
    this.timerDueVirtualMs = next?.dueVirtualMs ?? Infinity;
    if (next === undefined) return;
    const delayMs = Math.min(LONGEST_TIMER_MS, Math.ceil(this.parts.clock.realDelayMs(next.dueVirtualMs)));
    this.timer = setTimeout(() => this.slice(), delayMs);
  }

  private slice(): void {
    this.sliceAhead = false;
    if (this.stopped) return;
    const { clock, mark, monotonicMs } = this.parts;
    const now = clock.nowMs();
    const endMs = monotonicMs() + SLICE_MS;
    let worked = 0;
    for (; this.isDue(now) && monotonicMs() < endMs; worked += 1) this.work(monotonicMs(), endMs);
    if (worked > 0) mark(now);
    if (this.isDue(now)) {
      this.sliceAhead = true;
      setImmediate(() => this.slice());
    } else {
      this.arm();
    }
  }

  private isDue(virtualMs: number): boolean {
    const next = this.current?.next ?? this.queue.peek();
    return next !== undefined && next.dueVirtualMs <= virtualMs;
  }

  /** One step: what is due next, or as much of it as fits until `endMs`. */
  private work(changedRealMs: number, endMs = Infinity): void {
    const next = this.current?.next ?? this.queue.pop();
    if (next === undefined || next.document.cancelled) return;
    if (next.step === 'unmask') return this.show(next, changedRealMs);
    this.current ??= { next, judging: this.begin(next.document) };
    for (;;) {
      const step = this.current.judging.next();
      if (step.done === true) return this.conclude(next, step.value, changedRealMs);
      if (endMs < Infinity && this.parts.monotonicMs() >= endMs) return;
    }
  }

  private begin(document: RegistryDocument): Generator<void, Judgement> {
    if (isFinal(document)) throw new Error(`document ${document.documentId} is processed twice`);
    return this.parts.judge(document, document.xml ?? this.parts.xmlOf(document));
  }

  private conclude(next: Step, { verdict, content }: Judgement, changedRealMs: number): void {
    this.current = undefined;
    const { document } = next;
    document.verdict = verdict;
    document.xml = undefined;
    if (content !== undefined) describe(document, content);
    this.show(next, changedRealMs);
    this.parts.concluded(document, content);
  }

  /** Gives the document its final status, or for a while another. */
  private show(next: Step, changedRealMs: number): void {
    const { document } = next;
    const maskMs = next.step === 'process' ? maskOf(document) : 0;
    // A receipt that was not ready is asked for again; the status was final all the while.
    if (next.step === 'process' || document.maskForMs > 0) document.changedRealMs = changedRealMs;
    document.masked = maskMs > 0;
    if (maskMs > 0) {
      document.status = document.maskForMs > 0 ? 'failed' : 'failed_result_ready';
      this.queue.push({ ...next, step: 'unmask', dueVirtualMs: next.dueVirtualMs + maskMs });
    } else {
      document.status = this.finalStatus(document.verdict as Verdict, document.seq);
    }
  }

  private finalStatus(verdict: Verdict, seq: number): RegistryDocument['status'] {
    if (verdict.kind === 'critical') return 'failed';
    const { receiptStatus } = this.parts;
    const turned = receiptStatus === 'mixed' && seq % 2 === 0;
    const failed = turned ? verdict.result === 'Partial' : verdict.result === 'Rejected';
    return failed && receiptStatus !== 'processed' ? 'failed_result_ready' : 'processed';
  }
}

function describe(document: RegistryDocument, content: DocumentContent): void {
  document.docType = content.docType;
  document.version = content.version;
  document.device = content.device;
  document.docNum = content.fields.get('doc_num');
  document.subject = content.fields.get('subject_id');
  const names = OTHER_COUNTERPARTY[content.docType] ?? COUNTERPARTY_FIELDS;
  document.counterparty = names.map((name) => content.fields.get(name)).find((value) => value !== undefined);
}

/** For how long something else is shown than what came out. */
const maskOf = (document: RegistryDocument): number =>
  document.maskForMs || (document.verdict?.kind === 'receipt' ? document.transientForMs : 0);

/** Where the other side is named otherwise. */
const OTHER_COUNTERPARTY: Record<number, string[]> = { 314: ['owner_id'], 381: ['owner_id'], 812: ['shipper_id'] };
const COUNTERPARTY_FIELDS = ['receiver_id', 'shipper_id', 'counterparty_id', 'seller_id'];
