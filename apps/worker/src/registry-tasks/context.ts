import type { CommandBus } from '@nestjs/cqrs';
import type { DocumentOutcome } from '#domain';
import type { EvidenceStore } from '#evidence';
import type { Clock, Sha256 } from '#kernel';
import type { Profile, RawAnswer, RegistryClient } from '#registry-client';
import type { Task } from '#tasks';
import { DecideDocument, type Decided } from '../document/decide-document.js';
import type { DocumentRepository } from '../document/document-repository.js';

/** What every registry task needs. */
export interface TaskContext {
  commands: CommandBus;
  documents: DocumentRepository;
  evidence: EvidenceStore;
  registry: RegistryClient;
  profile: Profile;
  clock: Clock;
}

/** What the document saga puts into a task (libs/domain/src/document/saga.ts). */
export interface DocumentTaskPayload {
  requestId: string;
  account: string;
  attempt: number;
  documentId?: string;
  attemptEndedAt?: string;
  predecessor?: string;
  outcome?: DocumentOutcome;
}

export const payloadOf = (task: Task): DocumentTaskPayload => task.payload as unknown as DocumentTaskPayload;

/** A header of the registry may be missing or absurdly long; the bytes are kept all the same. */
const MOST_MEDIA_TYPE = 200;

const SYSTEM = { kind: 'system', name: 'worker', authenticatedBy: 'process' } as const;

/** Gives a document a command in the name of this system. */
export const bySystem = (context: TaskContext, task: Task, command: DecideDocument['command']): Promise<Decided> =>
  context.commands.execute(new DecideDocument(payloadOf(task).requestId, command, { taskKey: task.key, actor: SYSTEM }));

/** Gives a document a command that carries the registry's word. */
export function byRegistry(context: TaskContext, task: Task, said: DecideDocument['command'] & { at?: Date }): Promise<Decided> {
  const { at, ...command } = said;
  const actor = { kind: 'registry', name: context.profile.name, authenticatedBy: 'registry-session' } as const;
  const cause = { taskKey: task.key, actor, ...(at === undefined ? {} : { effectiveAt: at }) };
  return context.commands.execute(new DecideDocument(payloadOf(task).requestId, command as DecideDocument['command'], cause));
}

/** Keeps the registry's answer, byte for byte, before an event names it. */
export const keep = (context: TaskContext, raw: RawAnswer): Promise<Sha256> =>
  context.evidence.put(raw.body, (raw.contentType || 'application/octet-stream').slice(0, MOST_MEDIA_TYPE));

export const after = (context: TaskContext, delayMs: number): Date => new Date(context.clock.now().getTime() + delayMs);
