import type { Pool } from '#postgres';
import type { SsccRegistry } from '#registry-client';
import type { TaskContext } from '../registry-tasks/context.js';
import type { ContainerRepository } from './container-repository.js';
import type { ContentCounts } from './content-counts.js';

/** What the tasks about contents of containers need beside what every registry task needs. */
export interface ContainerParts {
  repository: ContainerRepository;
  /** Who tells what lies in a container. */
  registry: Pick<SsccRegistry, 'fullHierarchy'>;
  /** Most containers that are asked for because of one document; 0: none. */
  mostOfDocument: number;
  counts: ContentCounts;
}

export interface ContainerContext extends TaskContext {
  containers: ContainerParts;
  pool: Pool;
  warn(about: object, message: string): void;
}
