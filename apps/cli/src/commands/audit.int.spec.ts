import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { signCheckpoint } from '../../../auditor/src/log/checkpoints.js';
import { seal } from '../../../auditor/src/log/seal.js';
import { arrival, TestHarness } from '../../../gateway/test/test-harness.js';
import { PostgresEventStore } from '#event-store';
import { newSigningKey, noteSigner } from '#merkle';
import { migrate } from '#postgres';
import { catchUp } from '#subscriptions';
import { cliConfig } from '../config.js';
import { proveNamed } from './audit-proof.js';

let harness: TestHarness;
let requestId: string;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
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

const prove = (document: string | undefined, stream?: string): Promise<number> =>
  proveNamed(cliConfig({ DATABASE_URL: harness.db.url }), { document, stream });

describe('pedigree audit prove', () => {
  it('proves the same document by its request_id, command id and reference, from the database alone', async () => {
    const proven: string[] = [];
    for (const named of [requestId, requestId.toUpperCase(), 'one', 'Invoice 1']) {
      const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
      expect(await prove(named)).toBe(0);
      proven.push(print.mock.calls.map(([text]) => String(text)).join(''));
      jest.restoreAllMocks();
    }
    expect(new Set(proven).size).toBe(1);
    const [, stream = ''] = (proven[0] ?? '').split('\n');
    expect(JSON.parse(stream)).toMatchObject({ stream: `document-${requestId}` });
  });

  it('proves any stream by its name, and wants one thing to be named', async () => {
    const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    expect(await prove(undefined, 'configuration')).toBe(0);
    expect(JSON.parse(String(print.mock.calls[1]?.[0]))).toMatchObject({ stream: 'configuration' });
    jest.restoreAllMocks();
    await expect(prove(undefined)).rejects.toThrow('name a document, or a stream of the log by --stream, or an answer');
    await expect(prove('one', 'configuration')).rejects.toThrow('name a document, or a stream');
    await expect(prove(undefined, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
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
