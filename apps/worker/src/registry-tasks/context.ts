import type { CommandBus } from '@nestjs/cqrs';
import type { GroupCommand } from '#domain';
import type { Actor } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, type Clock, type Sha256 } from '#kernel';
import type { Pool } from '#postgres';
import type { Groups, LargeDocuments, Profile, RawAnswer, RegistryClient, UploadLinks } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import type { AccountGates } from '../account/account-gates.js';
import { DecideDocument, type Decided } from '../document/decide-document.js';
import type { DocumentRepository } from '../document/document-repository.js';
import { DecideGroup, type GroupDecided } from '../group/decide-group.js';
import type { GroupRepository } from '../group/group-repository.js';
import type { RegistryDocuments } from '../inbound/registry-documents.js';
import type { Claim, Planning } from '../lane.js';
import { Candidate } from '../noun/candidate.js';
import type { Cause } from '../noun/noun-repository.js';
import type { Restored } from '../restoration/restored.js';

/** The rows that say who waits, and where tasks go: what the tasks about dependents need beside the log. */
export interface Dependents {
  pool: Pool;
  queue: Planning;
  /** Types of document that are ended, and not held, when a predecessor ends badly. */
  endAtOnceDocTypes: readonly number[];
}

/** What every registry task needs. */
export interface TaskContext {
  commands: CommandBus;
  documents: DocumentRepository;
  groups: GroupRepository;
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
  /** What the document lists have shown; absent where none are read. */
  held?: RegistryDocuments;
  /** Whether this database is a restored backup; absent where none can be. */
  restored?: Pick<Restored, 'was' | 'takenAt' | 'isHolding' | 'releaseWhenCompared'>;
}

/** A header of the registry may be missing or absurdly long; the bytes are kept all the same. */
const MOST_MEDIA_TYPE = 200;

export const SYSTEM = { kind: 'system', name: 'worker', authenticatedBy: 'process' } as const;

/** A claimed task about one document. */
type DocumentTask = Task<{ requestId: string }>;

/** Gives a document a command in the name of this system. */
export const bySystem = (
  context: TaskContext,
  task: DocumentTask,
  command: DecideDocument['command'],
): Promise<Decided> =>
  context.commands.execute(new DecideDocument(task.payload.requestId, command, causeOf(task, SYSTEM)));

/** Gives a document a command that carries the registry's word. */
export function byRegistry(
  context: TaskContext,
  task: DocumentTask,
  said: DecideDocument['command'] & { at?: Date; candidates?: Candidate[] },
): Promise<Decided> {
  const { at, candidates = [], ...command } = said;
  const cause = {
    ...causeOf(task, registryActor(context)),
    candidates,
    ...defined({ effectiveAt: at }),
  };
  return context.commands.execute(
    new DecideDocument(task.payload.requestId, command as DecideDocument['command'], cause),
  );
}

/** A claimed task about one group. */
type GroupTask = Task<{ groupId: string }>;

/** Gives the group of a task a command in the name of this system. */
export const groupBySystem = (context: TaskContext, task: GroupTask, command: GroupCommand): Promise<GroupDecided> =>
  context.commands.execute(new DecideGroup(task.payload.groupId, command, causeOf(task, SYSTEM)));

/** Gives the group of a task a command that carries the registry's word. */
export const groupByRegistry = (
  context: TaskContext,
  task: GroupTask,
  said: GroupCommand & { candidates?: Candidate[] },
): Promise<GroupDecided> => {
  const { candidates = [], ...command } = said;
  return context.commands.execute(
    new DecideGroup(task.payload.groupId, command as GroupCommand, {
      ...causeOf(task, registryActor(context)),
      candidates,
    }),
  );
};

/** Gives one document of a group a command; `by` says whose word it is. */
export const memberCommand = (
  context: TaskContext,
  task: Claim,
  of: { requestId: string; command: DecideDocument['command']; by: 'registry' | 'system'; candidates?: Candidate[] },
): Promise<Decided> => {
  const cause = {
    ...causeOf(task, of.by === 'system' ? SYSTEM : registryActor(context)),
    candidates: of.candidates ?? [],
  };
  return context.commands.execute(new DecideDocument(of.requestId, of.command, cause));
};

const registryActor = (context: TaskContext): Actor => ({
  kind: 'registry',
  name: context.profile.name,
  authenticatedBy: 'registry-session',
});

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

/** Who acts, and under which lease on which task. */
export const causeOf = (task: Claim, actor: Actor): Cause => ({ taskKey: task.key, lease: task.lease, actor });

/** A task whose account is paused keeps its place: its lane is held meanwhile. */
export const waitForAccount = (): TaskResult => ({ kind: 'give_back' });
