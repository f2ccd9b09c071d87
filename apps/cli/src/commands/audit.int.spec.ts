import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { parseBundle } from '../../../auditor/src/proof/bundle.js';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { signCheckpoint } from '../../../auditor/src/log/checkpoints.js';
import { seal } from '../../../auditor/src/log/seal.js';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { PostgresEventStore } from '#event-store';
import { newSigningKey, noteSigner } from '#merkle';
import { migrate } from '#postgres';
import { catchUp } from '#subscriptions';
import { cliConfig } from '../config.js';
import { proveDocument } from './audit.js';

let harness: TestHarness;
let requestId: string;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase());
  await migrate(harness.db.pool, auditorSchemas);
  for (const [commandId, reference] of [
    ['one', 'Invoice 1'],
    ['two', 'Invoice 2'],
    ['three', 'Invoice 2'],
  ] as const) {
    await harness.post({ command_id: commandId, reference, xml: arrival() });
    const made = await harness.run(commandId);
    if (commandId === 'one') requestId = made;
  }
  const store = new PostgresEventStore({ pool: harness.db.pool });
  await catchUp({ store, pool: harness.db.pool, name: 'auditor', handle: seal });
  await store.close();
  await signCheckpoint(harness.db.pool, noteSigner('pedigree.example/log', newSigningKey()));
});
afterAll(() => harness.stop());
afterEach(() => {
  jest.restoreAllMocks();
});

const prove = (named: string): Promise<number> => proveDocument(cliConfig({ DATABASE_URL: harness.db.url }), named);

describe('pedigree audit prove', () => {
  it('proves the same document by its request_id, command id and reference, from the database alone', async () => {
    const proven: string[] = [];
    for (const named of [requestId, requestId.toUpperCase(), 'one', 'Invoice 1']) {
      const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
      expect(await prove(named)).toBe(0);
      proven.push(String(print.mock.calls.at(-1)?.[0]));
      jest.restoreAllMocks();
    }
    expect(new Set(proven).size).toBe(1);
    expect(parseBundle(proven[0] ?? '').events[0]?.event).toContain(`"document-${requestId}"`);
  });

  it('asks which is meant where several have the reference, and says that nobody knows a name', async () => {
    await expect(prove('Invoice 2')).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringMatching(
        /^several documents have the reference Invoice 2; name one by its request_id:(\n {2}\S{36}){2}$/,
      ),
    });
    await expect(prove('Invoice 3')).rejects.toMatchObject({
      code: 'not_found',
      message: 'no document has the request_id, command id or reference Invoice 3',
    });
  });
});
