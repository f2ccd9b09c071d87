import { describe, expect, it } from '@jest/globals';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { box, documentIdOf, pack } from '../../test/fixture.js';
import { HistoryWorld } from '../../test/history-world.js';

type Conclusion = Record<'documentSha256' | 'receiptSha256' | 'acceptedAt', string>;
const world = new HistoryWorld();
const { history, projectAll, projectEach, trail } = world;

describe('recalls and dates', () => {
  it('a recall that names no pack makes the operation as if it had not been, as of and as known too', async () => {
    world.log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
    const requestId = world.log.send(moved);
    const known = world.log.conclude(requestId, moved);
    world.log.document({ docType: 250, items: [], fields: { operation_id: requestId } });
    await projectAll();
    expect((await history(pack(1), { knownAt: known }))?.place).toBe('00000000000999');
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    expect(await trail(pack(1))).toEqual(['701', '431', '250']);
    // By the registry's own id of the document as well.
    const documentId = (await history(pack(1)))?.movements[1]?.documentId;
    await world.db.pool.query('UPDATE movement_document SET recalls = $1 WHERE recalls IS NOT NULL', [documentId]);
    expect((await history(pack(1)))?.place).toBe('00000000000464');
  });

  it.each([
    ['request_id', (requestId: string) => requestId],
    ["registry's id", documentIdOf],
  ])('of a move takes back what the receiving place was told of it, too, by its %s', async (_, named) => {
    world.log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
    const requestId = world.log.send(moved);
    const documentSha256 = world.log.events[Number(world.log.conclude(requestId, moved)) - 1]?.data[
      'documentSha256'
    ] as string;
    const told = world.log.addInbound('told', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'told', requestId, direction: 'incoming', channel: 'counterparty', docType: 629 },
        ...{ outcome: 'accepted', isReadable: true, documentSha256 },
      },
    });
    world.log.document({ docType: 250, items: [], fields: { operation_id: named(requestId) } });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', '431', '629', '250']);
    expect((await history(pack(1), { knownAt: told }))?.place).toBe('00000000000999');
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    const { rows } = await world.db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
    expect(rows).toEqual([{ place: '00000000000464' }]);
  });

  it.each(['r-1', 'd-1'])('of a move made past this system takes back what its receiver was told (%s)', async (id) => {
    world.log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
    const { documentSha256 } = world.log.registration(moved);
    const both = { requestId: 'r-1', outcome: 'accepted', isReadable: true, documentSha256 } as const;
    for (const data of [
      { ...both, documentId: 'd-1', direction: 'outgoing', channel: 'cabinet', docType: 431 },
      { ...both, documentId: 'd-2', direction: 'incoming', channel: 'counterparty', docType: 629 },
    ])
      world.log.addInbound(data.documentId, { type: 'InboundConcluded', data } as never);
    world.log.document({ docType: 250, items: [], fields: { operation_id: id } });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', '431', '629', '250']);
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    const { rows } = await world.db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
    expect(rows).toEqual([{ place: '00000000000464' }]);
  });

  it.each([
    ['it', 'accepted', 'rejected'],
    ['its copy', 'rejected', 'accepted'],
  ] as const)(
    'of a move that the registry took twice finds %s, whatever page told of both',
    async (which, own, copy) => {
      world.log.document({ docType: 701, items: [pack(1)] });
      const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999', outcome: own };
      const requestId = world.log.send(moved);
      const told = world.log.conclude(requestId, moved);
      const { documentSha256, receiptSha256, acceptedAt } = world.log.events[Number(told) - 1]?.data as Conclusion;
      const receipt = JSON.parse(String(world.log.evidence.blobs.get(receiptSha256))) as object;
      const both = { requestId, isReadable: true, documentSha256, acceptedAt };
      const copied = {
        ...{ ...both, outcome: copy },
        receiptSha256: world.log.evidence.keep(Buffer.from(JSON.stringify({ ...receipt, result: copy }))),
      };
      for (const data of [
        { ...copied, documentId: 'copy', direction: 'outgoing', channel: 'other_system', docType: 431 },
        {
          ...both,
          outcome: 'accepted',
          documentId: 'd-2',
          direction: 'incoming',
          channel: 'counterparty',
          docType: 629,
        },
      ])
        world.log.addInbound(data.documentId, { type: 'InboundConcluded', data } as never);
      const operation_id = which === 'it' ? documentIdOf(requestId) : 'copy';
      world.log.document({ docType: 250, items: [], fields: { operation_id } });
      for (const project of [projectAll, projectEach]) {
        await emptyTables(world.db.pool, world.projection());
        await project();
        expect((await history(pack(1)))?.place).toBe('00000000000464');
        const { rows } = await world.db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
        expect(rows).toEqual([{ place: '00000000000464' }]);
        const ids = (await history(pack(1)))?.movements.map((one) => [one.docType, one.result, one.documentId]);
        expect(ids).toContainEqual([431, own === 'accepted' ? 'applied' : 'refused', documentIdOf(requestId)]);
      }
    },
  );

  it('of a move past this system whose bytes nobody has leaves what its receiver was told, in all answers', async () => {
    const there = '00000000000999';
    world.log.document({ docType: 701, items: [pack(1)] });
    const { documentSha256 } = world.log.registration({ docType: 431, items: [pack(1)], counterpartyId: there });
    for (const data of [
      { documentId: 'd-1', direction: 'outgoing', channel: 'cabinet', isReadable: false },
      { documentId: 'd-2', direction: 'incoming', channel: 'counterparty', isReadable: true, documentSha256 },
    ])
      world.log.addInbound(data.documentId, {
        type: 'InboundConcluded',
        data: { ...data, requestId: 'r-1', outcome: 'accepted', docType: 629 },
      } as never);
    world.log.document({ docType: 250, items: [], fields: { operation_id: 'd-1' } });
    await projectAll();
    expect((await history(pack(1)))?.place).toBe(there);
    expect((await world.db.pool.query("SELECT place FROM pack_state WHERE item LIKE '0%'")).rows).toEqual([
      { place: there },
    ]);
    expect((await world.db.pool.query("SELECT FROM sent_document WHERE request_id = 'r-1'")).rowCount).toBe(0);
  });

  it('counts after what it recalls, also where only a list told of that within the same second', async () => {
    const [moment, there] = ['2026-03-01T12:00:00', '00000000000999'];
    world.log.document({ docType: 701, items: [pack(1)] });
    const moved = { docType: 431, items: [pack(1)], counterpartyId: there, acceptedAt: `${moment}.1Z` };
    const requestId = world.log.send(moved);
    const documentSha256 = world.log.events[Number(world.log.conclude(requestId, moved)) - 1]?.data[
      'documentSha256'
    ] as string;
    world.log.document({ docType: 250, items: [], fields: { operation_id: requestId }, acceptedAt: `${moment}.4Z` });
    world.log.addInbound('told', {
      type: 'InboundConcluded',
      data: {
        ...{ documentId: 'told', requestId, direction: 'incoming', channel: 'counterparty', docType: 629 },
        ...{ outcome: 'accepted', isReadable: true, documentSha256, acceptedAt: `${moment}Z` },
      },
    });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['701', '431', '629', '250']);
    expect((await history(pack(1)))?.place).toBe('00000000000464');
    const { rows } = await world.db.pool.query('SELECT place FROM pack_state WHERE item = $1', [pack(1)]);
    expect(rows).toEqual([{ place: '00000000000464' }]);
  });

  it('a moment stands for the last movement that was recorded by then', async () => {
    const first = world.log.document({ docType: 701, items: [pack(1)] });
    const second = world.log.document({ docType: 511, items: [pack(1)] });
    await projectAll();
    const recordedAt = (position: bigint) => world.log.events[Number(position) - 1]?.recordedAt as Date;
    const just = (moment: Date, ms: number) => new Date(moment.getTime() + ms);
    expect(await trail(pack(1), { knownAt: recordedAt(second) })).toEqual(['701', '511']);
    expect(await trail(pack(1), { knownAt: just(recordedAt(second), -1) })).toEqual(['701']);
    expect(await history(pack(1), { knownAt: just(recordedAt(first), -1) })).toBeUndefined();
    await world.db.pool.query('UPDATE movement_document SET recorded_at = NULL WHERE known_from = $1', [first]);
    await expect(history(pack(1), { knownAt: recordedAt(second) })).rejects.toMatchObject({
      code: 'invalid_parameter',
      place: { field: 'known_at' },
    });
  });
});

