import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { typeKnowledge } from '#documents';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, documentIdOf, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import type { HistoryQuery } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { readContent } from './content.js';
import { NOW } from './life-rows.js';
import { sgtinHistoryProjection } from './projection.js';
import { historyOf } from './query.js';

let db: TestDatabase;
let log: LogOfTest;

beforeAll(async () => {
  db = await testDatabase(readModelSchemas);
});
afterAll(() => db.drop());
beforeEach(async () => {
  log = new LogOfTest();
  await inTransaction(db.pool, (tx) => projection().truncate(tx));
});

const projection = () => sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
const matching = () => log.events.filter((event) => projection().filter.types?.includes(event.type));
const projectAll = () => inTransaction(db.pool, (tx) => projection().project(matching(), tx));
const history = (sgtin: string, query: HistoryQuery = {}) =>
  historyOf(db.pool, sgtin, {
    ...query,
    types: { ...typeKnowledge, titleOf: (docType) => `type ${docType}` },
  });
const contentOf = async (container: string) =>
  (await readContent(db.pool, container, { known: NOW, types: typeKnowledge })).stays.map(({ item }) => item);
/** A movement in a word: `701`, through a container `415@<container>`. */
const trail = async (sgtin: string, query: HistoryQuery = {}) =>
  (await history(sgtin, query))?.movements.map(
    (one) =>
      `${one.docType}${one.through === undefined ? '' : `@${one.item}`}` +
      (one.result === 'applied' ? '' : ` ${one.result}`),
  );

describe('history of one pack', () => {
  it('tells its own movements in the order of acceptance, with place, status, ids and evidence', async () => {
    log.document({ docType: 701, items: [pack(1), pack(2)] });
    const sold = log.document({ docType: 511, items: [pack(1)], acceptedAt: '2026-03-02T09:00:00.000Z' });
    await projectAll();

    const told = await history(pack(1));
    expect(told).toMatchObject({
      gtin: '04607001770001',
      serial: 'AAAAAAAAAAAA1',
      status: 'in_sale',
      place: '00000000000464',
    });
    expect(told?.movements.map((one) => one.docType)).toEqual([701, 511]);
    const event = log.events[Number(sold) - 1];
    expect(told?.movements[1]).toEqual({
      item: pack(1),
      docType: 511,
      title: 'type 511',
      requestId: event?.stream.slice('document-'.length),
      documentId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      result: 'applied',
      status: 'in_sale',
      subjectId: '00000000000464',
      operationDate: '2026-02-28T10:00:00+03:00',
      acceptedAt: '2026-03-02T09:00:00.000Z',
      knownAt: String(sold),
      documentSha256: event?.data['documentSha256'],
      receiptSha256: event?.data['receiptSha256'],
    });
  });

  it('is kept although a document claims a moment that PostgreSQL cannot store: the text stays as it was written', async () => {
    const claimed = [
      '0001-01-01T00:00:00+03:00',
      '-0044-03-15T12:00:00Z',
      '12026-01-01T00:00:00Z',
      '9999-12-31T23:00:00-05:00',
      '2026-02-30T25:00:00Z',
      '2026-03-01T10:00:00',
    ];
    for (const operationDate of claimed) log.document({ docType: 701, items: [pack(1)], operationDate });
    log.document({ docType: 511, items: [pack(1)] });
    await projectAll();
    expect((await history(pack(1)))?.movements.map((one) => one.operationDate)).toEqual([
      ...claimed,
      '2026-02-28T10:00:00+03:00',
    ]);
    const { rows } = await db.pool.query('SELECT operation_at FROM movement_document ORDER BY known_from');
    expect(rows.map((row) => row.operation_at)).toEqual([...claimed.map(() => null), new Date('2026-02-28T07:00:00Z')]);
  });

  it('is undefined for a pack that no document named, and refuses what is no SGTIN', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    await projectAll();
    expect(await history(pack(9))).toBeUndefined();
    await expect(history('0460')).rejects.toMatchObject({ code: 'invalid_identifier', place: { item: '0460' } });
  });

  it('keeps attempts that the registry refused, and changes neither status nor container by them', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    log.document({ docType: 911, items: [pack(1)], into: box(1) });
    log.document({
      docType: 511,
      items: [pack(1)],
      outcome: 'rejected',
      errors: [{ code: '4', text: 'not the owner', objectId: pack(1) }],
    });
    log.document({ docType: 552, items: [pack(1)], outcome: 'failed' });
    await projectAll();

    const told = await history(pack(1));
    expect(await trail(pack(1))).toEqual(['701', '911', '511 refused', '552 refused']);
    expect(told?.movements[2]).toMatchObject({ errorCode: '4', errorText: 'not the owner' });
    expect(told?.movements[3]).toMatchObject({ errorCode: 'registry_failed' });
    expect(told?.movements[3]).not.toHaveProperty('acceptedAt');
    expect(told).toMatchObject({ status: 'in_circulation', container: box(1) });
  });

  it('applies a partial receipt to exactly the items that it does not name', async () => {
    const errors = [2, 4].map((n) => ({ code: '2', text: 'unknown pack', objectId: pack(n) }));
    log.document({
      docType: 415,
      items: [1, 2, 3, 4].map(pack),
      outcome: 'partial',
      errors,
      counterpartyId: '00000000000999',
    });
    await projectAll();
    expect(await Promise.all([1, 2, 3, 4].map((n) => trail(pack(n))))).toEqual([
      ['415'],
      ['415 refused'],
      ['415'],
      ['415 refused'],
    ]);
    expect((await history(pack(3)))?.place).toBe('00000000000999');
    expect(await history(pack(4))).not.toHaveProperty('place');
  });

  it('keeps an item that one document names twice as two movements', async () => {
    log.document({ docType: 511, items: [pack(1), pack(1)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['511', '511']);
  });

  it('survives every character that a foreign document can carry in its texts', async () => {
    const text = 'tab\t, line\nend\r, back\\slash \\N, quote " and { brace }';
    log.document({
      docType: 511,
      items: [pack(1)],
      outcome: 'rejected',
      errors: [{ code: '4', text, objectId: pack(1) }],
    });
    await projectAll();
    expect((await history(pack(1)))?.movements[0]?.errorText).toBe(text);
  });
});

