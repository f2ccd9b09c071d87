import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { MOST_NAMINGS, typeKnowledge } from '#documents';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { box, pack } from '../../test/fixture.js';
import { HistoryWorld } from '../../test/history-world.js';
import { packsNow } from '../pack-state/now.js';
import { historyOf } from './query.js';

const world = new HistoryWorld();
const { contentOf, history, projectAll, trail } = world;

describe('history of one pack', () => {
  it('tells its own movements in the order of acceptance, with place, status, ids and evidence', async () => {
    world.log.document({ docType: 701, items: [pack(1), pack(2)] });
    const sold = world.log.document({ docType: 511, items: [pack(1)], acceptedAt: '2026-03-02T09:00:00.000Z' });
    await projectAll();

    const told = await history(pack(1));
    expect(told).toMatchObject({
      gtin: '04607001770001',
      serial: 'AAAAAAAAAAAA1',
      status: 'in_sale',
      place: '00000000000464',
    });
    expect(told?.movements.map((one) => one.docType)).toEqual([701, 511]);
    const event = world.log.events[Number(sold) - 1];
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
    for (const operationDate of claimed) world.log.document({ docType: 701, items: [pack(1)], operationDate });
    world.log.document({ docType: 511, items: [pack(1)] });
    await projectAll();
    expect((await history(pack(1)))?.movements.map((one) => one.operationDate)).toEqual([
      ...claimed,
      '2026-02-28T10:00:00+03:00',
    ]);
    const { rows } = await world.db.pool.query('SELECT operation_at FROM movement_document ORDER BY known_from');
    expect(rows.map((row) => row.operation_at)).toEqual([...claimed.map(() => null), new Date('2026-02-28T07:00:00Z')]);
  });

  it('is kept although a document of others, taken by an earlier version, has more than there is room for', async () => {
    const long = randomBytes(4_000).toString('hex');
    const items = [...Array<string>(MOST_NAMINGS + 1).fill(pack(1)), pack(2), long];
    const facts = { docType: 415, items, subjectId: long, counterpartyId: long, series: [{ series: long }] };
    const { documentSha256 } = world.log.registration(facts);
    world.log.addInbound('d-1', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'd-1', direction: 'incoming', channel: 'counterparty', docType: 415, outcome: 'accepted' },
        ...{ isReadable: true, documentSha256 },
      },
    });
    await projectAll();
    expect(await trail(pack(2))).toEqual(['415']);
    const { rows } = await world.db.pool.query('SELECT items, subject_id, counterparty_id FROM movement_document');
    expect(rows).toEqual([{ items: MOST_NAMINGS + 1, subject_id: '', counterparty_id: null }]);
    const states = await world.db.pool.query('SELECT place, series FROM pack_state');
    expect(states.rows).toEqual(Array(2).fill({ place: null, series: null }));
  });

  it('is undefined for a pack that no document named, and refuses what is no SGTIN', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    await projectAll();
    expect(await history(pack(9))).toBeUndefined();
    await expect(history('0460')).rejects.toMatchObject({ code: 'invalid_identifier', place: { item: '0460' } });
  });

  it('keeps attempts that the registry refused, and changes neither status nor container by them', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
    world.log.document({
      docType: 511,
      items: [pack(1)],
      outcome: 'rejected',
      errors: [{ code: '4', text: 'not the owner', objectId: pack(1) }],
    });
    world.log.document({ docType: 552, items: [pack(1)], outcome: 'failed' });
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
    world.log.document({
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

  it('tells of a pack that is refused beside its container that it goes with that', async () => {
    const [pallet, there] = [box(2), '00000000000999'];
    world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
    world.log.document({ docType: 911, items: [box(1)], into: pallet });
    const errors = [pack(1), box(1)].map((objectId) => ({ code: '20', text: 'inside a logistic unit', objectId }));
    const all = { docType: 415, items: [pack(1), box(1), pallet], counterpartyId: there };
    world.log.document({ ...all, outcome: 'partial', errors });
    await projectAll();
    expect(await trail(pack(1))).toEqual([
      '911',
      `911@${box(1)}`,
      '415 refused',
      `415@${box(1)} refused`,
      `415@${pallet}`,
    ]);
    expect(await history(pack(1))).toMatchObject({ status: 'in_realization', place: there, container: box(1) });
    // The same where its row is made of its life.
    for (const late of [false, true]) {
      if (late) world.log.document({ docType: 701, items: [pack(1)], acceptedAt: '2026-02-01T00:00:00Z' });
      await emptyTables(world.db.pool, world.projection());
      await projectAll();
      const rows = await packsNow(world.db.pool, [pack(1)], typeKnowledge);
      expect(rows).toMatchObject([{ status: 'in_realization', place: there, container: box(1) }]);
    }
  });

  it('keeps an item that one document names twice as two movements', async () => {
    world.log.document({ docType: 511, items: [pack(1), pack(1)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['511', '511']);
  });

  it('survives every character that a foreign document can carry in its texts', async () => {
    const text = 'tab\t, line\nend\r, back\\slash \\N, quote " and { brace }';
    world.log.document({
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
    world.log.document({ docType: 701, items: [pack(1), pack(2)] });
    world.log.document({ docType: 417, items: [pack(1)] });
    world.log.document({ docType: 701, items: [pack(1)] });
    const moved = world.log.document({ docType: 431, items: [pack(1)] });
    world.log.document({ docType: 552, items: [pack(1)] });
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
    world.log.document({ docType: 701, items: [pack(4)] });
    world.log.document({ docType: 431, items: [pack(4)], counterpartyId: far });
    world.log.document({ docType: 701, items: [pack(1), pack(2)] });
    world.log.document({ docType: 911, items: [pack(2)], into: box(1) });
    world.log.document({ docType: 432, items: [here], counterpartyId: there });
    world.log.document({ docType: 701, items: [pack(3)] });
    world.log.document({ docType: 432, items: [there], counterpartyId: far });
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
    world.log.document({ docType: 701, items: [pack(1)] });
    world.log.document({ docType: 432, items: [here], counterpartyId: there });
    await projectAll();
    const lines = async () => (await world.db.pool.query('SELECT * FROM place_move')).rows;
    const before = await lines();
    await world.db.pool.query('TRUNCATE place_move');
    const migration = new URL('./migrations/0043-place-move-filled.sql', import.meta.url);
    await world.db.pool.query(await readFile(migration, 'utf8'));
    expect(await lines()).toEqual(before);
    expect(await trail(pack(1))).toEqual(['701', `432@${here}`]);
  });

  it('moves nothing when it is rejected', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    world.log.document({ docType: 432, items: [here], counterpartyId: there, outcome: 'rejected' });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701']);
    expect((await history(pack(1)))?.place).toBe(here);
  });
});

describe('containers', () => {
  it('adds what happened to the container while it held the pack, and nothing before or after', async () => {
    world.log.document({ docType: 431, items: [box(1)] });
    world.log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    world.log.document({ docType: 415, items: [box(1)], counterpartyId: '00000000000999' });
    world.log.document({ docType: 912, items: [box(1)] });
    world.log.document({ docType: 431, items: [box(1)] });
    world.log.document({ docType: 511, items: [pack(1)] });
    await projectAll();

    expect(await trail(pack(1))).toEqual(['911', `415@${box(1)}`, `912@${box(1)}`, '511']);
    expect(await trail(pack(2))).toEqual(['911', `415@${box(1)}`, `912@${box(1)}`]);
    expect(await history(pack(2))).toMatchObject({ status: 'in_realization', place: '00000000000999' });
    expect(await history(pack(2))).not.toHaveProperty('container');
  });

  it('lets one pack leave singly and keeps the others in', async () => {
    world.log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    world.log.document({ docType: 552, items: [pack(1)] });
    world.log.document({ docType: 415, items: [box(1)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', '552']);
    expect(await trail(pack(2))).toEqual(['911', `415@${box(1)}`]);
    expect(await contentOf(box(1))).toEqual([pack(2)]);
  });

  it('follows containers within containers, each only while it was in', async () => {
    world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
    world.log.document({ docType: 431, items: [box(2)] });
    world.log.document({ docType: 911, items: [box(1)], into: box(2) });
    world.log.document({ docType: 415, items: [box(2)] });
    world.log.document({ docType: 912, items: [box(2)] });
    world.log.document({ docType: 431, items: [box(2)] });
    world.log.document({ docType: 431, items: [box(1)] });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `911@${box(1)}`, `415@${box(2)}`, `912@${box(2)}`, `431@${box(1)}`]);
    expect((await history(pack(1)))?.container).toBe(box(1));
  });

  it('moves a pack from one container into another', async () => {
    world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
    world.log.document({ docType: 911, items: [pack(1)], into: box(2) });
    world.log.document({ docType: 431, items: [box(1), box(2)] });
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
      world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
      world.log.document({ docType: 911, items: [box(1)], into: box(2) });
      world.log.document({ docType: 911, items: [box(2)], into: box(3) });
      world.log.document({ docType: 912, items: [box(3)], ...(recursive === undefined ? {} : { recursive }) });
      world.log.document({ docType: 431, items: [box(1)] });
      await projectAll();
      expect(await trail(pack(1))).toEqual(['911', `911@${box(1)}`, `911@${box(2)}`, `912@${box(3)}`, ...then]);
      expect((await history(pack(1)))?.container).toBe(container);
    },
  );

  it('ends even when wrong documents nest containers in a ring', async () => {
    world.log.document({ docType: 911, items: [pack(1), box(2)], into: box(1) });
    world.log.document({ docType: 911, items: [box(1)], into: box(2) });
    world.log.document({ docType: 431, items: [box(2)] });
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
      world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
      world.log.document({ docType: 911, items: [box(1)], into: box(2) });
      world.log.document({ docType: 415, items: [box(2)] });
      world.log.document({ docType: 912, items: [box(2)], recursive: true });
    }
    world.log.document({ docType: 911, items: [pack(2)], into: box(1) });
    await projectAll();
    const once = ['911', `911@${box(1)}`, `415@${box(2)}`, `912@${box(2)}`];
    expect(await timed(() => trail(pack(1)))).toEqual(Array.from({ length: 40 }, () => once).flat());
    expect(await timed(() => contentOf(box(1)))).toEqual([pack(2)]);
    expect(await timed(() => contentOf(box(2)))).toEqual([]);
  });

  it('ends at once where wrong documents nest containers in rings again and again', async () => {
    for (let n = 0; n < 6; n += 1) {
      world.log.document({ docType: 911, items: [pack(1), box(2)], into: box(1) });
      world.log.document({ docType: 911, items: [box(1), box(3)], into: box(2) });
      world.log.document({ docType: 911, items: [box(2)], into: box(3) });
      world.log.document({ docType: 431, items: [box(2)] });
    }
    await projectAll();
    expect((await timed(() => trail(pack(1))))?.filter((one) => one === '911')).toHaveLength(6);
    expect(await timed(() => contentOf(box(3)))).toEqual([]);
    expect(await timed(() => contentOf(box(2)))).toEqual([box(1), pack(1), box(3)]);
  });
});

describe('what a history costs', () => {
  it('is one statement, where nothing was recalled and no whole place was moved', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    world.log.document({ docType: 911, items: [pack(1)], into: box(1) });
    world.log.document({ docType: 415, items: [box(1)], counterpartyId: '00000000000777' });
    await projectAll();
    let statements = 0;
    const query = ((...given: [string]) => (
      (statements += 1),
      world.db.pool.query(...given)
    )) as typeof world.db.pool.query;
    const told = await historyOf({ query }, pack(1), { types: typeKnowledge });
    expect(told?.movements.map(({ docType }) => docType)).toEqual([701, 911, 415]);
    expect(statements).toBe(1);
  });
});

describe('evidence', () => {
  it('halts on evidence that is missing, and writes nothing of the page', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    world.log.document({ docType: 511, items: [pack(1)] });
    const digest = world.log.events.at(-1)?.data['documentSha256'] as string;
    world.log.evidence.blobs.delete(digest);
    await expect(projectAll()).rejects.toThrow(`evidence ${digest}, named by DocumentConcluded at position 12`);
    expect(await history(pack(1))).toBeUndefined();
  });

  it('leaves the connection usable after the server refused the rows', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    await projectAll();
    await expect(projectAll()).rejects.toThrow(/duplicate key/);
    expect(await trail(pack(1))).toEqual(['701']);
  });
});
