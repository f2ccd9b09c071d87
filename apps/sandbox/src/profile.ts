import { z } from 'zod';
import { profileFile, readJsonFile } from './data-files.js';

/** Canonical kinds of document status, whatever a profile calls them (interface 3.1). */
export type StatusKind = 'uploading' | 'processing' | 'processed' | 'failed_result_ready' | 'failed';

const operation = z.object({ method: z.enum(['GET', 'POST', 'PUT', 'DELETE']), path: z.string(), intervalMs: z.number().nonnegative() });

const profileShape = z.object({
  name: z.string(),
  basePath: z.string(),
  zone: z.string().regex(/^[+-]\d{2}:\d{2}$/),
  authorization: z.object({ header: z.string(), prefix: z.string() }),
  tokenLifeUnitMs: z.number().positive(),
  statuses: z.record(z.string(), z.enum(['uploading', 'processing', 'processed', 'failed_result_ready', 'failed'])),
  rules: z.object({
    statusAfterSendMs: z.number(),
    receiptAfterStatusMs: z.number(),
    tokenLifeMs: z.number(),
    tokenIdleMs: z.number(),
    tokensPerUser: z.number(),
    maxItemsPerDocument: z.number(),
    maxDocumentBytes: z.number(),
    /** For how long clients bear a FAILED that may turn, and a send of which they know nothing. */
    failedGraceMs: z.number().default(0),
    unknownGraceMs: z.number().default(30_000),
  }),
  operations: z.record(z.string(), operation),
  fields: z.record(z.string(), z.string()),
});

export type Operation = z.infer<typeof operation>;

/** The interface as data: the sandbox's routes, field names, status names and intervals are built from it. */
export interface Profile extends z.infer<typeof profileShape> {
  /** The name under which this profile writes a field. */
  field(name: string): string;
  /** The one name of a final kind. */
  statusName(kind: StatusKind): string;
  /** Names shown while a document is under way, in order. */
  intermediateStatuses: string[];
  /** Minutes that the zone is ahead of UTC. */
  zoneMinutes: number;
}

/** Reads and checks a profile by name. Throws an Error that names the file and the field. */
export function loadProfile(name: string): Profile {
  const file = profileFile(name);
  const parsed = profileShape.safeParse(readJsonFile(file));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  const data = parsed.data;
  const named = (kind: StatusKind) => Object.keys(data.statuses).filter((status) => data.statuses[status] === kind);
  const sign = data.zone.startsWith('-') ? -1 : 1;
  return {
    ...data,
    field: (field) => data.fields[field] ?? field,
    statusName: (kind) => named(kind)[0] ?? kind.toUpperCase(),
    intermediateStatuses: [...named('uploading'), ...named('processing')],
    zoneMinutes: sign * (Number(data.zone.slice(1, 3)) * 60 + Number(data.zone.slice(4, 6))),
  };
}