describe('the state of a pack', () => {
  it('stays suspended, whatever moves it, until it leaves circulation', async () => {
    log.document({ docType: 701, items: [pack(1), pack(2)] });
    log.document({ docType: 417, items: [pack(1)] });
    log.document({ docType: 701, items: [pack(1)] });
    const moved = log.document({ docType: 431, items: [pack(1)] });
    log.document({ docType: 552, items: [pack(1)] });
    await projectAll();
    // A move within the company tells no status.
    expect((await history(pack(1)))?.movements.map(({ status }) => status)).toEqual([
      ...['in_circulation', 'confirm_return_paused', 'paused_circulation', undefined, 'out_of_circulation'],
    ]);
    expect((await history(pack(1), { knownAt: moved }))?.status).toBe('paused_circulation');
    expect((await history(pack(2)))?.status).toBe('in_circulation');
  });
});

describe('a document that moves all that a place holds', () => {
  const [here, there, far] = ['00000000000464', '00000000000777', '00000000000888'] as const;

  it('moves what was there then, in containers too, and nothing that came later or had gone', async () => {
    log.document({ docType: 701, items: [pack(4)] });
    log.document({ docType: 431, items: [pack(4)], counterpartyId: far });
    log.document({ docType: 701, items: [pack(1), pack(2)] });
    log.document({ docType: 911, items: [pack(2)], into: box(1) });
    log.document({ docType: 432, items: [here], counterpartyId: there });
    log.document({ docType: 701, items: [pack(3)] });
    log.document({ docType: 432, items: [there], counterpartyId: far });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', `432@${here}`, `432@${there}`]);
    expect(await history(pack(1))).toMatchObject({ place: far, status: 'in_circulation' });
    expect((await history(pack(1)))?.movements[1]).toMatchObject({ through: 'place', item: here });
    expect(await trail(pack(2))).toEqual(['701', '911', `432@${here}`, `432@${there}`]);
    expect(await history(pack(2))).toMatchObject({ place: far, container: box(1) });
    expect(await trail(pack(3))).toEqual(['701']);
    expect(await trail(pack(4))).toEqual(['701', '431']);
  });

  it('is found in movements that are older than the table of such moves', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    log.document({ docType: 432, items: [here], counterpartyId: there });
    await projectAll();
    const lines = async () => (await db.pool.query('SELECT * FROM place_move')).rows;
    const before = await lines();
    await db.pool.query('TRUNCATE place_move');
    const migration = new URL('./migrations/0043-place-move-filled.sql', import.meta.url);
    await db.pool.query(await readFile(migration, 'utf8'));
    expect(await lines()).toEqual(before);
    expect(await trail(pack(1))).toEqual(['701', `432@${here}`]);
  });

  it('moves nothing when it is rejected', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    log.document({ docType: 432, items: [here], counterpartyId: there, outcome: 'rejected' });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701']);
    expect((await history(pack(1)))?.place).toBe(here);
  });
});

