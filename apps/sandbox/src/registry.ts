import { admit, newAccountOf, type AdmittedUser } from './accounts/new-account.js';
import { knownRights } from './accounts/rights.js';
import { Sessions, type KeptToken } from './accounts/sessions.js';
import { Books } from './checks/books.js';
import { judge } from './checks/judge.js';
import { REASONS } from './checks/reasons.js';
import { Counterparties } from './counterparties/counterparties.js';
import { Arrivals, type Arrival } from './clock/arrivals.js';
import { realOf, VirtualTime } from './clock/virtual-time.js';
import type { SandboxSettings } from './config.js';
import { plantPacks } from './control/plant.js';
import { defaultWorldFile, schemasFolder } from './data-files.js';
import { DocumentStore } from './documents/document-store.js';
import type { RegistryDocument } from './documents/document.js';
import { Intake, isIntakeRecord } from './documents/intake.js';
import { Processing } from './documents/processing.js';
import { Schemas } from './documents/schemas.js';
import { expiredPacks, tellOfWriteOff, writeOff } from './expiry/write-off.js';
import { Exports } from './exports/exports.js';
import { Faults } from './faults/faults.js';
import { Refusal } from './http/refusal.js';
import { Journal, type JournalRecord, type Place, type RecordOf } from './journal/journal.js';
import { CallLimits } from './limits/call-limits.js';
import { LateSends } from './misbehaviour/late-sends.js';
import { Misbehaviour } from './misbehaviour/misbehaviour.js';
import { PackStore } from './packs/packs.js';
import { loadWorld, type Account, type World } from './packs/world.js';
import { loadProfile, type Profile } from './profile.js';
import { DEPRECATED_METHODS } from './registries/deprecated.js';
import { AwaitingQueue, type AwaitingEntry } from './registries/awaiting.js';
import { TrustedPartners } from './registries/trust.js';
import { awaitingEntryOf } from './registries/awaiting-order.js';
import { decisionOf } from './suspensions/order.js';
import type { Decision } from './suspensions/suspensions.js';
import { CallLedger } from './violations/calls.js';
import { ViolationLedger } from './violations/ledger.js';

/** What is known of the clock and the tokens when the journal is read to its end. */
interface Replayed {
  virtualMs: number | undefined;
  wallMs: number;
  speed: number;
  tokens: Map<string, KeptToken>;
}

/**
 * The registry's whole state and the few ways to change it. A change is journalled first and then applied; a restart
 * applies again.
 */
export class Registry {
  readonly profile: Profile;
  readonly world: World;
  readonly packs: PackStore;
  readonly schemas: Schemas;
  readonly documents = new DocumentStore();
  readonly arrivals = new Arrivals();
  readonly faults: Faults;
  readonly violations = new ViolationLedger();
  readonly calls = new CallLedger();
  readonly lateSends = new LateSends();
  readonly limits: CallLimits;
  readonly clock: VirtualTime;
  readonly sessions: Sessions;
  readonly journal: Journal;
  readonly processing: Processing;
  private readonly timers = new Set<NodeJS.Timeout>();
  readonly intake: Intake;
  readonly counterparties: Counterparties;
  readonly exports: Exports;
  readonly awaiting = new AwaitingQueue();
  readonly trustedPartners = new TrustedPartners();
  /** What documents left behind beside the packs. */
  readonly books = new Books(this.trustedPartners);
  readonly blocked = new Set<string>();
  /** When the journal had been replayed, on the monotonic clock. */
  openedRealMs = Infinity;
  /** Address of the control port, once it is open. */
  controlUrl: string | undefined;

