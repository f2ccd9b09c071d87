import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTransaction } from '#postgres';
import { testDatabase } from '../../../../test/support/database.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { entangledIn, WALK_DEPENDENTS } from './cycles.js';

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

const command = (command_id: string, ...after: string[]) => ({ command_id, xml: arrival(), after });

/** A chain of stored commands, each after the one before it; the first after `from`. */
async function chain(name: string, length: number, from: string): Promise<void> {
  await harness.db.pool.query(
    `INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor, after_commands, kind)
     SELECT $1 || n, gen_random_uuid(), '\\x00', '\\x00', 'main', '{}', jsonb_build_array(CASE n
       WHEN 1 THEN $3 ELSE $1 || (n - 1) END), 'document' FROM generate_series(1, $2::int) AS n`,
    [name, length, from],
  );
}

describe('commands that would wait for themselves', () => {
  it('given at the same moment: one of them is refused, and names the cycle at its field', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [a, b] = [`a-${round}`, `b-${round}`];
      // Two transactions, as two gateways have them: neither is committed when the other one begins.
      const take = (id: string, after: string) =>
        inTransaction(harness.db.pool, async (tx) => {
          const [entangled] = await entangledIn(tx, [{ commandId: id, after: [after] }]);
          if (entangled !== undefined) return entangled;
          await tx.query(
            'INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor, ' +
              `after_commands, kind) VALUES ($1, gen_random_uuid(), '\\x00', '\\x00', 'main', '{}', ` +
              `jsonb_build_array($2::text), 'document')`,
            [id, after],
          );
          return undefined;
        });
      const answers = await Promise.all([take(a, b), take(b, a)]);
      expect(answers.filter((one) => one === undefined)).toHaveLength(1);
      expect(answers.find((one) => one !== undefined)).toEqual({ cycle: expect.arrayContaining([a, b]) });
    }
    const answers = await Promise.all([harness.post(command('x', 'y')), harness.post(command('y', 'x'))]);
    expect(answers.map((one) => one.status).sort()).toEqual([202, 400]);
    expect(answers.find((one) => one.status === 400)?.json()).toMatchObject({
      code: 'invalid_command',
      field: '/after',
      detail: expect.stringContaining('would wait for itself'),
    });
  });

  it('over more than a hundred others are found, and the refusal tells how many', async () => {
    await chain('long-', 300, 'last');
    const answer = await harness.post(command('last', 'long-300'));
    expect([answer.status, answer.json()]).toMatchObject([
      400,
      {
        code: 'invalid_command',
        field: '/after',
        detail: expect.stringMatching(
          /would wait for itself, over 301 commands: last after long-300 after .* after \.\.\. after .* after long-1 after last$/,
        ),
      },
    ]);
    expect((await harness.post(command('next', 'long-300'))).status).toBe(202);
  });

  it('are looked for among those that wait, not in the history: a long chain goes on for ever', async () => {
    await chain('day-', 2_000, 'first');
    await harness.db.pool.query(
      'INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor, ' +
        `after_commands, kind) VALUES ('first', gen_random_uuid(), '\\x00', '\\x00', 'main', '{}', '[]', ` +
        `'document')`,
    );
    await chain('early-', 1, 'tomorrow');
    const most = 100;
    const entangled = (one: { commandId: string; after: string[] }) =>
      inTransaction(harness.db.pool, (tx) => entangledIn(tx, [one], most));
    expect(await entangled({ commandId: 'tomorrow', after: ['day-2000'] })).toEqual([undefined]);
    // Many wait for it, and it comes after little.
    await chain('many-', 500, 'root');
    expect(await entangled({ commandId: 'root', after: ['first'] })).toEqual([undefined]);
    // Many on both sides: that cannot be told, and is refused with the length.
    expect(await entangled({ commandId: 'root', after: ['day-2000'] })).toEqual([{ tooMany: most }]);
  });

  it('cost one probe of an index for each command that nobody has named', async () => {
    const { pool } = harness.db;
    await chain('bulk-', 20_000, 'nobody');
    await pool.query('ANALYZE command');
    const client = await pool.connect();
    try {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${WALK_DEPENDENTS}`, [
        ['new-1', 'new-2'],
        10_003,
      ]);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('command_after');
      expect(plan.slice(plan.indexOf('Recursive Union'), plan.indexOf('CTE reached'))).not.toContain(
        'Seq Scan on command',
      );
    } finally {
      client.release();
    }
  });

  it('are not said to be where a command of a long chain is repeated, nor of what comes beside it', async () => {
    await chain('before-', 10_010, 'never');
    expect((await harness.post(command('middle', 'before-10010'))).status).toBe(202);
    await chain('behind-', 10_010, 'middle');
    // While the first is looked at, the others gather in one batch.
    const lines = [command('middle', 'before-10010'), command('middle', 'before-10010'), command('beside', 'before-1')];
    expect(await harness.postLines(lines)).toMatchObject([
      { command_id: 'middle', repeated: true },
      { command_id: 'middle', repeated: true },
      { command_id: 'beside', repeated: false },
    ]);
  });
});