describe('containers', () => {
  it('adds what happened to the container while it held the pack, and nothing before or after', async () => {
    log.document({ docType: 431, items: [box(1)] });
    log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    log.document({ docType: 415, items: [box(1)], counterpartyId: '00000000000999' });
    log.document({ docType: 912, items: [box(1)] });
    log.document({ docType: 431, items: [box(1)] });
    log.document({ docType: 511, items: [pack(1)] });
    await projectAll();

    expect(await trail(pack(1))).toEqual(['911', `415@${box(1)}`, `912@${box(1)}`, '511']);
    expect(await trail(pack(2))).toEqual(['911', `415@${box(1)}`, `912@${box(1)}`]);
    expect(await history(pack(2))).toMatchObject({ status: 'in_realization', place: '00000000000999' });
    expect(await history(pack(2))).not.toHaveProperty('container');
  });

  it('lets one pack leave singly and keeps the others in', async () => {
    log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    log.document({ docType: 552, items: [pack(1)] });
    log.document({ docType: 415, items: [box(1)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', '552']);
    expect(await trail(pack(2))).toEqual(['911', `415@${box(1)}`]);
    expect(await contentOf(box(1))).toEqual([pack(2)]);
  });

  it('follows containers within containers, each only while it was in', async () => {
    log.document({ docType: 911, items: [pack(1)], into: box(1) });
    log.document({ docType: 431, items: [box(2)] });
    log.document({ docType: 911, items: [box(1)], into: box(2) });
    log.document({ docType: 415, items: [box(2)] });
    log.document({ docType: 912, items: [box(2)] });
    log.document({ docType: 431, items: [box(2)] });
    log.document({ docType: 431, items: [box(1)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `911@${box(1)}`, `415@${box(2)}`, `912@${box(2)}`, `431@${box(1)}`]);
    expect((await history(pack(1)))?.container).toBe(box(1));
  });

  it('moves a pack from one container into another', async () => {
    log.document({ docType: 911, items: [pack(1)], into: box(1) });
    log.document({ docType: 911, items: [pack(1)], into: box(2) });
    log.document({ docType: 431, items: [box(1), box(2)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', '911', `431@${box(2)}`]);
    expect((await history(pack(1)))?.container).toBe(box(2));
  });

  it.each([
    [true as const, [], undefined],
    [undefined, [`431@${box(1)}`], box(1)],
  ])(
    'opening the outermost opens what nests in it only when the document says so: %s',
    async (recursive, then, container) => {
      log.document({ docType: 911, items: [pack(1)], into: box(1) });
      log.document({ docType: 911, items: [box(1)], into: box(2) });
      log.document({ docType: 911, items: [box(2)], into: box(3) });
      log.document({ docType: 912, items: [box(3)], ...(recursive === undefined ? {} : { recursive }) });
      log.document({ docType: 431, items: [box(1)] });
      await projectAll();
      expect(await trail(pack(1))).toEqual(['911', `911@${box(1)}`, `911@${box(2)}`, `912@${box(3)}`, ...then]);
      expect((await history(pack(1)))?.container).toBe(container);
    },
  );

  it('ends even when wrong documents nest containers in a ring', async () => {
    log.document({ docType: 911, items: [pack(1), box(2)], into: box(1) });
    log.document({ docType: 911, items: [box(1)], into: box(2) });
    log.document({ docType: 431, items: [box(2)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `911@${box(1)}`, `431@${box(2)}`]);
  });
});

describe('containers that are used again and again', () => {
  /** The old way asked for the containers of each stay again: seconds for 40 packings, half a minute for a ring. */
  const MOST_MS = 1_000;
  const timed = async <T>(work: () => Promise<T>): Promise<T> => {
    const begunMs = performance.now();
    const result = await work();
    expect(performance.now() - begunMs).toBeLessThan(MOST_MS);
    return result;
  };

  it('tells the life of a pack that was packed 40 times into one container, and that into another', async () => {
    for (let n = 0; n < 40; n += 1) {
      log.document({ docType: 911, items: [pack(1)], into: box(1) });
      log.document({ docType: 911, items: [box(1)], into: box(2) });
      log.document({ docType: 415, items: [box(2)] });
      log.document({ docType: 912, items: [box(2)], recursive: true });
    }
    log.document({ docType: 911, items: [pack(2)], into: box(1) });
    await projectAll();
    const once = ['911', `911@${box(1)}`, `415@${box(2)}`, `912@${box(2)}`];
    expect(await timed(() => trail(pack(1)))).toEqual(Array.from({ length: 40 }, () => once).flat());
    expect(await timed(() => contentOf(box(1)))).toEqual([pack(2)]);
    expect(await timed(() => contentOf(box(2)))).toEqual([]);
  });

  it('ends at once where wrong documents nest containers in rings again and again', async () => {
    for (let n = 0; n < 6; n += 1) {
      log.document({ docType: 911, items: [pack(1), box(2)], into: box(1) });
      log.document({ docType: 911, items: [box(1), box(3)], into: box(2) });
      log.document({ docType: 911, items: [box(2)], into: box(3) });
      log.document({ docType: 431, items: [box(2)] });
    }
    await projectAll();
    expect((await timed(() => trail(pack(1))))?.filter((one) => one === '911')).toHaveLength(6);
    expect(await timed(() => contentOf(box(3)))).toEqual([]);
    expect(await timed(() => contentOf(box(2)))).toEqual([box(1), pack(1), box(3)]);
  });
});

describe('recalls and dates', () => {
  it('a recall that names no pack makes the operation as if it had not been, as of and as known too', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
    const requestId = log.send(moved);
    const known = log.conclude(requestId, moved);
    log.document({ docType: 250, items: [], fields: { operation_id: requestId } });
    await projectAll();
    expect((await history(pack(1), { knownAt: known }))?.place).toBe('00000000000999');
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    expect(await trail(pack(1))).toEqual(['701', '431', '250']);
    // By the registry's own id of the document as well.
    const documentId = (await history(pack(1)))?.movements[1]?.documentId;
    await db.pool.query('UPDATE movement_document SET recalls = $1 WHERE recalls IS NOT NULL', [documentId]);
    expect((await history(pack(1)))?.place).toBe('00000000000464');
  });

  it.each([
    ['request_id', (requestId: string) => requestId],
    ["registry's id", documentIdOf],
  ])('of a move takes back what the receiving place was told of it, too, by its %s', async (_, named) => {
    log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
    const requestId = log.send(moved);
    const documentSha256 = log.events[Number(log.conclude(requestId, moved)) - 1]?.data['documentSha256'] as string;
    const told = log.addInbound('told', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'told', requestId, direction: 'incoming', channel: 'counterparty', docType: 629 },
        ...{ outcome: 'accepted', isReadable: true, documentSha256 },
      },
    });
    log.document({ docType: 250, items: [], fields: { operation_id: named(requestId) } });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', '431', '629', '250']);
    expect((await history(pack(1), { knownAt: told }))?.place).toBe('00000000000999');
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    const { rows } = await db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
    expect(rows).toEqual([{ place: '00000000000464' }]);
  });

  it.each(['r-1', 'd-1'])('of a move made past this system takes back what its receiver was told (%s)', async (id) => {
    log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
    const { documentSha256 } = log.registration(moved);
    const both = { requestId: 'r-1', outcome: 'accepted', isReadable: true, documentSha256 } as const;
    for (const data of [
      { ...both, documentId: 'd-1', direction: 'outgoing', channel: 'cabinet', docType: 431 },
      { ...both, documentId: 'd-2', direction: 'incoming', channel: 'counterparty', docType: 629 },
    ])
      log.addInbound(data.documentId, { type: 'InboundConcluded', data } as never);
    log.document({ docType: 250, items: [], fields: { operation_id: id } });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', '431', '629', '250']);
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    const { rows } = await db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
    expect(rows).toEqual([{ place: '00000000000464' }]);
  });

  it('of a move past this system whose bytes nobody has leaves what its receiver was told, in all answers', async () => {
    const there = '00000000000999';
    log.document({ docType: 701, items: [pack(1)] });
    const { documentSha256 } = log.registration({ docType: 431, items: [pack(1)], counterpartyId: there });
    for (const data of [
      { documentId: 'd-1', direction: 'outgoing', channel: 'cabinet', isReadable: false },
      { documentId: 'd-2', direction: 'incoming', channel: 'counterparty', isReadable: true, documentSha256 },
    ])
      log.addInbound(data.documentId, {
        type: 'InboundConcluded',
        data: { ...data, requestId: 'r-1', outcome: 'accepted', docType: 629 },
      } as never);
    log.document({ docType: 250, items: [], fields: { operation_id: 'd-1' } });
    await projectAll();
    expect((await history(pack(1)))?.place).toBe(there);
    expect((await db.pool.query("SELECT place FROM pack_state WHERE item LIKE '0%'")).rows).toEqual([{ place: there }]);
    expect((await db.pool.query("SELECT FROM sent_document WHERE request_id = 'r-1'")).rowCount).toBe(0);
  });

  it('counts after what it recalls, also where only a list told of that within the same second', async () => {
    const [moment, there] = ['2026-03-01T12:00:00', '00000000000999'];
    log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: there, acceptedAt: `${moment}.1Z` };
    const requestId = log.send(moved);
    const documentSha256 = log.events[Number(log.conclude(requestId, moved)) - 1]?.data['documentSha256'] as string;
    log.document({ docType: 250, items: [], fields: { operation_id: requestId }, acceptedAt: `${moment}.4Z` });
    log.addInbound('told', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'told', requestId, direction: 'incoming', channel: 'counterparty', docType: 629 },
        ...{ outcome: 'accepted', isReadable: true, documentSha256, acceptedAt: `${moment}Z` },
      },
    });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', '431', '629', '250']);
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    const { rows } = await db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
    expect(rows).toEqual([{ place: '00000000000464' }]);
  });

  it('a moment stands for the last movement that was recorded by then', async () => {
    const first = log.document({ docType: 701, items: [pack(1)] });
    const second = log.document({ docType: 511, items: [pack(1)] });
    await projectAll();
    const recordedAt = (position: bigint) => log.events[Number(position) - 1]?.recordedAt as Date;
    const just = (moment: Date, ms: number) => new Date(moment.getTime() + ms);
    expect(await trail(pack(1), { knownAt: recordedAt(second) })).toEqual(['701', '511']);
    expect(await trail(pack(1), { knownAt: just(recordedAt(second), -1) })).toEqual(['701']);
    expect(await history(pack(1), { knownAt: just(recordedAt(first), -1) })).toBeUndefined();
    await db.pool.query('UPDATE movement_document SET recorded_at = NULL WHERE known_from = $1', [first]);
    await expect(history(pack(1), { knownAt: recordedAt(second) })).rejects.toMatchObject({
      code: 'invalid_parameter',
      place: { field: 'known_at' },
    });
  });
});