  constructor(readonly settings: SandboxSettings) {
    this.profile = loadProfile(settings.profile, settings.profileOverrides);
    this.world = loadWorld(settings.worldFile ?? defaultWorldFile());
    this.packs = new PackStore(this.world);
    this.schemas = new Schemas(schemasFolder(), this.profile.documentVersions);
    if (!this.schemas.areThere)
      process.stderr.write(`sandbox: there are no schemas in ${schemasFolder()}; documents are not validated\n`);
    // At once: during the first document the intervals of calls would be measured late.
    else this.schemas.validator();
    this.limits = new CallLimits(this.profile, {
      enabled: settings.limits,
      intervalMs: settings.intervalMs,
      backToBack: settings.uploadParts === 'back-to-back' ? ['upload_part'] : [],
    });
    this.exports = new Exports(this.packs, this.world);
    const { seed, misbehave: rate, knobs, landLateMs } = settings;
    const spanEnds = landLateMs === undefined ? {} : { land_late: landLateMs };
    this.faults = new Faults(
      new Misbehaviour({ seed, rate, knobs, longest: longestBearable(this.profile, landLateMs), spanEnds }),
      [...Object.keys(this.profile.operations), ...Object.keys(DEPRECATED_METHODS)],
    );
    this.intake = new Intake(this);
    this.counterparties = new Counterparties(this, settings.counterparties);
    this.processing = this.newProcessing();
    const replayed: Replayed = { virtualMs: undefined, wallMs: Date.now(), speed: settings.speed, tokens: new Map() };
    this.journal = Journal.open(settings.dataDir, (record, at) => this.replay(record, at, replayed));
    this.openedRealMs = performance.now();
    this.clock = new VirtualTime({ startMs: resumedAt(replayed), speed: settings.speed }, () => performance.now());
    this.sessions = new Sessions(this.clock, this.profile.rules, (h, v) =>
      this.journal.append({ k: 'token_use', h, v }),
    );
    for (const token of replayed.tokens.values()) this.sessions.restore(this.world, token);
    this.mark(this.clock.nowMs());
    this.counterparties.start();
    this.processing.drainNow();
    this.processing.start();
  }

  /**
   * Plants packs. Everything due is processed before, so that a replay meets the same state. Throws on a bad request.
   */
  plant(body: unknown): { packs: number } {
    this.processing.drainNow();
    return this.plantFresh(body);
  }

  /** Packs that follow from something that is being processed right now; nobody has named them before. */
  plantFresh(body: unknown): { packs: number } {
    const plan = plantPacks(this.packs, this.world, body);
    const virtualMs = this.clock.nowMs();
    this.journal.append({ k: 'plant', body, v: virtualMs, w: Date.now() });
    this.packs.begin({ atMs: virtualMs });
    return plan();
  }

  /**
   * A decision of the regulator. Everything due is processed before, so that a replay meets the same packs. Throws on a
   * bad order.
   */
  suspend(body: unknown): Decision {
    this.processing.drainNow();
    const decision = decisionOf(body, this.clock.nowMs());
    this.journal.append({ k: 'suspension', decision, v: decision.haltDateMs, w: Date.now() });
    this.packs.decide(decision);
    return decision;
  }

  /** The registry writes expired packs off by itself, and tells their owners. Throws on a bad order. */
  writeOff(body: unknown): { packs: number; documents: string[] } {
    const virtualMs = this.processing.drainNow();
    const sgtins = expiredPacks(this.packs, body);
    this.journal.append({ k: 'write_off', sgtins, v: virtualMs, w: Date.now() });
    writeOff(this.packs, sgtins, virtualMs);
    return { packs: sgtins.length, documents: tellOfWriteOff(this, sgtins, virtualMs) };
  }

  /** A sale or disposal that awaits its withdrawal. Throws on a bad order. */
  await(body: unknown): AwaitingEntry {
    const entry = awaitingEntryOf(this.world, body, this.processing.drainNow());
    this.journal.append({ k: 'awaiting', entry, v: entry.opMs, w: Date.now() });
    this.awaiting.add(entry);
    return entry;
  }

  /**
   * Before a list is read: what is old goes to the archive. Documents that are due are left to their turn. Returns the
   * virtual moment.
   */
  upToNow(): number {
    const now = this.clock.nowMs();
    this.packs.sweep(now);
    return now;
  }

  /** Makes a user known. Throws on a bad order. */
  admit(body: unknown): AdmittedUser {
    const account = newAccountOf(this.world, body);
    this.journal.append({ k: 'account', account });
    return admit(this.world, account);
  }