describe('three times (principles 2.7)', () => {
  it('before and after a late document, as of and as known at give what was and what was known', async () => {
    world.log.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt: '2026-03-01T10:00:00Z' });
    const shipped = world.log.document({ docType: 415, items: [box(1)], acceptedAt: '2026-03-01T14:00:00Z' });
    const late = world.log.document({ docType: 912, items: [box(1)], acceptedAt: '2026-03-01T12:00:00Z' });
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
    world.log.document({ docType: 701, items: [pack(1)], acceptedAt: '2026-03-01T10:00:00.1234567Z' });
    const facts = {
      docType: 415,
      items: [pack(1)],
      acceptedAt: '2026-03-01T11:00:00Z',
      counterpartyId: '00000000000999',
    };
    const told = world.log.send(facts);
    const documentSha256 = world.log.events[Number(world.log.conclude(told, facts)) - 1]?.data[
      'documentSha256'
    ] as string;
    world.log.addInbound('list', {
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
    world.log.document({ docType: 415, ...of, acceptedAt: '2026-03-01T11:00:00.4Z' });
    const { documentSha256 } = world.log.registration({ docType: 607, ...of });
    world.log.addInbound('list', {
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
    world.log.document({ docType: 552, items: [pack(1)], acceptedAt: '2026-03-01T12:00:00Z' });
    world.log.document({ docType: 415, items: [box(1)], acceptedAt: '2026-03-01T13:00:00Z' });
    world.log.document({ docType: 431, items: [box(1)], acceptedAt: '2026-03-01T11:00:00Z' });
    world.log.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt: '2026-03-01T10:00:00Z' });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `431@${box(1)}`, '552']);
    expect(await history(pack(1))).not.toHaveProperty('container');
  });

  it('a revised conclusion adds rows and closes the known interval of the old ones', async () => {
    world.log.document({ docType: 701, items: [pack(1)], acceptedAt: '2026-03-01T08:00:00Z' });
    const shipping = { docType: 415, items: [pack(1)], acceptedAt: '2026-03-01T10:00:00Z' };
    const requestId = world.log.send(shipping);
    const failed = world.log.conclude(requestId, { ...shipping, outcome: 'failed' });
    const revised = world.log.conclude(requestId, shipping, 'failed');
    await projectAll();

    expect(await trail(pack(1), { knownAt: failed })).toEqual(['701', '415 refused']);
    expect((await history(pack(1), { knownAt: failed }))?.status).toBe('in_circulation');
    expect(await trail(pack(1))).toEqual(['701', '415']);
    expect((await history(pack(1)))?.status).toBe('in_realization');
    const { rows } = await world.db.pool.query(
      'SELECT known_from, known_to, outcome FROM movement_document WHERE request_id = $1 ORDER BY known_from',
      [requestId],
    );
    expect(rows).toEqual([
      { known_from: failed, known_to: revised, outcome: 'failed' },
      { known_from: revised, known_to: null, outcome: 'accepted' },
    ]);
    expect(
      (await world.db.pool.query('SELECT known_from FROM item_movement WHERE item = $1 ORDER BY 1', [pack(1)])).rows,
    ).toHaveLength(3);
  });

  it('orders documents of one moment by the log', async () => {
    const acceptedAt = '2026-03-01T10:00:00Z';
    world.log.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt });
    world.log.document({ docType: 415, items: [box(1)], acceptedAt });
    world.log.document({ docType: 912, items: [box(1)], acceptedAt });
    world.log.document({ docType: 431, items: [box(1)], acceptedAt });
    await projectAll();
    expect(await trail(pack(1))).toEqual(['911', `415@${box(1)}`, `912@${box(1)}`]);
  });
});
