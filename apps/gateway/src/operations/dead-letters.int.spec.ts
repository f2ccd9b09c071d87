import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { PostgresBus } from '#bus';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { sha256Hex } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { ANSWERS, deadLetterList } from '../api/answers.js';
import { DeadLetters } from './dead-letters.js';

const LETTERS = '/v1/operations/dead-letters';

let harness: TestHarness;
let bus: PostgresBus;
let ajv: Ajv2020;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  bus = new PostgresBus({ pool: harness.db.pool });
  ajv = new Ajv2020({ strict: false, formats: { uuid: true, 'date-time': true } });
  ajv.addSchema({ $id: 'api', ...(await harness.ask('/v1/openapi.json')).json<object>() });
});
afterAll(async () => {
  await bus.close();
  await harness.stop();
});

const list = async () => deadLetterList.parse((await harness.ask(LETTERS)).json()).items;
const conform = (name: keyof typeof ANSWERS, body: unknown): void => {
  ANSWERS[name].parse(body);
  if (!ajv.validate({ $ref: `api#/components/schemas/${name}` }, body)) throw new Error(ajv.errorsText());
};

describe('commands on the embedded bus', () => {
  it('are taken like those over HTTP', async () => {
    await bus.publishCommands([{ body: Buffer.from(JSON.stringify({ command_id: 'embedded', xml: arrival() })) }]);
    await until('the command', async () => (await harness.ask('/v1/commands/embedded')).status === 200);
    const { rows } = await harness.db.pool.query<{ actor: unknown }>(
      `SELECT actor FROM command WHERE command_id = 'embedded'`,
    );
    expect(rows).toEqual([
      { actor: { kind: 'system', name: new URL(harness.db.url).username, authenticatedBy: 'database' } },
    ]);
  });
});