describe('three times (principles 2.7)', () => {
  it('before and after a late document, as of and as known at give what was and what was known', async () => {
    log.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt: '2026-03-01T10:00:00Z' });
    const shipped = log.document({ docType: 415, items: [box(1)], acceptedAt: '2026-03-01T14:00:00Z' });
    const late = log.document({ docType: 912, items: [box(1)], acceptedAt: '2026-03-01T12:00:00Z' });
    await projectAll();

    // We believed that the pack was shipped in its box, until we learnt that the box had been opened before.
    expect(await trail(pack(1), { knownAt: shipped })).toEqual(['911', `415@${box(1)}`]);
    expect((await history(pack(1), { knownAt: shipped }))?.container).toBe(box(1));
    expect(await trail(pack(1), { knownAt: late })).toEqual(['911', `912@${box(1)}`]);
    expect(await history(pack(1))).not.toHaveProperty('container');
    // As of a moment before the opening it was in the box, whatever we learnt later.
    const asOf = new Date('2026-03-01T11:00:00Z');
    expect(await trail(pack(1), { asOf })).toEqual(['911']);
    expect((await history(pack(1), { asOf }))?.container).toBe(box(1));
    // As of a moment after the opening, as known before we learnt of it.
    expect((await history(pack(1), { asOf: new Date('2026-03-01T13:00:00Z'), knownAt: shipped }))?.container).toBe(
      box(1),
    );
    expect(await history(pack(1), { asOf: new Date('2026-03-01T13:00:00Z') })).not.toHaveProperty('container');
  });

  it('as of the very moment of an acceptance counts it, as that moment is shown', async () => {
    // A receipt may tell more digits than are shown, and a list tells whole seconds alone.
    log.document({ docType: 701, items: [pack(1)], acceptedAt: '2026-03-01T10:00:00.1234567Z' });
    const facts = {
      docType: 415,
      items: [pack(1)],
      acceptedAt: '2026-03-01T11:00:00Z',
      counterpartyId: '00000000000999',
    };
    const told = log.send(facts);
    const documentSha256 = log.events[Number(log.conclude(told, facts)) - 1]?.data['documentSha256'] as string;
    log.addInbound('list', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'list', direction: 'incoming', channel: 'counterparty', outcome: 'accepted', docType: 601 },
        ...{ isReadable: true, documentSha256, acceptedAt: '2026-03-01T12:00:00Z' },
      },
    });
    await projectAll();
    const moments = (await history(pack(1)))?.movements.map(({ acceptedAt }) => new Date(acceptedAt as string)) ?? [];
    expect(moments.map((one) => one.toISOString().slice(11, 23))).toEqual([
      '10:00:00.123',
      '11:00:00.000',
      '12:00:00.000',
    ]);
    for (const [n, asOf] of moments.entries()) {
      expect(await trail(pack(1), { asOf })).toEqual(['701', '415', '601'].slice(0, n + 1));
      const secondBefore = new Date(Math.floor(asOf.getTime() / 1_000) * 1_000 - 1);
      expect(await trail(pack(1), { asOf: secondBefore })).toEqual(['701', '415', '601'].slice(0, n));
    }
  });

  it('as of a moment within a second never counts an acceptance of a list without the shipment that it answers', async () => {
    const of = { items: [pack(1)], counterpartyId: '00000000000999' };
    log.document({ docType: 415, ...of, acceptedAt: '2026-03-01T11:00:00.4Z' });
    const { documentSha256 } = log.registration({ docType: 607, ...of });
    log.addInbound('list', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'list', direction: 'incoming', channel: 'counterparty', outcome: 'accepted', docType: 607 },
        ...{ isReadable: true, documentSha256, acceptedAt: '2026-03-01T11:00:00Z' },
      },
    });
    await projectAll();
    for (const ms of [0, 200, 400, 999])
      expect(await trail(pack(1), { asOf: new Date(Date.UTC(2026, 2, 1, 11, 0, 0, ms)) })).toEqual(['415', '607']);
    const before = { asOf: new Date('2026-03-01T10:59:59.999Z') };
    expect((await history(pack(1), before))?.movements ?? []).toEqual([]);
  });

  it('a late packing ends at the leaving that was known already', async () => {
    log.document({ docType: 552, items: [pack(1)], acceptedAt: '2026-03-01T12:00:00Z' });
    log.document({ docType: 415, items: [box(1)], acceptedAt: '2026-03-01T13:00:00Z' });
    log.document({ docType: 431, items: [box(1)], acceptedAt: '2026-03-01T11:00:00Z' });
    log.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt: '2026-03-01T10:00:00Z' });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `431@${box(1)}`, '552']);
    expect(await history(pack(1))).not.toHaveProperty('container');
  });

  it('a revised conclusion adds rows and closes the known interval of the old ones', async () => {
    log.document({ docType: 701, items: [pack(1)], acceptedAt: '2026-03-01T08:00:00Z' });
    const shipping = { docType: 415, items: [pack(1)], acceptedAt: '2026-03-01T10:00:00Z' };
    const requestId = log.send(shipping);
    const failed = log.conclude(requestId, { ...shipping, outcome: 'failed' });
    const revised = log.conclude(requestId, shipping, 'failed');
    await projectAll();

    expect(await trail(pack(1), { knownAt: failed })).toEqual(['701', '415 refused']);
    expect((await history(pack(1), { knownAt: failed }))?.status).toBe('in_circulation');
    expect(await trail(pack(1))).toEqual(['701', '415']);
    expect((await history(pack(1)))?.status).toBe('in_realization');
    const { rows } = await db.pool.query(
      'SELECT known_from, known_to, outcome FROM movement_document WHERE request_id = $1 ORDER BY known_from',
      [requestId],
    );
    expect(rows).toEqual([
      { known_from: failed, known_to: revised, outcome: 'failed' },
      { known_from: revised, known_to: null, outcome: 'accepted' },
    ]);
    expect(
      (await db.pool.query('SELECT known_from FROM item_movement WHERE item = $1 ORDER BY 1', [pack(1)])).rows,
    ).toHaveLength(3);
  });

  it('orders documents of one moment by the log', async () => {
    const acceptedAt = '2026-03-01T10:00:00Z';
    log.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt });
    log.document({ docType: 415, items: [box(1)], acceptedAt });
    log.document({ docType: 912, items: [box(1)], acceptedAt });
    log.document({ docType: 431, items: [box(1)], acceptedAt });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `415@${box(1)}`, `912@${box(1)}`]);
  });
});

