import { Sessions } from './accounts/sessions.js';
import { judge } from './checks/judge.js';
import { Arrivals, type Arrival } from './clock/arrivals.js';
import { VirtualTime } from './clock/virtual-time.js';
import type { SandboxSettings } from './config.js';
import { plantPacks } from './control/plant.js';
import { defaultWorldFile, schemasFolder } from './data-files.js';
import { newDocument, type RegistryDocument } from './documents/document.js';
import { DocumentStore } from './documents/document-store.js';
import { Processing } from './documents/processing.js';
import { Schemas } from './documents/schemas.js';
import { readDocument } from './documents/xml.js';
import { Faults } from './faults/faults.js';
import { Refusal } from './http/refusal.js';
import { Journal, type JournalRecord } from './journal/journal.js';
import { CallLimits } from './limits/call-limits.js';
import { PackStore } from './packs/packs.js';
import { loadWorld, type Account, type World } from './packs/world.js';
import { loadProfile, type Profile } from './profile.js';
import { documentIdOf, spreadOf } from './seeded.js';
import { CallLedger } from './violations/calls.js';
import { ViolationLedger } from './violations/ledger.js';

/** What is known of the clock and the tokens when the journal is read to its end. */
interface Replayed {
  virtualMs: number | undefined;
  wallMs: number;
  speed: number;
  tokens: Map<string, { digest: string; account: string; openedVirtualMs: number }>;
}

type DocumentRecord = Extract<JournalRecord, { k: 'document' }>;
type IncomingRecord = Extract<JournalRecord, { k: 'incoming' }>;
type Place = { offset: number; length: number };

/** The registry's whole state and the few ways to change it. A change is journalled first and then applied; a restart applies again. */
export class Registry {
  readonly profile: Profile;
  readonly world: World;
  readonly packs: PackStore;
  readonly schemas: Schemas;
  readonly documents = new DocumentStore();
  readonly arrivals = new Arrivals();
  readonly faults = new Faults();
  readonly violations = new ViolationLedger();
  readonly calls = new CallLedger();
  readonly limits: CallLimits;
  readonly clock: VirtualTime;
  readonly sessions: Sessions;
  readonly journal: Journal;
  readonly processing: Processing;
  /** Address of the control port, once it is open. */
  controlUrl: string | undefined;

  constructor(readonly settings: SandboxSettings) {
    this.profile = loadProfile(settings.profile);
    this.world = loadWorld(settings.worldFile ?? defaultWorldFile());
    this.packs = new PackStore(this.world);
    this.schemas = new Schemas(schemasFolder());
    if (!this.schemas.has('1.38')) process.stderr.write(`sandbox: there are no schemas in ${schemasFolder()}; documents are not validated\n`);
    this.limits = new CallLimits(this.profile, { enabled: settings.limits, intervalMs: settings.intervalMs });
    this.processing = this.newProcessing();
    const replayed: Replayed = { virtualMs: undefined, wallMs: Date.now(), speed: settings.speed, tokens: new Map() };
    this.journal = Journal.open(settings.dataDir, (record, at) => this.replay(record, at, replayed));
    this.clock = new VirtualTime({ startMs: resumedAt(replayed), speed: settings.speed }, () => performance.now());
    this.sessions = new Sessions(this.clock, this.profile.rules);
    for (const token of replayed.tokens.values()) this.sessions.restore(this.world, token);
    this.mark(this.clock.nowMs());
    this.processing.drainNow();
    this.processing.start();
  }

  /** Takes a document: journal first, then the queue. */
  accept(sent: { account: Account; requestId: string; bulk: boolean; xml: Buffer; base64: string; digest: string }): RegistryDocument {
    const { account, requestId, bulk, xml, base64, digest } = sent;
    const { seed, processingMs } = this.settings;
    const now = this.clock.nowMs();
    const record: DocumentRecord = {
      k: 'document',
      id: documentIdOf(requestId, seed),
      r: requestId,
      a: account.name,
      v: now,
      w: Date.now(),
      due: now + Math.round(processingMs * (0.5 + spreadOf(seed, this.documents.nextSeq()))),
      bulk,
      mask: this.faults.take('failed_then_processed', 'send') ?? 0,
      late: this.faults.take('late_receipt', 'send') ?? 0,
      h: digest,
      d: base64,
    };
    return this.addDocument(record, this.journal.append(record), xml);
  }

  /** Delivers a document of a simulated participant. Throws when it cannot be read. */
  deliver(incoming: { id: string; requestId: string; from: string; to: string; xml: Buffer }): RegistryDocument {
    readDocument(incoming.xml);
    const { id, requestId, from, to, xml } = incoming;
    const record: IncomingRecord = { k: 'incoming', id, r: requestId, from, to, v: this.clock.nowMs(), w: Date.now(), d: xml.toString('base64') };
    return this.addIncoming(record, this.journal.append(record));
  }

  /** Plants packs. Everything due is processed before, so that a replay meets the same state. Throws on a bad request. */
  plant(body: unknown): { packs: number } {
    this.processing.drainNow();
    const plan = plantPacks(this.packs, this.world, body);
    this.journal.append({ k: 'plant', body });
    return plan();
  }

