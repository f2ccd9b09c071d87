import type { Pool } from '#postgres';
import { newEvent, PAGE, type Way } from './way.js';

const TABLE = `CREATE TABLE bare_event (LIKE event INCLUDING ALL);
  ALTER TABLE bare_event ALTER COLUMN position ADD GENERATED ALWAYS AS IDENTITY`;
const INSERT =
  'INSERT INTO bare_event (stream, version, id, type, schema_version, data, metadata, recorded_at) VALUES ($1, $2, ' +
  '$3, $4, 1, $5, $6, now())';

interface Row {
  position: bigint;
  data: Buffer;
  metadata: Buffer;
}

/**
 * One INSERT for each append, in a commit of its own, into a table with the columns and keys of the log and a number
 * from a sequence: no order of commits, no repeat known, nobody told. Reads take pages of the log itself.
 */
export async function barePostgres(pool: Pool): Promise<Way> {
  await pool.query(TABLE);
  return {
    append: async (stream, version) => {
      const { id, type, data, metadata } = newEvent(version);
      await pool.query({
        name: 'bare-append',
        text: INSERT,
        values: [stream, version, id, type, Buffer.from(JSON.stringify(data)), Buffer.from(JSON.stringify(metadata))],
      });
    },
    read: async (count) => {
      for (let [seen, from] = [0, 0n]; seen < count;) {
        const { rows } = await pool.query<Row>({
          name: 'bare-read',
          text: `SELECT * FROM event WHERE position > $1 ORDER BY position LIMIT ${PAGE}`,
          values: [from],
        });
        for (const { data, metadata } of rows) for (const bytes of [data, metadata]) JSON.parse(bytes.toString('utf8'));
        const last = rows.at(-1);
        if (last === undefined) throw new Error(`the log has ${seen} events, and not ${count}`);
        seen += rows.length;
        from = last.position;
      }
    },
    close: () => Promise.resolve(),
  };
}
