import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defined, invalidParameter } from '#kernel';
import { typeKnowledge } from '#documents';
import { segmentParts, STATES_FILE, statesAt, type States } from '#segments';
import type { CliConfig } from '../config.js';
import { out as print } from '../print.js';
import { writeDurably } from '#service';
import { recordHostExport } from '../stack/host-export.js';
import { withDatabase } from '../stack/with-database.js';
import { segmentSettings } from './segment-settings.js';

export interface StatesOptions {
  at?: string;
  out: string;
  json?: boolean;
}

/** Writes the state of every pack at a log position as Parquet, with a manifest beside it. */
export async function writeStates(config: CliConfig, { at, out, json }: StatesOptions): Promise<number> {
  if (at !== undefined && !/^\d{1,18}$/.test(at)) throw invalidParameter('--at', `${at} is not a log position`);
  const folder = resolve(out);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw invalidParameter('--out', `${folder} is not empty`);
  const states = await withDatabase(config, async (pool) => {
    const filter = { out: folder, ...defined({ at }) };
    const onBegin = () => recordHostExport(config, pool, { what: 'pedigree states', format: 'parquet', filter });
    const settings = segmentSettings(config);
    const parts = segmentParts(pool, settings);
    // The reconciler empties its own folder at its start.
    const duck = { ...parts.duck, temporary: join(settings.folder, 'temporary-states') };
    return statesAt(
      { ...parts, duck },
      {
        ...defined({ at: at === undefined ? undefined : BigInt(at) }),
        out: folder,
        types: typeKnowledge,
        onBegin,
      },
    );
  });
  writeDurably(join(folder, STATES_FILE), JSON.stringify(states));
  print(json === true ? JSON.stringify(states) : sentenceOf(states, folder));
  return 0;
}

const sentenceOf = ({ packs, at, digest, buckets }: States, folder: string): string =>
  `the state of ${packs} packs as known at position ${at}: ${buckets.length} files in ${folder}, digest ${digest}`;