describe('what a history costs', () => {
  it('is one statement, where nothing was recalled and no whole place was moved', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    log.document({ docType: 911, items: [pack(1)], into: box(1) });
    log.document({ docType: 415, items: [box(1)], counterpartyId: '00000000000777' });
    await projectAll();
    let statements = 0;
    const query = ((...given: [string]) => ((statements += 1), db.pool.query(...given))) as typeof db.pool.query;
    const told = await historyOf({ query }, pack(1), { types: typeKnowledge });
    expect(told?.movements.map(({ docType }) => docType)).toEqual([701, 911, 415]);
    expect(statements).toBe(1);
  });
});

describe('evidence', () => {
  it('halts on evidence that is missing, and writes nothing of the page', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    log.document({ docType: 511, items: [pack(1)] });
    const digest = log.events.at(-1)?.data['documentSha256'] as string;
    log.evidence.blobs.delete(digest);
    await expect(projectAll()).rejects.toThrow(`evidence ${digest}, named by DocumentConcluded at position 12`);
    expect(await history(pack(1))).toBeUndefined();
  });

  it('leaves the connection usable after the server refused the rows', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    await projectAll();
    await expect(projectAll()).rejects.toThrow(/duplicate key/);
    expect(await trail(pack(1))).toEqual(['701']);
  });
});