  /** Blocks a user, or lets him in again. Throws on a bad order. */
  block({ name, blocked = true }: Record<string, unknown>): { name: string; blocked: boolean } {
    const account = this.namedAccount(name);
    if (typeof blocked !== 'boolean') throw new Refusal(400, 'blocked must be true or false');
    this.journal.append({ k: 'block', a: account.name, b: blocked });
    this.noteBlocked(account.name, blocked);
    return { name: account.name, blocked };
  }

  /** Throws a 403 to a user who is blocked, whatever he asks for (public-facts 1.6: status BLOCKED). */
  refuseBlocked(account: string): void {
    if (this.blocked.has(account)) throw new Refusal(403, 'the user is blocked');
  }

  /** Sets the rights of a user. Throws on a bad order. */
  allow({ name, rights }: Record<string, unknown>): { name: string; rights: string[] } {
    const account = this.namedAccount(name);
    const known = knownRights(rights);
    this.journal.append({ k: 'rights', a: account.name, rights: known });
    account.rights = known;
    return { name: account.name, rights: known };
  }

  /** Notes whom a participant trusts, or does not any more. */
  trust(change: Omit<RecordOf<'trust'>, 'k'>): void {
    this.journal.append({ k: 'trust', ...change });
    this.trustedPartners.set(change.participant, change.partners, change.trusts);
  }

  private namedAccount(name: unknown): Account {
    const account = this.world.accountsByName.get(String(name));
    if (account === undefined)
      throw new Refusal(
        400,
        `there is no user ${JSON.stringify(name)}; known are ${[...this.world.accountsByName.keys()].join(', ')}`,
      );
    return account;
  }

  private noteBlocked(name: string, blocked: boolean): void {
    if (blocked) this.blocked.add(name);
    else this.blocked.delete(name);
  }

  /** Counts a call and judges its interval. Throws the 429. */
  limitCall(account: string, call: { method: string; arrival: Arrival }): void {
    const { method, arrival } = call;
    const ordered = this.faults.take('answer_429', method);
    const verdict = this.limits.judge(account, method, arrival);
    const limited = ordered !== undefined || !verdict.allowed;
    this.calls.record({ account, method, arrivalMs: arrival.latestMs, limited });
    if (!verdict.allowed) {
      const note = `${verdict.sinceMs?.toFixed(1)} ms after the call before it`;
      this.violations.record('call_interval', { call: method, account, note });
      if (verdict.afterRefusal) this.violations.record('too_early_after_429', { call: method, account });
    }
    if (limited) throw this.tooManyCalls(ordered || verdict.intervalMs);
  }

  /** Moves or speeds the clock and works off what is due by then. */
  moveClock(change: { toVirtualMs?: number | undefined; speed?: number | undefined }): void {
    if (change.speed !== undefined) this.clock.setSpeed(change.speed);
    if (change.toVirtualMs !== undefined) this.clock.moveTo(change.toVirtualMs);
    this.processing.drainNow();
    this.mark(this.clock.nowMs());
  }

