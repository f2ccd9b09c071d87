import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { testDatabase } from '../../../../test/support/database.js';
import { lockIsAwaited } from '../../../../test/support/lock-is-awaited.js';
import { until } from '../../../../test/support/until.js';
import { SGTIN, TestHarness } from '../../test/test-harness.js';
import { FILE_TYPES } from './file-types.js';

let harness: TestHarness;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

const exportsRecorded = async (): Promise<number> => {
  const { rows } = await harness.db.pool.query<{ n: bigint }>(
    `SELECT count(*) AS n FROM event WHERE type LIKE 'Export%'`,
  );
  return Number(rows[0]?.n);
};

/** The gateway's end of the next request to a path. */
function nextAnswer(path: string): Promise<ServerResponse> {
  return new Promise((resolve) => {
    const seen = (message: unknown): void => {
      const { request: asked, response } = message as { request: { url: string }; response: ServerResponse };
      if (asked.url !== path) return;
      unsubscribe('http.server.request.start', seen);
      resolve(response);
    };
    subscribe('http.server.request.start', seen);
  });
}

describe('a caller that leaves before its file begins', () => {
  it('is no fault of ours, and no error is logged', async () => {
    const path = '/v1/packs/checks';
    const lock = await harness.db.pool.connect();
    try {
      await lock.query('BEGIN');
      await lock.query('LOCK TABLE pack_state IN ACCESS EXCLUSIVE MODE');
      const answer = nextAnswer(path);
      const caller = request(`${harness.gateway.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: FILE_TYPES.csv },
      });
      caller
        .on('error', () => undefined)
        .end(JSON.stringify({ purpose: 'ship', place: '00000000100101', codes: [SGTIN] }));
      const response = await answer;
      await until('the check waits for its table', () => lockIsAwaited(lock, 'pack_state'));
      caller.destroy();
      if (!response.closed) await once(response, 'close');
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
    await until('the file is made', async () => (await exportsRecorded()) > 0);
    expect((await harness.ask('/health/ready')).status).toBe(200);
    expect(harness.logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});
