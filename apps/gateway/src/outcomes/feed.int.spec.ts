import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { PostgresEvidenceStore } from '#evidence';
import { removeOutcomes } from '#read-models';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { arrival, SGTIN, TestHarness } from '../../test/test-harness.js';

const SHA = 'a'.repeat(64);
/** The default of `maxWaiting`. */
const MOST_WAITING = 200;
const PACKS = [1, 2, 3, 4, 5].map((n) => SGTIN.replace(/1$/, String(n)));

interface Page {
  items: { sequence: string; subject: string; type: string; data: { command_id: string; items: { href: string } } }[];
  next_after: string;
}

let harness: TestHarness;

beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
});
afterAll(() => harness.stop());

const begin = { type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA } as const;
const refused = [
  begin,
  { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'refused', code: '7', text: 'no', answerSha256: SHA } },
] as const;

/** Takes commands and ends their documents, refused by the registry: the shortest life. */
async function conclude(...commandIds: string[]): Promise<void> {
  await harness.postLines(commandIds.map((command_id) => ({ command_id, xml: arrival() })));
  for (const commandId of commandIds) await harness.run(commandId, [...refused]);
}
const feed = async (query = ''): Promise<Page> => (await harness.ask(`/v1/outcomes${query}`)).json<Page>();
const problem = async (query: string) => {
  const { status, json } = await harness.ask(query);
  const { code, field } = json();
  return { status, code, field };
};

describe('the feed of outcomes', () => {
  it('gives each outcome once and in order to whoever goes on from next_after', async () => {
    expect(await feed()).toEqual({ items: [], next_after: '0'.repeat(20) });
    await conclude('f-1', 'f-2', 'f-3');
    const first = await feed('?limit=2');
    const rest = await feed(`?after=${first.next_after}`);
    expect([...first.items, ...rest.items].map((one) => one.data.command_id)).toEqual(['f-1', 'f-2', 'f-3']);
    expect(await feed(`?after=${rest.next_after}`)).toEqual({ items: [], next_after: rest.next_after });
    expect(rest.next_after).toBe(rest.items.at(-1)?.sequence);
  });

  it('answers who waits as soon as there is something, and with nothing when the time is over', async () => {
    const { next_after } = await feed();
    const empty = await feed(`?after=${next_after}&wait=1`);
    expect(empty).toEqual({ items: [], next_after });
    const waiting = feed(`?after=${next_after}&wait=30`);
    await conclude('f-4');
    expect((await waiting).items.map((one) => one.data.command_id)).toEqual(['f-4']);
  });

  it('lets go of all who wait on a connection when that breaks, also of those behind the first', async () => {
    const { next_after } = await feed();
    const { host, hostname, port } = new URL(harness.gateway.url);
    const waitMs = 30_000;
    const begunMs = performance.now();
    const connection = connect(Number(port), hostname);
    const waiting = `GET /v1/outcomes?after=${next_after}&wait=${waitMs / 1_000} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
    const twoMore = async (): Promise<number[]> => {
      const answers = [0, 1].map(() => harness.ask(`/v1/outcomes?after=${next_after}&wait=1`));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    await until('there is no room', async () => {
      connection.write(waiting.repeat(MOST_WAITING));
      return (await twoMore()).every((status) => status === 503);
    });
    connection.destroy();
    await until('there is room again', async () => (await twoMore()).every((status) => status === 200));
    // By itself each would have let go then.
    expect(performance.now() - begunMs).toBeLessThan(waitMs);
  });

  it('refuses a place that is none, that lies beyond the log, or that is kept no longer', async () => {
    expect(await problem('/v1/outcomes?after=x')).toEqual({ status: 400, code: 'invalid_parameter', field: 'after' });
    expect(await problem('/v1/outcomes?wait=31')).toEqual({ status: 400, code: 'invalid_parameter', field: 'wait' });
    expect(await problem('/v1/outcomes?after=99999999999999999999')).toEqual({
      status: 400,
      code: 'invalid_parameter',
      field: 'after',
    });
    expect(await problem('/v1/outcomes?after=999999')).toEqual({
      status: 400,
      code: 'invalid_parameter',
      field: 'after',
    });
    const { items } = await feed();
    await removeOutcomes(harness.db.pool, {
      before: new Date('2100-01-01'),
      upTo: BigInt(items[1]?.sequence ?? 0),
      limit: 100,
    });
    expect(await problem('/v1/outcomes?after=0')).toEqual({ status: 410, code: 'outcomes_removed', field: 'after' });
    expect((await feed()).items).toEqual(items.slice(2));
    expect((await feed(`?after=${String(items[1]?.sequence)}`)).items).toEqual(items.slice(2));
  });
});

/** A receipt by which the second pack was refused. */
function receiptOf(requestId: string): string {
  const errors =
    `<errors><error_code>4</error_code><error_desc>not yours</error_desc><object_id>${String(PACKS[1])}` +
    '</object_id></errors>';
  return (
    '<documents version="1.38"><result action_id="200" accept_time="2026-01-15T10:00:00+03:00">' +
    `<operation>701</operation><operation_id>${requestId}</operation_id>` +
    `<operation_result>Partial</operation_result>${errors}</result></documents>`
  );
}

describe('the items of a concluded document', () => {
  it('come page by page with their results, of one conclusion', async () => {
    await harness.post({ command_id: 'i-1', xml: arrival(PACKS.map((pack) => `<sgtin>${pack}</sgtin>`).join('')) });
    const { rows } = await harness.db.pool.query(`SELECT request_id FROM command WHERE command_id = 'i-1'`);
    const requestId = String(rows[0].request_id);
    expect(await problem(`/v1/documents/${requestId}/items`)).toMatchObject({ status: 404, code: 'not_found' });
    const receipt = receiptOf(requestId);
    const receiptSha256 = await new PostgresEvidenceStore({ pool: harness.db.pool }).put(
      Buffer.from(receipt),
      'application/xml',
    );
    await harness.run('i-1', [
      begin,
      { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'sent', documentId: 'registry-1', answerSha256: SHA } },
      { type: 'ObserveStatus', status: 'processed', answerSha256: SHA },
      {
        type: 'RecordReceipt',
        receipt: { receiptSha256, result: 'partial', acceptedAt: '2026-01-15T07:00:00Z', errorCount: 1 },
      },
    ]);
    const { href } = (await feed()).items.at(-1)?.data.items ?? { href: '' };
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const page = (await harness.ask(`${href}?limit=2${cursor}`)).json<{ items: object[]; next_cursor?: string }>();
      seen.push(...page.items);
      cursor = page.next_cursor === undefined ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(
      PACKS.map((id, n) =>
        n === 1 ? { id, result: 'refused', code: '4', text: 'not yours' } : { id, result: 'accepted' },
      ),
    );
    expect((await harness.ask(`${href}?result=refused`)).json()).toEqual({ items: [seen[1]] });
    // Of another question: in the shorter list it would pass over items.
    const { next_cursor: ofAll } = (await harness.ask(`${href}?limit=2`)).json<{ next_cursor: string }>();
    const refused = { status: 400, code: 'invalid_parameter', field: 'cursor' };
    expect(await problem(`${href}?result=refused&cursor=${ofAll}`)).toEqual(refused);
    expect(await problem(`${href}?cursor=x`)).toEqual({ status: 400, code: 'invalid_parameter', field: 'cursor' });
  });
});
