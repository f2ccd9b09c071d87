import type { DeadlineCalendar, DocumentCommand, GroupCommand } from '#domain';
import type { Actor, EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Clock, Sha256 } from '#kernel';
import type { Pool } from '#postgres';
import type { ClockStart } from '#read-models';
import type { Groups, LargeDocuments, Profile, RawAnswer, RegistryClient, UploadLinks } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import type { AccountGates } from '../account/account-gates.js';
import type { DocumentRepository } from '../document/document-repository.js';
import type { GroupRepository } from '../group/group-repository.js';
import type { InboundRepository } from '../inbound/inbound-repository.js';
import type { RegistryDocuments } from '../inbound/registry-documents.js';
import type { SequenceGate } from '../gate/sequence-gate.js';
import type { SuspensionStop } from '../gate/suspension-stop.js';
import type { Claim, Planning } from '../lane.js';
import { Candidate } from '../aggregate/candidate.js';
import { registryActor, SYSTEM, type Cause } from '../aggregate/aggregate-repository.js';
import type { Restored } from '../restoration/restored.js';

/** The rows that say who waits, and where tasks go: what the tasks about dependents need beside the log. */
export interface Dependents {
  pool: Pool;
  queue: Planning;
  /** Types of document that are ended, and not held, when a predecessor ends badly. */
  endAtOnceDocTypes: readonly number[];
}

/** What is asked about a report of an accomplished fact that waits, or is held, because of its items. */
interface ItemWaits {
  /** How long it waits at most, counted from its registration. */
  factReleaseMs: number;
  /** How long before it is due, by the calendar, it waits no more. */
  factLeadMs: number;
  calendar?: DeadlineCalendar;
  store: Pick<EventStore, 'readStream'>;
  /** Those of these documents and groups that are held, or wait for what is held. */
  stuckAmong(ids: string[]): Promise<string[]>;
  /** What may start their clocks: of one that was sent in place of others, the earliest of all. */
  clocksOf(requestIds: string[]): Promise<Map<string, ClockStart>>;
}

/** What every registry task needs. */
export interface TaskContext {
  documents: DocumentRepository;
  groups: GroupRepository;
  inbound: InboundRepository;
  evidence: EvidenceStore;
  registry: RegistryClient;
  /** The steps of a document above the limit of a plain send, and where its bytes go meanwhile. */
  largeDocuments: Pick<LargeDocuments, 'step'>;
  uploadLinks: UploadLinks;
  /** Check and start of groups at the registry. */
  bulk: Pick<Groups, 'check' | 'start'>;
  profile: Profile;
  clock: Clock;
  /** Whether anything may be sent through an account. */
  gates: Pick<AccountGates, 'isPaused' | 'isHeld' | 'pause' | 'pauseBySystem' | 'pausedAccounts' | 'rest'>;
  /** Who waits for whom; absent where nobody is told. */
  dependents?: Dependents;
  /** When a report of an accomplished fact waits and is held no longer; absent where that has no end. */
  itemWaits?: ItemWaits;
  /** What is asked about packs before they are sent; absent where nothing is. */
  sequence?: Pick<SequenceGate, 'policyOf' | 'neededAt' | 'behind' | 'judge'>;
  /** Which suspensions stop a document before it is sent; absent where none does. */
  stop?: Pick<SuspensionStop, 'unknownSeries' | 'stops' | 'inForce' | 'judge'>;
  /** What the document lists have shown; absent where none are read. */
  held?: RegistryDocuments;
  /** Whether this database is a restored backup; absent where none can be. */
  restored?: Pick<Restored, 'was' | 'takenAt' | 'isHolding' | 'releaseWhenCompared'>;
}

/** A header of the registry may be missing or absurdly long; the bytes are kept all the same. */
const MOST_MEDIA_TYPE = 200;

/** A claimed task about one document. */
type DocumentTask = Task<{ requestId: string }>;

/** Gives a document a command in the name of this system. */
export const bySystem = (context: TaskContext, task: DocumentTask, command: DocumentCommand) =>
  context.documents.execute(task.payload.requestId, command, causeOf(task, SYSTEM));

