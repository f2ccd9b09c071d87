import { documentReading } from '#documents';
import { SOFTWARE_VERSION, type EventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { defined, PedigreeError } from '#kernel';
import { openPool, type Pool } from '#postgres';
import { projections, schemaOfModel } from '#read-models';
import { forgettingSegments } from '#segments';
import {
  type AlongSwitch,
  discardRebuild,
  olderRowsOf,
  projectionCheckpoint,
  rebuildBeside,
  subscriptionLag,
  unfinishedCopies,
  type OlderRows,
  type Projection,
  type RebuildProgress,
} from '#subscriptions';
import type { CliConfig } from '../config.js';
import { out, say, table } from '../print.js';
import { mustBeInstalled, withDatabase, withStore } from '../stack/with-database.js';
import { requireOwner } from './database.js';

export interface RebuildFlags {
  discard?: boolean;
  json?: boolean;
}

interface Parts {
  pool: Pool;
  connectionString: string;
  store: EventStore;
  models: Projection[];
}

const SAY_EVERY_MS = 5_000;

/** What was made from the rows of a read model goes with them. */
const ALONG_SWITCH: Readonly<Record<string, AlongSwitch>> = { 'sgtin-history': forgettingSegments };

/** Rebuilds one read model, or all of them one after another; or lists them. Throws PedigreeError. */
export function runRebuild(config: CliConfig, model: string | undefined, flags: RebuildFlags): Promise<number> {
  return withParts(config, async (parts) => {
    if (model === undefined) return listModels(parts, flags);
    await requireOwner(parts.pool, 'rebuild');
    const chosen = chosenOf(parts.models, model);
    for (const projection of chosen)
      await (flags.discard === true ? discard(parts, projection) : rebuildOne(parts, projection, flags));
    return 0;
  });
}

async function withParts<T>(config: CliConfig, work: (parts: Parts) => Promise<T>): Promise<T> {
  mustBeInstalled(config);
  return withDatabase(config, async (pool, connectionString) => {
    return withStore(config, pool, async (store) => {
      const evidence = new PostgresEvidenceStore({ pool });
      const models = projections({ evidence, documents: documentReading(), store });
      return work({ pool, connectionString, store, models });
    });
  });
}

function chosenOf(models: Projection[], model: string): Projection[] {
  if (model === 'all') return models;
  const found = models.filter(({ name }) => name === model);
  if (found.length > 0) return found;
  throw new PedigreeError(
    'invalid_parameter',
    `no read model is called ${model}; there are: ${models.map(({ name }) => name).join(', ')}, all`,
    { field: 'MODEL' },
  );
}

async function rebuildOne(
  { pool, connectionString, store }: Parts,
  projection: Projection,
  { json }: RebuildFlags,
): Promise<void> {
  const model = projection.name;
  const unit = store.positionUnit;
  const begunMs = performance.now();
  const { position, lockedMs, isResumed } = await rebuildBeside({
    projection,
    schema: schemaOfModel(model),
    store,
    pool,
    poolIn: (settings) =>
      openPool({ connectionString, ...settings, maxConnections: 2, applicationName: 'pedigree-cli' }),
    softwareVersion: SOFTWARE_VERSION,
    ...defined({ alongSwitch: ALONG_SWITCH[model] }),
    progressEveryMs: SAY_EVERY_MS,
    onBegin: (copy) => say(`${model}: ${copy.isResumed ? 'an earlier run goes on' : 'begins'}`),
    onProgress: (progress) => say(`${model}: ${progressWords(progress, unit)}`),
  });
  const seconds = Number(((performance.now() - begunMs) / 1_000).toFixed(1));
  const readersWaitedMs = Math.round(lockedMs);
  out(
    json === true
      ? JSON.stringify({ model, position: String(position), seconds, switch_ms: readersWaitedMs, resumed: isResumed })
      : `${model}: rebuilt up to position ${position} in ${seconds} s; the switch took ${readersWaitedMs} ms`,
  );
}

/** How far it is, and how long it will take. */
export function progressWords(
  { position, head, share, perSecond, secondsLeft }: RebuildProgress,
  unit: EventStore['positionUnit'],
): string {
  const done = `${(share * 100).toFixed(1)} % (${position} of ${head} ${unit}s)`;
  if (perSecond === undefined || secondsLeft === undefined) return done;
  return `${done}, ${Math.round(perSecond)} ${unit}s/s, about ${durationWords(secondsLeft)} left`;
}

function durationWords(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

async function discard({ pool }: Parts, { name }: Projection): Promise<void> {
  await discardRebuild(pool, name);
  out(`${name}: no unfinished copy is left`);
}

/** Tables that an older version has written otherwise stay as they are until a person rebuilds them: decision 70. */
function sayOlderRows(older: Map<string, OlderRows[]>): void {
  for (const [model, tables] of older) {
    for (const { table, why } of tables) say(`${table}: ${why}`);
    say(`Run pedigree rebuild ${model}`);
  }
}

/** Returns 0. */
async function listModels({ pool, store, models }: Parts, { json }: RebuildFlags): Promise<number> {
  const names = models.map(({ name }) => name);
  const lags = new Map((await subscriptionLag(pool, store)).map((one) => [one.name, one]));
  const copies = new Map((await unfinishedCopies(pool, names)).map((one) => [one.model, one]));
  const older = await olderRowsOf(pool, models);
  const rows = models.map((projection) => {
    const { name: model } = projection;
    const lag = lags.get(projectionCheckpoint(projection));
    return {
      model,
      position: String(lag?.position ?? 0n),
      lag: String(lag?.lag ?? 0n),
      unfinished_copy: copies.get(model)?.position.toString() ?? null,
      older_rows: older.get(model) ?? [],
    };
  });
  out(
    json === true
      ? JSON.stringify(rows)
      : table(
          ['read model', 'position', 'behind the log', 'unfinished copy at'],
          rows.map(({ model, position, lag, unfinished_copy: copy }) => [model, position, lag, copy ?? undefined]),
        ),
  );
  if (json !== true) sayOlderRows(older);
  return 0;
}
