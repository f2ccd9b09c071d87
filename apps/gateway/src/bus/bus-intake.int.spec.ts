import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Connection } from 'rabbitmq-client';
import { RabbitMqBus, type DeadLetterSummary } from '#bus';
import { PostgresEventStore } from '#event-store';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { deleteTopology, ownPrefix, testBroker } from '../../../../test/support/rabbitmq.js';
import { tcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy.js';
import { until } from '../../../../test/support/until.js';
import { arrival, TestHarness } from '../../test/test-harness.js';
import { deadLetterList } from '../api/answers.js';
import { MAX_COMMAND_BYTES } from '../api/body-limits.js';

const broker = await testBroker();
const url = broker?.url ?? '';
afterAll(() => broker?.stop());

const good = (id: string, over: object = {}): string => JSON.stringify({ command_id: id, xml: arrival(), ...over });
const document = (over: object): object => ({
  xml: undefined,
  document: { action_id: 799, subject_id: '00000000100101', ...over },
});

/** Each kind of bad message: its bytes, the code of its dead letter, and what its reason says. */
const BAD: [string, Buffer | string, string, RegExp][] = [
  ['not JSON', '{"command_id": "erp-1", ', 'invalid_json', /^the body is not JSON: /],
  [
    'broken UTF-8',
    Buffer.concat([Buffer.from('{"command_id":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    'invalid_json',
    /^the body is not JSON: /,
  ],
  [
    'a name twice',
    '{"command_id":"a","command_id":"b","xml":"<a/>"}',
    'invalid_json',
    /^\/command_id: stands here twice/,
  ],
  ['nothing', '', 'missing_body', /has no body/],
  ['a wrong schema', '{"command_id":17,"xml":"<a/>"}', 'invalid_command', /^\/command_id: /],
  ['an unknown field', good('bad-field', { prio: 1 }), 'invalid_command', /^\/prio: is not a field of a command/],
  ['an unknown type', good('bad-type', document({})), 'unknown_document_type', /^\/document\/action_id: /],
  ['malformed XML', good('bad-xml', { xml: '<documents version="1.38">\n<' }), 'malformed_xml', /line 2/],
  [
    'an unknown account',
    good('bad-account', { account: 'south' }),
    'unknown_account',
    /^\/account: no account is named south; known are main, north/,
  ],
  [
    'other content under a known id',
    good('first', { reference: 'changed' }),
    'command_conflict',
    /^command first was acknowledged before with other content/,
  ],
  [
    'too many bytes',
    Buffer.alloc(MAX_COMMAND_BYTES + 1, 0x20),
    'body_too_large',
    /has 8388609 bytes; over the bus at most 8388608/,
  ],
];

(broker === undefined ? describe.skip : describe)('commands over RabbitMQ', () => {
  const prefix = ownPrefix();
  let database: TestDatabase;
  let toDatabase: TcpProxy;
  let harness: TestHarness;
  let erp: RabbitMqBus;
  let store: PostgresEventStore;

  beforeAll(async () => {
    database = await testDatabase();
    const { hostname, port } = new URL(database.url);
    toDatabase = await tcpProxy({ host: hostname, port: Number(port) });
    const through = new URL(database.url);
    through.host = `127.0.0.1:${toDatabase.port}`;
    // One delivery is all that a message has: whatever is delivered twice would be seen among the dead letters.
    harness = await TestHarness.start(
      { ...database, url: through.href },
      { bus: { amqpUrl: url, prefix, deliveryLimit: 1 } },
    );
    erp = new RabbitMqBus({ url, prefix, deliveryLimit: 1 });
    store = new PostgresEventStore({ pool: database.pool });
  });
  afterAll(async () => {
    await store?.close();
    await harness?.stop();
    await toDatabase?.close();
    await erp?.close();
    await deleteTopology(url, prefix);
  });

  const publish = (...bodies: (Buffer | string)[]) =>
    erp.publishCommands(bodies.map((body) => ({ messageId: 'm', body: Buffer.from(body) })));
  const letters = (): Promise<DeadLetterSummary[]> => erp.deadLetters({ limit: 100 });
  /** Only counted: a look at the letters takes them all out for a moment, one of 8 MB among them. */
  const letterCount = async (): Promise<number | undefined> => (await erp.state()).deadLetters;
  const acknowledged = async (): Promise<string[]> =>
    (await database.pool.query<{ command_id: string }>('SELECT command_id FROM command ORDER BY 1')).rows.map(
      (row) => row.command_id,
    );
  const refused = async () => (await store.readAll(0n, { filter: { types: ['CommandRefused'] } })).events;
  const isEmpty = async (): Promise<boolean> => (await erp.state()).commandsWaiting === 0;

  it('are acknowledged when they are good, and put aside with their reason when they are bad, and the queue moves on', async () => {
    await publish(good('first'));
    await until('the first command', async () => (await acknowledged()).includes('first'));
    await publish(...BAD.flatMap(([, body], n) => [body, good(`good-${n}`)]), good('first'), good('last'));
    await until('the last command', async () => (await acknowledged()).includes('last'));
    await until('every dead letter', async () => (await letterCount()) === BAD.length);
    expect(await acknowledged()).toEqual(['first', ...BAD.map((_, n) => `good-${n}`), 'last'].sort());
    await until('an empty queue', isEmpty);
    const { items } = deadLetterList.parse((await harness.ask('/v1/operations/dead-letters')).json());
    for (const [what, body, code, reason] of BAD) {
      const found = items.filter(
        (one) => one.code === code && reason.test(one.reason) && one.body_bytes === Buffer.from(body).length,
      );
      expect([what, found.length]).toEqual([what, 1]);
      const told = (await refused()).filter(({ data }) => data['deadLetterId'] === found[0]?.id);
      expect([what, told.map(({ data }) => data['code'])]).toEqual([what, [code]]);
    }
    const named = (await refused()).map(({ data }) => data['commandId']).filter((id) => id !== undefined);
    expect(named.sort()).toEqual(['bad-account', 'bad-field', 'bad-type', 'bad-xml', 'first']);
    expect(await refused()).toHaveLength(BAD.length);
  });

  it('are kept with who published them and how he was let in', async () => {
    const { rows } = await database.pool.query<{ actor: unknown }>(`SELECT DISTINCT actor FROM command`);
    expect(rows).toEqual([{ actor: { kind: 'system', name: new URL(url).username, authenticatedBy: 'amqp user_id' } }]);
  });

  it('of a publisher without a name are kept as such, and a decision of his is put aside', async () => {
    const connection = new Connection({ url });
    connection.on('error', () => undefined);
    const publisher = connection.createPublisher({ confirm: true });
    const decision = JSON.stringify({
      command_id: 'go-on',
      type: 'resume_group',
      resume: { group: 'halted', reason: 'corrected' },
    });
    for (const body of [good('unsigned'), decision])
      await publisher.send({ routingKey: `${prefix}.commands`, durable: true }, Buffer.from(body));
    await publisher.close();
    await connection.close();
    await until('the command', async () => (await acknowledged()).includes('unsigned'));
    const { rows } = await database.pool.query<{ actor: unknown }>(
      `SELECT actor FROM command WHERE command_id = 'unsigned'`,
    );
    expect(rows).toEqual([{ actor: { kind: 'system', name: 'bus, anonymous', authenticatedBy: 'amqp' } }]);
    // By one look: the queue takes a while to show again what was looked at.
    let letter: DeadLetterSummary | undefined;
    await until('the letter', async () => {
      letter = (await letters()).find(({ code }) => code === 'unauthenticated');
      return letter !== undefined;
    });
    expect(letter?.reason).toMatch(/^\/type: resume_group is a decision/);
  });

  it('wait for a database that is down, and none is lost, doubled or blamed', async () => {
    const before = (await acknowledged()).length;
    // One was put aside above, for want of a name. A look at the letters takes them out for a moment.
    const aside = BAD.length + 1;
    await until('the letters to be back', async () => (await letterCount()) === aside);
    const ids = Array.from({ length: 600 }, (_, n) => `outage-${n}`);
    await publish(...ids.slice(0, 200).map((id) => good(id)));
    toDatabase.down();
    await publish(...ids.slice(200).map((id) => good(id)));
    await until('a message about it', () =>
      harness.logged.some((line) => String(line['msg']).startsWith('commands wait on the bus')),
    );
    toDatabase.up();
    await until('all commands', async () => (await acknowledged()).length === before + 600);
    await until('an empty queue', isEmpty);
    // By their reasons, so that a failure says whose fault the message took.
    const blamed =
      (await letterCount()) === aside ? [] : (await letters()).map(({ code, reason }) => `${code} ${reason}`);
    expect(blamed).toEqual([]);
  });

  it('go back into the queue by the API when their cause is mended', async () => {
    await publish(good('conflict'), good('conflict', { reference: 'other' }));
    const aside = BAD.length + 2;
    await until('the letter', async () => (await letterCount()) === aside);
    const letter = (await letters()).find((one) => one.reason.startsWith('command conflict '))!;
    await database.pool.query(`DELETE FROM command WHERE command_id = 'conflict'`);
    const answer = await harness.post(
      { reason: 'the earlier one was withdrawn' },
      `/v1/operations/dead-letters/${letter.id}/replays`,
    );
    expect(answer.status).toBe(204);
    await until('the command', async () => (await acknowledged()).includes('conflict'));
    expect((await letters()).some(({ id }) => id === letter.id)).toBe(false);
  });
});
