import { signerOf } from '../../../auditor/src/auditor.js';
import { auditorConfig, type AuditorConfig } from '../../../auditor/src/config.js';
import { LogKeys } from '#proofs';
import type { CliConfig } from '../config.js';
import { auditorEnvironment } from '../stack/auditor-environment.js';
import { DataDir } from '../stack/data-dir.js';

/** The auditor's settings are read without its database, which may be the embedded one. */
const ANY_DATABASE = 'postgres://unused/unused';

/** What the auditor of this host goes by, and the keys that it believes. */
export function auditorOnHost({ environment, dataDir }: CliConfig): { settings: AuditorConfig; keys: LogKeys } {
  const env = auditorEnvironment(environment, new DataDir(dataDir));
  const settings = auditorConfig({ ...env, DATABASE_URL: ANY_DATABASE });
  return { settings, keys: new LogKeys(signerOf(settings), settings.previousKeys) };
}
