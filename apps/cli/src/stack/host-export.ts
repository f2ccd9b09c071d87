import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessStream } from '#domain';
import { newEvent, openEventStore } from '#event-store';
import type { Pool } from '#postgres';
import type { CliConfig } from '../config.js';
import { say } from '../print.js';
import { personOnHost, saidBy } from './host-act.js';

/** What a command on the host takes out of the database, without a gateway. */
interface HostExport {
  /** The command, as it is typed. */
  what: string;
  format: string;
  /** What was asked for. */
  filter: Record<string, string>;
}

const MAY_NOT = '42501';
/** SQLSTATEs of what may not be written: by this role, in a read-only session or server, or without the function. */
const MAY_NOT_WRITE = new Set<unknown>([MAY_NOT, '25006', '42883']);
const RECORD = 'SELECT record_host_export($1, $2, $3, $4, $5, $6, $7, $8)';

/**
 * Records who takes something out, before its first byte. Where the log cannot be reached nothing goes out. A role that
 * may only read records by a function that writes nothing else. A database that nobody may write to cannot record, and
 * is read all the same: that is said.
 */
export async function recordHostExport(
  config: CliConfig,
  pool: Pool,
  { what, format, filter }: HostExport,
): Promise<void> {
  const [exportId, at] = [randomUUID(), new Date()];
  const store = await openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
  const actor = personOnHost();
  const says = saidBy(config);
  const data = { exportId, what, format, filter, address: 'host' };
  const ids = { id: exportId, correlationId: `access:${actor.name}`, causationId: exportId };
  const event = newEvent({ type: 'ExportBegun', data }, { says, actor, at, ...ids });
  try {
    await store.append(accessStream(at), 'any', [event]).catch(async (error: unknown) => {
      if ((error as { code?: unknown }).code !== MAY_NOT) throw error;
      const by = [actor.name, says.participant, says.softwareVersion, says.profile];
      await pool.query(RECORD, [exportId, what, format, JSON.stringify(filter), ...by]);
    });
  } catch (error) {
    if (!MAY_NOT_WRITE.has((error as { code?: unknown }).code)) throw error;
    say('not recorded in the access log: this command may only read');
  } finally {
    await store.close();
  }
}

/**
 * Prints the lines of an export, each as JSON. They are made one by one: what is found wrong before the first of them
 * is thrown, and then nothing is recorded, nor goes out.
 */
export async function printExport(
  config: CliConfig,
  pool: Pool,
  { lines, ...exported }: HostExport & { lines: AsyncGenerator<object> },
): Promise<void> {
  let next = await lines.next();
  await recordHostExport(config, pool, exported);
  for (; next.done !== true; next = await lines.next())
    if (!process.stdout.write(`${JSON.stringify(next.value)}\n`)) await once(process.stdout, 'drain');
}
