import type { InboundCommand } from '#domain';
import type { Pool } from '#postgres';
import type { DocumentLists } from '#registry-client';
import type { Task } from '#tasks';
import type { Planning, TaskOf } from '../lane.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { ContainerParts } from '../container/context.js';
import { causeOf, registryCause, type Said, type TaskContext } from '../registry-tasks/context.js';
import type { RegistryDocuments } from './registry-documents.js';

/** What the tasks about documents of others need beside what every registry task needs. */
export interface InboundContext extends TaskContext {
  lists: DocumentLists;
  /** What the lists have shown. */
  held: RegistryDocuments;
  pool: Pool;
  queue: Planning;
  /** How contents of containers are asked for; absent where nobody asks. */
  containers?: ContainerParts;
  warn(about: object, message: string): void;
}

/** A claimed task about one document of others. */
export type InboundTask = TaskOf<
  'inbound_status' | 'inbound_download' | 'inbound_receipt' | 'inbound_link' | 'note_listed'
>;

/** Gives a document of others a command; by default in the name of the registry, whose word it carries. */
export function toInbound(
  context: TaskContext,
  task: Task<{ documentId: string }>,
  { at, bySystem, candidates, ...command }: InboundCommand & Said & { bySystem?: true },
) {
  const cause = bySystem === true ? causeOf(task, SYSTEM) : registryCause(context, task);
  return context.inbound.execute(task.payload.documentId, command as InboundCommand, {
    ...cause,
    candidates,
    effectiveAt: at,
  });
}
