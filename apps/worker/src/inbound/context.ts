import type { InboundCommand, InboundDirection, InboundSeen } from '#domain';
import type { Pool } from '#postgres';
import type { DocumentLists } from '#registry-client';
import type { Task, TaskQueue } from '#tasks';
import type { Candidate } from '../noun/candidate.js';
import { causeOf, type TaskContext } from '../registry-tasks/context.js';
import { DecideInbound, type InboundDecided } from './decide-inbound.js';
import type { InboundRepository } from './inbound-repository.js';
import type { ListName, RegistryDocuments } from './registry-documents.js';

/** What the tasks about documents of others need beside what every registry task needs. */
export interface InboundContext extends TaskContext {
  inbound: InboundRepository;
  lists: DocumentLists;
  /** What the lists have shown. */
  held: RegistryDocuments;
  pool: Pool;
  queue: Pick<TaskQueue, 'schedule'>;
  warn(about: object, message: string): void;
}

/** A list of an account, to be read again and again. */
export interface ListPayload {
  account: string;
  list: ListName;
}

/** What the inbound saga puts into a task (libs/domain/src/inbound/saga.ts), or the reader of lists. */
export interface InboundPayload {
  documentId: string;
  account: string;
  direction: InboundDirection;
  isLastWord?: true;
  /** For inbound_link: position of the event that planned it. Tasks of earlier versions have none. */
  plannedAt?: string;
  /** For note_listed: the document as it was listed. */
  seen?: InboundSeen['data'];
}

export const inboundOf = (task: Task): InboundPayload => task.payload as unknown as InboundPayload;

const SYSTEM = { kind: 'system', name: 'worker', authenticatedBy: 'process' } as const;

/** Gives a document of others a command; by default in the name of the registry, whose word it carries. */
export function toInbound(
  context: TaskContext,
  task: Task,
  said: InboundCommand & { documentId?: string; at?: Date; bySystem?: true; candidates?: Candidate[] },
): Promise<InboundDecided> {
  const { documentId = inboundOf(task).documentId, at, bySystem, candidates = [], ...command } = said;
  const registry = { kind: 'registry', name: context.profile.name, authenticatedBy: 'registry-session' } as const;
  const cause = {
    ...causeOf(task, bySystem === true ? SYSTEM : registry),
    candidates,
    ...(at === undefined ? {} : { effectiveAt: at }),
  };
  return context.commands.execute(new DecideInbound(documentId, command as InboundCommand, cause));
}
