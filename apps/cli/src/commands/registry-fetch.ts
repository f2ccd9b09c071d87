import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { defined, invalidParameter } from '#kernel';
import { migrateOrCheck, type Pool } from '#postgres';
import {
  countExpected,
  fetchWayOf,
  fetchProgress,
  fetchRegistrySide,
  listFetches,
  registryFetchSchema,
  type RegistryFetch,
  type SideRequest,
} from '#reconciliation';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import type { CliConfig } from '../config.js';
import { facts, out as print, say, table } from '../print.js';
import { personOnHost } from '../stack/host-act.js';
import { withDatabase } from '../stack/with-database.js';
import { segmentSettings } from './segment-settings.js';

export interface FetchFlags {
  account?: string;
  way: string;
  stock?: string;
  record?: string;
  reason?: string;
  out?: string;
  resume?: string;
  json?: boolean;
}

/** A fetch without a call for so long may have nobody who serves its account. */
const QUIET_LOOKS = 60;

/** Has the worker read the registry's packs, waits, and makes a registry snapshot of them. */
export async function fetchRegistry(config: CliConfig, flags: FetchFlags): Promise<number> {
  if (flags.account === undefined) throw invalidParameter('--account', 'no account is given');
  const way = fetchWayOf(flags.way);
  if (flags.resume !== undefined && !/^[0-9a-f-]{36}$/.test(flags.resume))
    throw invalidParameter('--resume', `${flags.resume} is not an id of a fetch`);
  const fetchId = flags.resume ?? randomUUID();
  const out = resolve(flags.out ?? join(segmentSettings(config).folder, 'snapshots', `registry-${fetchId}`));
  say(`fetch ${fetchId}: --resume ${fetchId} goes on with it`);
  const made = await withDatabase(config, (pool) =>
    registrySide(config, pool, {
      ...{ fetchId, account: flags.account as string, way, out },
      reason: flags.reason ?? 'by hand',
      of: defined({ stock: flags.stock, record: flags.record }),
    }),
  );
  const { manifest, calls } = made;
  if (flags.json === true) print(JSON.stringify({ folder: out, calls, ...manifest }));
  else print(facts([['snapshot', out], ...Object.entries({ rows: manifest.rows, refused: manifest.refused, calls })]));
  return 0;
}

type Side = Omit<SideRequest, 'actor' | 'expected'>;

/** The registry's side of a comparison, with words about its progress. */
async function registrySide(config: CliConfig, pool: Pool, side: Side): ReturnType<typeof fetchRegistrySide> {
  await migrateOrCheck(pool, [tasksSchema, registryFetchSchema]);
  const queue = new PostgresTaskQueue({ pool });
  const { memoryMb, threads, folder } = segmentSettings(config);
  const { stock, record } = side.of;
  const temporary = join(folder, 'temporary');
  const expected =
    record === undefined ? null : await countExpected({ stock, record }, { memoryMb, threads, temporary });
  const actor = personOnHost();
  try {
    return await fetchRegistrySide(
      { ...side, actor, expected },
      {
        ...{ pool, duck: { memoryMb, threads }, onProgress: fetchTeller() },
        schedule: (tx, tasks) => queue.schedule(tx, tasks),
      },
    );
  } finally {
    await queue.close();
  }
}

/** Says how far a fetch is whenever that has changed, and once that nothing happens. */
export function fetchTeller(tell = say): (fetch: RegistryFetch) => void {
  let [told, quiet] = ['', 0];
  return (fetch) => {
    const now = sentenceOf(fetch);
    quiet = now === told ? quiet + 1 : 0;
    if (now !== told) tell(now);
    if (quiet === QUIET_LOOKS) tell(`nothing happens: does a worker run that serves the account ${fetch.account}?`);
    told = now;
  };
}

function sentenceOf(fetch: RegistryFetch): string {
  const { phase, nextPage, failures, problem } = fetch;
  const { callsLeft, leftMs } = fetchProgress(fetch);
  const left = callsLeft === null ? '' : `, ${callsLeft} to go, ${Math.ceil((leftMs ?? 0) / 1_000)} s at least`;
  return `${phase}: ${nextPage} pages read${left}${failures === 0 ? '' : `; failed ${failures} times: ${problem}`}`;
}

const MOST_SHOWN = 50;

/** The newest fetches, each on a line. */
export async function showFetches(config: CliConfig, { json }: { json?: boolean }): Promise<number> {
  const fetches = await withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [registryFetchSchema]);
    return listFetches(pool, MOST_SHOWN);
  });
  const rows = fetches.map((one) => [
    ...[one.fetchId, one.requestedAt.toISOString(), one.account, one.way, one.phase, one.calls, one.problem ?? ''],
  ]);
  if (json === true) print(JSON.stringify(fetches.map((one) => ({ ...one, ...fetchProgress(one) }))));
  else print(table(['fetch', 'requested', 'account', 'way', 'phase', 'calls', 'problem'], rows));
  return 0;
}
