import { defined } from '#kernel';
import type { DataDir } from './data-dir.js';

const unlessEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** The environment of the auditor, with its folder and key under DATA_DIR where they are not named. */
export function auditorEnvironment(env: NodeJS.ProcessEnv, dataDir: DataDir): NodeJS.ProcessEnv {
  const [folder, keyFile] = [unlessEmpty(env['AUDIT_FOLDER']), unlessEmpty(env['AUDIT_KEY_FILE'])];
  if (keyFile !== undefined) return { ...env, AUDIT_KEY_FILE: keyFile, ...defined({ AUDIT_FOLDER: folder }) };
  const place = folder ?? dataDir.auditorFolder;
  return { ...env, AUDIT_FOLDER: place, AUDIT_KEY_FILE: dataDir.auditKey(place) };
}

/** The same for `up`: a key that is not there is made, unless its file is named. */
export function ownAuditorEnvironment(env: NodeJS.ProcessEnv, dataDir: DataDir): NodeJS.ProcessEnv {
  const own = auditorEnvironment(env, dataDir);
  if (unlessEmpty(env['AUDIT_KEY_FILE']) === undefined) dataDir.ensureAuditKey(own['AUDIT_KEY_FILE'] as string);
  return own;
}
