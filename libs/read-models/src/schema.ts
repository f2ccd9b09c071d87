import type { MigrationSet } from '#postgres';

/** The tables of every read model, a set per folder. */
export const readModelSchemas: MigrationSet[] = [
  { name: 'read-models/document-outcomes', directory: new URL('./document-outcomes/migrations/', import.meta.url) },
  { name: 'read-models/groups', directory: new URL('./groups/migrations/', import.meta.url) },
  { name: 'read-models/sgtin-history', directory: new URL('./sgtin-history/migrations/', import.meta.url) },
  { name: 'read-models/inbound-documents', directory: new URL('./inbound-documents/migrations/', import.meta.url) },
  { name: 'read-models/timeliness', directory: new URL('./timeliness/migrations/', import.meta.url) },
  { name: 'read-models/cases', directory: new URL('./cases/migrations/', import.meta.url) },
  { name: 'read-models/access-log', directory: new URL('./access-log/migrations/', import.meta.url) },
  { name: 'read-models/suspensions', directory: new URL('./suspensions/migrations/', import.meta.url) },
  { name: 'read-models/outbox', directory: new URL('./outbox/migrations/', import.meta.url) },
];

/** The migrations that make the tables of one projection. Sets are named after their projections. */
export function schemaOfModel(model: string): MigrationSet {
  const found = readModelSchemas.find(({ name }) => name === `read-models/${model}`);
  if (found === undefined) throw new Error(`the read model ${model} has no migrations`);
  return found;
}
