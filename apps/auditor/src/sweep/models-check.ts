import { documentReading } from '#documents';
import { SOFTWARE_VERSION, type EventStore } from '#event-store';
import { EvidenceDamaged, PostgresEvidenceStore } from '#evidence';
import { defined, PedigreeError, systemClock, type Clock } from '#kernel';
import { databaseIsAway, openPool, type Pool } from '#postgres';
import { projections, readModelSchemas, schemaOfModel } from '#read-models';
import {
  compareBeside,
  copySchemaOf,
  type Compared,
  type ComparePlace,
  type Projection,
  type RowDifference,
} from '#subscriptions';
import type { Report } from './finding.js';

export interface ModelsCheckParts {
  pool: Pool;
  connectionString: string;
  store: EventStore;
  /** Before the name of the schema of each copy. */
  prefix: string;
  signal: AbortSignal;
  report: Report;
  /** Events or evidence were found damaged: what fails then, fails for that. */
  isDamaged: () => boolean;
  onWork: (model: string, work: { bytes: number; rows: number; place?: ComparePlace }) => Promise<void>;
  /**
   * Not each row of this model was compared, or not each difference told: what was found of it before may be there
   * still. `skipped`: why some tables were not compared.
   */
  onNotWhole: (model: string, skipped: string | undefined) => void;
  clock?: Clock;
}

/** Where an earlier run was. */
interface ModelsPlace {
  model?: string | undefined;
  place?: ComparePlace | undefined;
}

/** Before the name of the schema of each copy: of the regular sweep, and of `pedigree audit check`. */
export const COPY_PREFIX = { sweep: 'sweep_', check: 'check_' } as const;

/** Where copies are built: an auditor that may not make schemas needs these. Sets are named after their models. */
export const copySchemas = (): string[] =>
  Object.values(COPY_PREFIX).flatMap((prefix) =>
    readModelSchemas.map(({ name }) => copySchemaOf(name.replace('read-models/', ''), prefix)),
  );

const BUSY_WAIT_MS = 10_000;

/** Builds each read model again beside its live tables and compares. False where the signal ended it. */
export async function checkModels(parts: ModelsCheckParts, from: ModelsPlace): Promise<boolean> {
  const evidence = new PostgresEvidenceStore({ pool: parts.pool, maxCacheBytes: 0 });
  const models = projections({ evidence, documents: documentReading(), store: parts.store }).map(sayingOfData);
  const first = Math.max(
    0,
    models.findIndex(({ name }) => name === from.model),
  );
  for (const projection of models.slice(first)) {
    const isFirst = projection.name === from.model;
    await parts.onWork(projection.name, { bytes: 0, rows: 0 });
    const compared = await checkModel(parts, projection, isFirst ? { isBegun: true, place: from.place } : {});
    if (parts.signal.aborted) return false;
    // Of what an earlier run has compared nobody knows how much it left untold.
    const isResumed = isFirst && from.place !== undefined;
    if (compared?.isWhole !== true || compared.untold > 0 || isResumed)
      parts.onNotWhole(projection.name, compared?.skipped);
  }
  return true;
}

/** Whether a finding is one of this model. */
export const isOfModel = (where: string, model: string): boolean =>
  where === `read model ${model}` || where.startsWith(`read model ${model}, `);

async function checkModel(
  parts: ModelsCheckParts,
  projection: Projection,
  { isBegun = false, place }: { isBegun?: boolean; place?: ComparePlace | undefined },
): Promise<Compared | undefined> {
  const { pool, connectionString, store, prefix, signal, report, onWork, clock = systemClock } = parts;
  const model = projection.name;
  while (!signal.aborted) {
    try {
      return await compareBeside({
        projection,
        schema: schemaOfModel(model),
        store: readingStore(store),
        pool,
        poolIn: (settings) =>
          openPool({ connectionString, ...settings, maxConnections: 2, applicationName: 'pedigree-sweep' }),
        softwareVersion: SOFTWARE_VERSION,
        prefix,
        signal,
        goesOn: isBegun,
        ...defined({ from: place }),
        onDifference: (difference) => report(differenceFinding(model, difference)),
        onWork: (work) => onWork(model, work),
      });
    } catch (error) {
      if (isUnbuildable(error) || (parts.isDamaged() && error instanceof OfData))
        return await sayUnbuildable(model, error as Error, report);
      // Another auditor compares it now.
      if (!(error instanceof PedigreeError) || error.code !== 'unavailable') throw error;
      await clock.wait(BUSY_WAIT_MS, signal);
    }
  }
  return undefined;
}

/** Evidence that is damaged or missing: what hangs on it cannot be compared, and that is a finding by itself. */
const isUnbuildable = (error: unknown): boolean =>
  error instanceof EvidenceDamaged ||
  (error instanceof Error && /^evidence [0-9a-f]{64}, .* is missing$/.test(error.message));

/** What an event says cannot be read, or no row follows from it. Everything else is the sweep's own trouble. */
class OfData extends Error {}

/** SQLSTATEs of what a row holds: 22 data exception, 23 constraint. Others are of the server, of rights, of time. */
const STATES_OF_DATA = /^2[23]...$/;

function sayOfData(error: unknown): never {
  const { code } = Object(error) as { code?: unknown };
  const isOwn =
    !(error instanceof Error) ||
    error instanceof PedigreeError ||
    isUnbuildable(error) ||
    databaseIsAway(error) ||
    (typeof code === 'string' && !STATES_OF_DATA.test(code));
  throw isOwn ? error : new OfData(error.message, { cause: error });
}

/** The same projection, which tells what is wrong with events from what is wrong with the world. */
const sayingOfData = (projection: Projection): Projection => ({
  ...projection,
  project: async (...given) => {
    try {
      return await projection.project(...given);
    } catch (error) {
      return sayOfData(error);
    }
  },
});

/** The same log; an event that is not JSON any more is one that cannot be read. */
const readingStore = (store: EventStore): EventStore =>
  Object.assign(Object.create(store) as EventStore, {
    readAll: (...given: Parameters<EventStore['readAll']>) =>
      store.readAll(...given).catch((error: unknown) => {
        if (!(error instanceof SyntaxError)) throw error;
        return sayOfData(error);
      }),
  });

async function sayUnbuildable(model: string, { message }: Error, report: Report): Promise<undefined> {
  await report({
    what: 'read_model',
    where: `read model ${model}`,
    expected: 'that it can be built again from log and evidence',
    found: message,
  });
}

function differenceFinding(model: string, { table, key, expected, found }: RowDifference): Parameters<Report>[0] {
  return {
    what: 'read_model',
    where: `read model ${model}, table ${table}, row ${key.join(', ')}`,
    expected: cellWords(expected),
    found: cellWords(found),
  };
}

const cellWords = (row: Record<string, string | null> | undefined): string =>
  row === undefined
    ? 'no row'
    : Object.entries(row)
        .map(([name, text]) => `${name} ${text === null ? 'NULL' : JSON.stringify(text)}`)
        .join(', ');
