import type { InboundCommand } from '#domain';
import type { Pool } from '#postgres';
import type { DocumentLists } from '#registry-client';
import type { Task } from '#tasks';
import type { Candidate } from '../noun/candidate.js';
import type { Planning, TaskOf } from '../lane.js';
import { causeOf, type TaskContext } from '../registry-tasks/context.js';
import { DecideInbound, type InboundDecided } from './decide-inbound.js';
import type { InboundRepository } from './inbound-repository.js';
import type { RegistryDocuments } from './registry-documents.js';

/** What the tasks about documents of others need beside what every registry task needs. */
export interface InboundContext extends TaskContext {
  inbound: InboundRepository;
  lists: DocumentLists;
  /** What the lists have shown. */
  held: RegistryDocuments;
  pool: Pool;
  queue: Planning;
  warn(about: object, message: string): void;
}

/** A claimed task about one document of others. */
export type InboundTask = TaskOf<
  'inbound_status' | 'inbound_download' | 'inbound_receipt' | 'inbound_link' | 'note_listed'
>;

const SYSTEM = { kind: 'system', name: 'worker', authenticatedBy: 'process' } as const;

/** Gives a document of others a command; by default in the name of the registry, whose word it carries. */
export function toInbound(
  context: TaskContext,
  task: Task<{ documentId: string }>,
  said: InboundCommand & { at?: Date; bySystem?: true; candidates?: Candidate[] },
): Promise<InboundDecided> {
  const { at, bySystem, candidates = [], ...command } = said;
  const registry = { kind: 'registry', name: context.profile.name, authenticatedBy: 'registry-session' } as const;
  const cause = {
    ...causeOf(task, bySystem === true ? SYSTEM : registry),
    candidates,
    ...(at === undefined ? {} : { effectiveAt: at }),
  };
  return context.commands.execute(new DecideInbound(task.payload.documentId, command as InboundCommand, cause));
}