  /** Does something later in real time, unless the sandbox ends before. */
  later(delayMs: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      action();
    }, delayMs);
    this.timers.add(timer);
  }

  close(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.processing.stop();
    this.arrivals.stop();
    this.journal.close();
    this.schemas.dispose();
  }

  private tooManyCalls(intervalMs: number): Refusal {
    const text =
      this.settings.language === 'ru'
        ? `превышен лимит вызовов метода, минимальный интервал между запросами ${intervalMs} мс`
        : `call limit exceeded, the minimum interval between requests is ${intervalMs} ms`;
    return new Refusal(
      429,
      text,
      this.settings.retryAfter ? { 'retry-after': String(Math.ceil(intervalMs / 1000)) } : {},
    );
  }

  private newProcessing(): Processing {
    const { maxItemsPerDocument, maxItemsByType } = this.profile.rules;
    const parts = {
      schemas: this.schemas,
      packs: this.packs,
      world: this.world,
      books: this.books,
      documents: this.documents,
      maxItemsPerDocument,
      maxItemsByType,
      innerErrors: this.settings.innerErrors,
      identicalDocument: this.settings.identicalDocument,
    };
    const registry = this;
    return new Processing({
      receiptStatus: this.settings.receiptStatus,
      // The clock and the journal come to be after the replay, which needs neither.
      get clock() {
        return registry.clock;
      },
      *judge(document, xml) {
        return registry.awaiting.heard(document, yield* judge(parts, document, xml));
      },
      xmlOf: (document) => this.intake.bytesOf(document),
      concluded: (document, content) => {
        this.watchItems(document);
        this.awaiting.settle(this.packs, this.world, document.dueVirtualMs);
        this.intake.groups.concluded(document);
        this.counterparties.concluded(document, content);
      },
      mark: (virtualMs) => this.mark(virtualMs),
      monotonicMs: () => performance.now(),
    });
  }

  /**
   * A user's document above its limit breaks a rule. What a replay meets again was counted when it came, and those
   * counts are gone.
   */
  private watchItems({ account, verdict, requestId }: RegistryDocument): void {
    if (this.openedRealMs === Infinity || account === undefined || verdict?.kind !== 'receipt') return;
    const [error] = verdict.errors;
    if (error?.code === REASONS.too_many_items.code)
      this.violations.record('too_many_items', { call: 'send', account, note: `${requestId}: ${error.text}` });
  }

  private mark(virtualMs: number): void {
    this.journal.append({ k: 'clock', v: virtualMs, w: Date.now(), s: this.clock.speed });
  }

  private replay(record: JournalRecord, at: Place, replayed: Replayed): void {
    noteClocks(record, replayed);
    if (isIntakeRecord(record)) return this.intake.replay(record, at);
    switch (record.k) {
      case 'clock':
        replayed.speed = record.s;
        return this.processing.drain(record.v, realOf(record.w));
      case 'plant':
        this.packs.begin({ atMs: record.v });
        return void plantPacks(this.packs, this.world, record.body)();
      case 'suspension':
        return this.packs.decide(record.decision);
      case 'write_off':
        return writeOff(this.packs, record.sgtins, record.v);
      case 'export':
        return this.exports.add(record.task);
      case 'export_delete':
        return this.exports.delete(record.id);
      case 'awaiting':
        return this.awaiting.add(record.entry);
      case 'account':
        return void admit(this.world, record.account);
      case 'block':
        return this.noteBlocked(record.a, record.b);
      case 'rights':
        return void Object.assign(this.world.accountsByName.get(record.a) ?? {}, { rights: record.rights });
      case 'trust':
        return this.trustedPartners.set(record.participant, record.partners, record.trusts);
      case 'token':
        return noteToken(record, replayed);
      case 'token_use':
        return void Object.assign(replayed.tokens.get(record.h) ?? {}, { usedVirtualMs: record.v });
      case 'logout':
        return void replayed.tokens.delete(record.h);
      default:
        throw new Error(`unknown journal record ${JSON.stringify(record satisfies never)}`);
    }
  }
}

function noteToken({ h: digest, a: account, v }: RecordOf<'token'>, { tokens }: Replayed): void {
  tokens.set(digest, { digest, account, openedVirtualMs: v, usedVirtualMs: v });
}

function noteClocks(record: JournalRecord, replayed: Replayed): void {
  if (!('w' in record) || record.v < (replayed.virtualMs ?? record.v)) return;
  replayed.virtualMs = record.v;
  replayed.wallMs = record.w;
}

/** While the sandbox was down the virtual clock went on, as if it had been running. */
function resumedAt({ virtualMs, wallMs, speed }: Replayed): number {
  const now = Date.now();
  return virtualMs === undefined ? now : virtualMs + Math.max(0, now - wallMs) * speed;
}

/**
 * A knob may not outlast what the profile tells its clients to bear. Throws an Error where a longer time was asked for.
 */
function longestBearable(
  { rules }: Profile,
  landLateMs: number | undefined,
): { failed_then_processed: number; land_late: number; late_in_list: number } {
  const { unknownGraceMs, failedGraceMs, listOverlapMs } = rules;
  if (landLateMs !== undefined && landLateMs >= unknownGraceMs)
    throw new Error(
      `a send may land late by less than the unknownGraceMs of the profile, ${unknownGraceMs}, not by ${landLateMs}`,
    );
  return {
    failed_then_processed: Math.floor(failedGraceMs / 2),
    land_late: landLateMs ?? Math.floor(unknownGraceMs / 3),
    late_in_list: Math.floor(listOverlapMs / 2),
  };
}