describe('dead letters', () => {
  it('are listed without and read with their bodies, as the description of the API says', async () => {
    await bus.publishCommands([
      { messageId: 'text', body: Buffer.from('{"command_id":'), headers: { 'erp-batch': '7' } },
      { body: Buffer.from([0xff, 0xfe]) },
    ]);
    await until('two letters', async () => (await list()).length === 2);
    conform('DeadLetterList', (await harness.ask(LETTERS)).json());
    expect((await harness.ask(`${LETTERS}?limit=1`)).json()).toMatchObject({ items: [{ code: 'invalid_json' }] });
    for (const { id, message_id } of await list()) {
      const letter = (await harness.ask(`${LETTERS}/${id}`)).json();
      conform('DeadLetter', letter);
      expect(letter).toMatchObject(
        message_id === 'text'
          ? { body: '{"command_id":', headers: { 'erp-batch': '7' }, body_bytes: 14, deliveries: 1 }
          : { body_base64: '//4=', body_bytes: 2 },
      );
    }
  });

  it('are not replayed without a reason, nor under a wrong name', async () => {
    const [letter] = await list();
    expect((await harness.post({}, `${LETTERS}/${letter?.id}/replays`)).json()).toMatchObject({
      status: 400,
      field: '/reason',
    });
    expect((await harness.post({ reason: ' ' }, `${LETTERS}/${letter?.id}/replays`)).status).toBe(400);
    expect((await harness.post({ reason: 'mended', force: true }, `${LETTERS}/${letter?.id}/replays`)).status).toBe(
      400,
    );
    expect((await harness.post({ reason: 'mended' }, `${LETTERS}/nothing/replays`)).status).toBe(404);
    expect((await harness.ask(`${LETTERS}/nothing`)).status).toBe(404);
    expect((await harness.ask(`${LETTERS}?limit=0`)).json()).toMatchObject({
      code: 'invalid_parameter',
      field: 'limit',
    });
    expect(await list()).toHaveLength(2);
  });

  it('go back into the queue, and the log says first who asked and why', async () => {
    // Two that were put aside at once may be listed either way round.
    const letter = (await list()).find((one) => one.message_id === 'text');
    expect((await harness.post({ reason: 'the ERP was mended' }, `${LETTERS}/${letter?.id}/replays`)).status).toBe(204);
    // What is wrong with it is still wrong: it is put aside anew, as another letter.
    await until('the new letter', async () => (await list()).length === 2);
    expect((await list()).map(({ id }) => id)).not.toContain(letter?.id);
    const store = new PostgresEventStore({ pool: harness.db.pool });
    const events = await store.readStream('operations');
    await store.close();
    const data = {
      id: letter?.id,
      messageId: 'text',
      code: 'invalid_json',
      bodyBytes: 14,
      reason: 'the ERP was mended',
    };
    expect(events).toMatchObject([
      { type: 'DeadLetterReplayed', data, metadata: { actor: { name: 'local' }, reason: 'the ERP was mended' } },
    ]);
    expect(JSON.stringify(events[0]?.data)).not.toContain('command_id');
  });

  it('are discarded for a reason: then they count no more, and the log, and the list on request, have all of them', async () => {
    const doomed = (await list())[0];
    const path = `${LETTERS}/${doomed?.id}`;
    const shown = (await harness.ask(path)).json();
    expect((await harness.post({}, `${path}/discards`)).json()).toMatchObject({ status: 400, field: '/reason' });
    expect((await harness.post({ reason: 'nobody knows' }, `${LETTERS}/nothing/discards`)).status).toBe(404);
    const before = (await bus.state()).deadLetters as number;
    expect((await harness.post({ reason: 'a test of the ERP' }, `${path}/discards`)).status).toBe(204);
    expect([(await bus.state()).deadLetters, (await list()).some(({ id }) => id === doomed?.id)]).toEqual([
      before - 1,
      false,
    ]);
    const asked = (await harness.ask(`${LETTERS}?discarded=true`)).json();
    conform('DeadLetterList', asked);
    const discarded = { at: expect.any(String), by: 'local', reason: 'a test of the ERP' };
    expect(asked['items']).toEqual([{ ...doomed, discarded }]);
    const kept = (await harness.ask(path)).json();
    conform('DeadLetter', kept);
    expect(kept).toEqual({ ...shown, discarded });
    expect((await harness.post({ reason: 'once more' }, `${path}/discards`)).status).toBe(404);
    expect((await harness.post({ reason: 'once more' }, `${path}/replays`)).status).toBe(404);
    const store = new PostgresEventStore({ pool: harness.db.pool });
    const events = await store.readStream('discarded-letters');
    await store.close();
    expect(events).toMatchObject([
      {
        type: 'DeadLetterDiscarded',
        data: { id: doomed?.id, reason: 'a test of the ERP' },
        metadata: { actor: { name: 'local' }, reason: 'a test of the ERP' },
      },
    ]);
  });

  it('are in the log before they are gone: a discard that is broken off is done again, and shown once', async () => {
    await bus.publishCommands([{ messageId: 'broken-off', body: Buffer.from('[') }]);
    await until('the letter', async () => (await list()).some((one) => one.message_id === 'broken-off'));
    const id = (await list()).find((one) => one.message_id === 'broken-off')?.id as string;
    const store = new PostgresEventStore({ pool: harness.db.pool });
    const evidence = new PostgresEvidenceStore({ pool: harness.db.pool });
    const dies = {
      deadLetters: bus.deadLetters.bind(bus),
      deadLetter: bus.deadLetter.bind(bus),
      replay: bus.replay.bind(bus),
      discard: async () => Promise.reject(new Error('killed')),
    };
    const says = { participant: 'own', softwareVersion: '0', profile: 'interface-v1' };
    await expect(
      new DeadLetters({ bus: dies, store, evidence, ...says }).discard(id, 'first try', {
        kind: 'person',
        name: 'a',
        authenticatedBy: 'test',
      }),
    ).rejects.toThrow('killed');
    const reasons = async () =>
      deadLetterList
        .parse((await harness.ask(`${LETTERS}?discarded=true`)).json())
        .items.filter((one) => one.id === id)
        .map(({ discarded }) => discarded?.reason);
    expect([(await list()).some((one) => one.id === id), await reasons()]).toEqual([true, ['first try']]);
    expect((await harness.post({ reason: 'second try' }, `${LETTERS}/${id}/discards`)).status).toBe(204);
    expect(await reasons()).toEqual(['second try']);
    await store.close();
  });

  it('are discarded, and are evidence that can be opened, whatever their publisher calls them', async () => {
    for (const [n, contentType] of ['документ/json', 'a\r\nset-cookie: b', '', 'x'.repeat(300)].entries()) {
      const body = Buffer.from(`[${n}`);
      await bus.publishCommands([{ messageId: `type-${n}`, contentType, body }]);
      await until('the letter', async () => (await list()).some((one) => one.message_id === `type-${n}`));
      const { id } = (await list()).find((one) => one.message_id === `type-${n}`) as { id: string };
      expect((await harness.post({ reason: 'a test' }, `${LETTERS}/${id}/discards`)).status).toBe(204);
      const opened = await harness.ask(`/v1/evidence/${sha256Hex(body)}`);
      expect([opened.status, opened.text, opened.headers.get('set-cookie')]).toEqual([200, `[${n}`, null]);
    }
  });
});
