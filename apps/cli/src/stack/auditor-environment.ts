import { defined } from '#kernel';
import type { DataDir } from './data-dir.js';

/**
 * The environment of the auditor, with its folder and key under DATA_DIR where they are not named. A key that is not
 * there is made, unless its file is named.
 */
export function auditorEnvironment(env: NodeJS.ProcessEnv, dataDir: DataDir): NodeJS.ProcessEnv {
  const [folder, keyFile] = [env['AUDIT_FOLDER'], env['AUDIT_KEY_FILE']].map((text) =>
    text === '' ? undefined : text,
  );
  if (keyFile !== undefined) return { ...env, AUDIT_KEY_FILE: keyFile, ...defined({ AUDIT_FOLDER: folder }) };
  const place = folder ?? dataDir.auditorFolder;
  return { ...env, AUDIT_FOLDER: place, AUDIT_KEY_FILE: dataDir.ensureAuditKey(place) };
}
