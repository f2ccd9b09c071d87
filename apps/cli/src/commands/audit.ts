import { existsSync, readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { parseBundle } from '../../../auditor/src/proof/bundle.js';
import { proveStream } from '../../../auditor/src/proof/prove.js';
import { verifyBundle } from '../../../auditor/src/proof/verify.js';
import { documentStream } from '#domain';
import { openEventStore, type EventStore } from '#event-store';
import { PedigreeError, requestIdOf } from '#kernel';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { installationId, migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { readSecretFile } from '#secret-files';
import type { CliConfig } from '../config.js';
import { instant, out, table } from '../print.js';
import { ambiguous, unknownDocument } from '../named-document.js';
import { writeWholeOnce } from '../stack/whole-file.js';
import { withDatabase } from '../stack/with-database.js';

/** Makes the key that signs checkpoints, never over another one, and prints what auditors are given beforehand. */
export function newAuditKey(file: string, origin: string): number {
  if (existsSync(file))
    throw new PedigreeError('invalid_parameter', `${file} is there already; a key that signed is not written over`, {
      field: 'file',
    });
  writeWholeOnce(file, newSigningKey(), 0o600);
  return showAuditKey(file, origin);
}

export function showAuditKey(file: string, origin: string): number {
  out(verifierKeyOf(noteSigner(origin, readSecretFile(file).toString('utf8'))));
  return 0;
}

/** Prints the proof of every event of a document, from the configured database or the embedded one. */
export const proveDocument = (config: CliConfig, named: string): Promise<number> =>
  withDatabase(config, async (pool) => {
    await migrate(pool, [...auditorSchemas, ...readModelSchemas]);
    const store = openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
    try {
      out(
        JSON.stringify(
          await proveStream(pool, store, documentStream(await requestIdInLog(pool, store, named))),
          null,
          2,
        ),
      );
    } finally {
      await store.close();
    }
    return 0;
  });

/**
 * As `requestIdOfNamed`, without a gateway: an auditor may have the database alone. Throws PedigreeError `not_found`,
 * `invalid_parameter`.
 */
async function requestIdInLog(pool: Pool, store: EventStore, named: string): Promise<string> {
  const isThere = async (requestId: string): Promise<boolean> =>
    (await store.readStream(documentStream(requestId), { limit: 1 })).length > 0;
  if (await isThere(named.toLowerCase())) return named.toLowerCase();
  const ofCommand = requestIdOf(await installationId(pool), named);
  if (await isThere(ofCommand)) return ofCommand;
  const { rows } = await pool.query<{ request_id: string }>(
    'SELECT request_id FROM document_outcome WHERE reference = $1 ORDER BY registered_at DESC LIMIT 1000',
    [named],
  );
  if (rows.length > 1)
    throw ambiguous(
      named,
      rows.map((row) => row.request_id),
    );
  if (rows[0] === undefined) throw unknownDocument(named);
  return rows[0].request_id;
}

/** Checks a proof; needs no database and no network. */
export async function verifyProof(file: string, key: string, json: boolean): Promise<number> {
  const { checkpoint, events } = verifyBundle(
    parseBundle(file === '-' ? await textOf(process.stdin) : readFileSync(file, 'utf8')),
    key,
  );
  if (json)
    out(
      JSON.stringify({
        origin: checkpoint.origin,
        size: checkpoint.size,
        root: checkpoint.root.toString('hex'),
        events,
      }),
    );
  else
    out(
      `${table(
        ['leaf', 'recorded', 'event', 'stream'],
        events.map((one) => [one.leaf, instant(one.recordedAt), one.type, one.stream]),
      )}\n${events.length} events are in the log ${checkpoint.origin} of ${checkpoint.size} events that the key has \
signed`,
    );
  return 0;
}