/** Gives a document a command that carries the registry's word. */
export function byRegistry(
  context: TaskContext,
  task: DocumentTask,
  { at, candidates, ...command }: DocumentCommand & Said,
) {
  const cause = { ...registryCause(context, task), candidates, effectiveAt: at };
  return context.documents.execute(task.payload.requestId, command as DocumentCommand, cause);
}

/** When the registry's word came true, default: now; and what may become evidence of it. */
export interface Said {
  at?: Date;
  candidates?: Candidate[];
}

/** A claimed task about one group. */
type GroupTask = Task<{ groupId: string }>;

/** Gives the group of a task a command in the name of this system. */
export const groupBySystem = (context: TaskContext, task: GroupTask, command: GroupCommand) =>
  context.groups.execute(task.payload.groupId, command, causeOf(task, SYSTEM));

/** Gives the group of a task a command that carries the registry's word. */
export const groupByRegistry = (
  context: TaskContext,
  task: GroupTask,
  { candidates, ...command }: GroupCommand & Pick<Said, 'candidates'>,
) =>
  context.groups.execute(task.payload.groupId, command as GroupCommand, {
    ...registryCause(context, task),
    candidates,
  });

/** Gives one document of a group a command; `by` says whose word it is. */
export const memberCommand = (
  context: TaskContext,
  task: Claim,
  of: { requestId: string; command: DocumentCommand; by: 'registry' | 'system'; candidates?: Candidate[] },
) => {
  const cause = of.by === 'system' ? causeOf(task, SYSTEM) : registryCause(context, task);
  return context.documents.execute(of.requestId, of.command, { ...cause, candidates: of.candidates });
};

/** The registry's word, heard by a task. */
export const registryCause = ({ profile }: TaskContext, task: Claim): Cause =>
  causeOf(task, registryActor(profile.name));

const mediaTypeOf = ({ contentType }: RawAnswer): string =>
  (contentType || 'application/octet-stream').slice(0, MOST_MEDIA_TYPE);

/** Keeps the registry's answer, byte for byte, before an event names it: for calls that an event surely follows. */
export const keep = (context: TaskContext, raw: RawAnswer): Promise<Sha256> =>
  context.evidence.put(raw.body, mediaTypeOf(raw));

/** The answer to a read, which is kept when an event names it. */
export const candidateOf = (context: TaskContext, raw: RawAnswer): Candidate =>
  new Candidate(context.evidence, raw.body, mediaTypeOf(raw));

/** A document or a receipt as it was read, which is kept when an event names it. */
export const xmlCandidate = (context: TaskContext, xml: Uint8Array): Candidate =>
  new Candidate(context.evidence, xml, 'application/xml');

/**
 * How long ago a moment was when the task was claimed, both by the database's clock: what passed since then is left
 * out, so that a grace that seems over is over, whatever the clock of this process shows.
 */
export const ageMs = ({ claimedAt }: Claim, since: string | undefined): number =>
  claimedAt.getTime() - new Date(since ?? 0).getTime();

const TENTH = 0.1;
/** Nothing that is looked at less and less often rests longer. */
export const LONGEST_REST_MS = 600_000;
/** How soon what has lasted so long is looked at again: once it has lasted a tenth longer, and at least `firstMs`. */
export const tenthLaterMs = (lastedMs: number, firstMs: number): number =>
  Math.min(LONGEST_REST_MS, Math.max(firstMs, lastedMs * TENTH));

/** A look that told nothing, at what may last for long: it is taken less and less often, and no failed try. */
export const lookTenthLater = (
  task: Claim,
  { since, firstMs, error }: { since: string | undefined; firstMs: number; error: string },
): TaskResult => ({
  kind: 'retry',
  delayMs: tenthLaterMs(ageMs(task, since), firstMs),
  error,
  countsAsAttempt: false,
});

/** What a process keeps in memory from one task to another: one for each context, made when it is first asked for. */
export function keptInMemory<T>(make: () => T): (context: TaskContext) => T {
  const kept = new WeakMap<TaskContext, T>();
  return (context) => {
    const known = kept.get(context) ?? make();
    kept.set(context, known);
    return known;
  };
}

/** Who acts, and under which lease on which task. */
export const causeOf = (task: Claim, actor: Actor): Cause => ({ taskKey: task.key, lease: task.lease, actor });

/** A task whose account is paused keeps its place: its lane is held meanwhile. */
export const waitForAccount = (): TaskResult => ({ kind: 'give_back' });