  /** Counts a call and judges its interval. Throws the 429. */
  limitCall(account: string, call: { method: string; arrival: Arrival }): void {
    const { method, arrival } = call;
    const ordered = this.faults.take('answer_429', method);
    const verdict = this.limits.judge(account, method, arrival);
    const limited = ordered !== undefined || !verdict.allowed;
    this.calls.record({ account, method, arrivalMs: arrival.latestMs, limited });
    if (!verdict.allowed) {
      this.violations.record('call_interval', { call: method, account });
      if (verdict.afterRefusal) this.violations.record('too_early_after_429', { call: method, account });
    }
    if (limited) throw this.tooManyCalls(ordered || verdict.intervalMs);
  }

  /** Moves or speeds the clock and works off what is due by then. */
  moveClock(change: { toVirtualMs?: number; speed?: number }): void {
    if (change.speed !== undefined) this.clock.setSpeed(change.speed);
    if (change.toVirtualMs !== undefined) this.clock.moveTo(change.toVirtualMs);
    this.processing.drainNow();
    this.mark(this.clock.nowMs());
  }

  close(): void {
    this.processing.stop();
    this.arrivals.stop();
    this.journal.close();
    this.schemas.dispose();
  }

  private tooManyCalls(intervalMs: number): Refusal {
    const text =
      this.settings.language === 'ru'
        ? `Ошибка при выполнении операции: превышен лимит вызовов метода, минимальный интервал между запросами ${intervalMs} мс`
        : `Error during operation: call limit exceeded, the minimum interval between requests is ${intervalMs} ms`;
    return new Refusal(429, text, this.settings.retryAfter ? { 'retry-after': String(Math.ceil(intervalMs / 1000)) } : {});
  }

  private newProcessing(): Processing {
    const parts = { schemas: this.schemas, packs: this.packs, world: this.world, maxItemsPerDocument: this.profile.rules.maxItemsPerDocument };
    const registry = this;
    return new Processing({
      // The clock and the journal come to be after the replay, which needs neither.
      get clock() {
        return registry.clock;
      },
      judge: (document, xml) => judge(parts, document, xml),
      xmlOf: (document) => this.journal.documentBytes(document.journalAt),
      mark: (virtualMs) => this.mark(virtualMs),
      monotonicMs: () => performance.now(),
    });
  }

  private mark(virtualMs: number): void {
    this.journal.append({ k: 'clock', v: virtualMs, w: Date.now(), s: this.clock.speed });
  }

  private replay(record: JournalRecord, at: Place, replayed: Replayed): void {
    if ('v' in record && record.k !== 'token' && record.v >= (replayed.virtualMs ?? record.v)) {
      replayed.virtualMs = record.v;
      replayed.wallMs = record.w;
    }
    switch (record.k) {
      case 'clock':
        replayed.speed = record.s;
        return this.processing.drain(record.v, realOf(record.w));
      case 'document':
        return void this.addDocument(record, at, Buffer.from(record.d, 'base64'));
      case 'incoming':
        return void this.addIncoming(record, at);
      case 'repeat':
        return this.countRepeat(record.r);
      case 'plant':
        return void plantPacks(this.packs, this.world, record.body)();
      case 'token':
        return void replayed.tokens.set(record.h, { digest: record.h, account: record.a, openedVirtualMs: record.v });
      case 'logout':
        return void replayed.tokens.delete(record.h);
      default:
        throw new Error(`unknown journal record ${JSON.stringify(record satisfies never)}`);
    }
  }

  private countRepeat(requestId: string): void {
    const [first] = this.documents.withRequestId(requestId);
    if (first !== undefined) first.sends += 1;
  }

  private addDocument(record: DocumentRecord, at: Place, xml: Buffer): RegistryDocument {
    const sender = this.world.accountsByName.get(record.a)?.participant.key ?? record.a;
    const document = newDocument({
      seq: this.documents.nextSeq(),
      documentId: record.id,
      requestId: record.r,
      sender,
      acceptedVirtualMs: record.v,
      dueVirtualMs: record.due,
      answeredRealMs: realOf(record.w),
      journalAt: at,
    });
    Object.assign(document, { account: record.a, bulk: record.bulk, maskForMs: record.mask, lateReceiptForMs: record.late, xml });
    document.repeatsBytes = this.documents.repeatsBytes(`${sender} ${record.h}`);
    this.documents.add(document);
    this.processing.add(document);
    return document;
  }

  private addIncoming(record: IncomingRecord, at: Place): RegistryDocument {
    const document = newDocument({
      seq: this.documents.nextSeq(),
      documentId: record.id,
      requestId: record.r,
      sender: record.from,
      acceptedVirtualMs: record.v,
      dueVirtualMs: record.v,
      answeredRealMs: realOf(record.w),
      journalAt: at,
    });
    const content = readDocument(Buffer.from(record.d, 'base64'));
    document.receiver = record.to;
    document.status = 'processed';
    document.changedRealMs = document.answeredRealMs;
    document.docType = content.docType;
    document.docNum = content.fields.get('doc_num');
    document.version = content.version;
    document.subject = content.fields.get('subject_id');
    this.documents.add(document);
    return document;
  }
}

/** The monotonic moment of a time of day. */
const realOf = (wallMs: number): number => performance.now() - (Date.now() - wallMs);

/** While the sandbox was down the virtual clock went on, as if it had been running. */
function resumedAt({ virtualMs, wallMs, speed }: Replayed): number {
  const now = Date.now();
  return virtualMs === undefined ? now : virtualMs + Math.max(0, now - wallMs) * speed;
}
