import { auditorSchemas } from '../../auditor/src/auditor.js';
import { gatewaySchemas } from '../../gateway/src/schemas.js';
import { workerSchemas } from '../../worker/src/worker.js';
import type { MigrationSet } from '#postgres';

/** The tables of every program. */
export function allSchemas(): MigrationSet[] {
  return [...new Map([...gatewaySchemas, ...workerSchemas, ...auditorSchemas].map((set) => [set.name, set])).values()];
}
