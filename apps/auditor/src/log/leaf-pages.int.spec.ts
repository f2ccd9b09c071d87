import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PostgresEventStore } from '#event-store';
import { inTransaction } from '#postgres';
import { leafOf } from '#proofs';
import { leavesInTiles } from '#merkle';
import { tilesIn } from '#sealed-log';
import { AuditedLog } from '../../test/audited-log.js';
import { leafPages, type PlacedLeaf } from './leaf-pages.js';
import { seal } from './seal.js';

let log: AuditedLog;
beforeEach(async () => {
  log = await AuditedLog.open();
});
afterEach(() => log.close());

const META =
  '{"actor":{"authenticatedBy":"process","kind":"system","name":"test"},"causationId":"d","correlationId":"c",' +
  '"effectiveAt":"2026-01-15T09:00:00.000Z","participant":"own","profile":"interface-v1","softwareVersion":"1"}';
/** What the version before this one made of these rows: it read data and metadata, and wrote them anew. */
const RECORDED: [
  stream: string,
  version: number,
  type: string,
  schema: number,
  data: string,
  at: string,
  leaf: string,
][] = [
  [
    ...(['document-1', 0, 'DocumentRegistered', 1] as const),
    ...(['{"account":"north","items":["a","b"],"n":1}', '2026-01-15 09:00:00.123456+00'] as const),
    'bac9aa0d0bf3b2a08c6d033fc7923c7e81bbf3ec1c343691d8c01893e5fd643d',
  ],
  [
    ...(['document-1', 1, 'DocumentSent', 2, '{}', '2026-01-15 09:00:00+00'] as const),
    '276b5be659a048e19e0d048590dbb459eb9cd94bf813ec172b6e5a57dcb7d9dc',
  ],
  [
    ...(['Аптека "1"\\2', 0, 'ThingHappened', 1] as const),
    '{"amount":0.1,"big":1e+21,"less":-7,"list":[],"none":null,"text":"\\"\\\\\\n€😀","yes":true}',
    ...(['2026-01-15 12:00:00.57+03', 'be52058d85c97859fb851baf1911123e8fc47e1d657efb8161f46273a25c104b'] as const),
  ],
  [
    ...(['group-1', 0, 'GroupOpened', 1] as const),
    `{"B":{"c":[[1,2],{"d":"ä"}]},"a":"${'x'.repeat(5_000)}"}`,
    ...(['2026-01-15 09:00:00.0099+00', '857ccda6e247d5cd15699162729d1af3ce44f6fb4cb68187f6e53dffdff0c74e'] as const),
  ],
  // Not in the form that the log writes: the leaf is of that form, as it always was.
  [
    ...(['group-1', 1, 'GroupClosed', 1, ' { "b" : 1.0, "a" : "\\u0061" } '] as const),
    ...(['2026-01-15 09:00:00.999999+00', '4a4c83b26d44f3b745d2667e8c1b066920c5758881510da1c8cf9f995d1b966e'] as const),
  ],
];

async function insertRecorded(): Promise<void> {
  for (const [n, [stream, version, type, schema, data, at]] of RECORDED.entries())
    await log.db.pool.query('INSERT INTO event VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
      ...[n + 1, stream, version, `00000000-0000-4000-8000-00000000000${n}`, type, schema],
      ...[Buffer.from(data), Buffer.from(META), at],
    ]);
  await log.db.pool.query('UPDATE event_counter SET position = $1', [RECORDED.length]);
}

/** The leaves of the first so many events, and the lengths of the pages in which they come. */
async function leavesOf(events: number, limit: number): Promise<{ leaves: PlacedLeaf[]; pages: number[] }> {
  const [leaves, pages, ended]: [PlacedLeaf[], number[], AbortController] = [[], [], new AbortController()];
  for await (const page of leafPages(log.store).subscribeAll(0n, { limit, signal: ended.signal })) {
    leaves.push(...page.events);
    pages.push(page.events.length);
    expect(page.readUpTo).toBe(page.events.at(-1)?.position);
    if (leaves.length >= events) break;
  }
  return { leaves, pages };
}

describe('the log as leaves', () => {
  it('has the leaves that the version before made of the same rows', async () => {
    await insertRecorded();
    const { leaves } = await leavesOf(RECORDED.length, 1_000);
    expect(leaves.map(({ leaf }) => leaf.toString('hex'))).toEqual(RECORDED.map((row) => row[6]));
    await log.auditor('one').seal();
    const sealed = await leavesInTiles(tilesIn(log.db.pool), 0, RECORDED.length);
    expect(sealed.toString('hex')).toBe(RECORDED.map((row) => row[6]).join(''));
  });

  it('has one leaf for each event in its order, in pages of any length', async () => {
    await log.append(
      'many',
      Array.from({ length: 900 }, (_, n) => ({ n, text: n % 7 === 0 ? `"${n}\\` : `n${n}` })),
    );
    await log.append(
      'more',
      Array.from({ length: 900 }, (_, n) => ({ n, at: [n / 2, -n, null] })),
    );
    await log.append(
      'last',
      Array.from({ length: 300 }, (_, n) => ({ n })),
    );
    const { events } = await log.store.readAll(0n, { limit: 5_000 });
    const asRead = events.map((event) => ({ position: event.position, leaf: leafOf(event) }));
    for (const [limit, pages] of [
      [700, [700, 700, 700]],
      [1_000, [1_000, 1_000, 100]],
      [1_500, [1_500, 600]],
      [2_100, [2_100]],
      [4_096, [2_100]],
    ] as const)
      expect(await leavesOf(2_100, limit)).toEqual({ leaves: asRead, pages });
  });

  it('gives what comes later, and ends with the signal', async () => {
    const ended = new AbortController();
    const pages = leafPages(log.store).subscribeAll(0n, { limit: 10, signal: ended.signal })[Symbol.asyncIterator]();
    await log.write(10);
    expect((await pages.next()).value).toMatchObject({ readUpTo: 10n });
    const next = pages.next();
    await log.append('late', [{}]);
    expect((await next).value).toMatchObject({ readUpTo: 11n, events: [{ position: 11n }] });
    const none = pages.next();
    ended.abort();
    expect(await none).toEqual({ done: true, value: undefined });
  });

  it.each(['{"n":1', 'n', '{"n":1}}', '', '{"n":01}'])(
    'has none for an event that says %j: nothing is sealed',
    async (text) => {
      await log.write(20);
      await log.db.pool.query(`UPDATE event SET data = convert_to($1, 'UTF8') WHERE position = 15`, [text]);
      await expect(log.auditor('one').seal()).rejects.toBeInstanceOf(SyntaxError);
      const { rows } = await log.db.pool.query('SELECT last_position FROM audit_page ORDER BY 1 DESC LIMIT 1');
      expect(rows).toEqual([{ last_position: 14n }]);
    },
  );

  it('is sealed into the same tree as the events themselves', async () => {
    await log.write(60);
    await log.auditor('one').seal();
    const leaves = await leavesInTiles(tilesIn(log.db.pool), 0, 60);
    await log.db.pool.query('TRUNCATE audit_tree, audit_tile, audit_page');
    const { events } = await new PostgresEventStore({ pool: log.db.pool }).readAll(0n);
    await inTransaction(log.db.pool, (tx) => seal(events, tx));
    expect((await leavesInTiles(tilesIn(log.db.pool), 0, 60)).equals(leaves)).toBe(true);
  });
});
