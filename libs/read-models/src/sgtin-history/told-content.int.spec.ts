import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { typeKnowledge } from '#documents';
import type { ContainerEvent, WithheldReason } from '#domain';
import type { EventStore } from '#event-store';
import { defined } from '#kernel';
import { inTransaction, migrate } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { toldOfItem } from '../epcis/told-documents.js';
import { box, DIGEST, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { tracedSeries } from '../pack-reports/mock-recalls.js';
import { checkPacks } from '../pack-state/check.js';
import type { ContainerContent, SgtinHistory } from '../port.js';
import { PostgresReadModels } from '../postgres-read-models.js';
import { readModelSchemas } from '../schema.js';
import { readContent } from './content.js';
import { unknownContentsAt } from './content-question.js';
import { NOW } from './life-rows.js';
import { lifeOfPack, historyOf } from './query.js';
import { sgtinHistoryProjection } from './projection.js';

const [HERE, OTHER] = ['00000000000464', '00000000000777'] as const;
const [PALLET, BOX, DENIED, SILENT] = [box(1), box(2), box(3), box(4)] as const;
const [OUTER, INNER, LEFT, AGREED, MOVED, AWAY] = [pack(1), pack(2), pack(3), pack(4), pack(5), pack(6)] as const;
const ACCEPTED_AT = '2026-03-01T12:00:00.000Z';
const at = (hour: number): string => `2026-03-01T${hour}:00:00.000Z`;
const TYPES = { types: typeKnowledge };

let db: TestDatabase;
const log = new LogOfTest();
let [shipped, asked, told]: bigint[] = [];

/**
 * We packed two packs long ago. A pallet comes; before anybody tells what is in it we take one pack out. Then it is
 * told, with all that was in it when it came.
 */
function aDay(): void {
  log.document({ docType: 911, items: [AGREED], into: BOX, acceptedAt: at(10) });
  log.document({ docType: 911, items: [MOVED, AWAY], into: box(9), acceptedAt: at(10) });
  shipped = log.document({
    ...{ docType: 415, items: [PALLET, DENIED, SILENT], subjectId: OTHER, counterpartyId: HERE },
    acceptedAt: ACCEPTED_AT,
  });
  log.document({ docType: 913, items: [LEFT], acceptedAt: at(13) });
  const arrival = { documentId: 'arrival', docType: 601, subjectId: OTHER, acceptedAt: ACCEPTED_AT };
  for (const sscc of [DENIED, SILENT])
    asked = log.addToContainer(sscc, { type: 'ContainerContentAsked', data: { sscc, account: 'main', arrival } });
  const withheld = { sscc: DENIED, documentId: 'arrival', reason: 'access_denied', answerSha256: DIGEST } as const;
  log.addToContainer(DENIED, { type: 'ContainerContentWithheld', data: { ...withheld, attempts: 1 } });
  told = log.tell(
    PALLET,
    [
      { id: OUTER, into: PALLET, series: 'S-1', expiresOn: '2028-12-31' },
      { id: LEFT, into: PALLET },
      { id: MOVED, into: PALLET },
      { id: BOX, into: PALLET },
      { id: INNER, into: BOX },
      { id: AGREED, into: BOX },
    ],
    ACCEPTED_AT,
  );
  log.addToContainer(DENIED, { type: 'ContainerContentUnavailable', data: { ...withheld, attempts: 12 } });
}

beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [subscriptionsSchema, ...readModelSchemas]);
  aDay();
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
  const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
  // In two pages, so that a question is answered in another page than it was asked.
  const middle = events.findIndex(({ position }) => position === asked) + 1;
  for (const page of [events.slice(0, middle), events.slice(middle)])
    await inTransaction(db.pool, (tx) => projection.project(page, tx));
});
afterAll(() => db.drop());

const history = async (item: string): Promise<SgtinHistory> => (await historyOf(db.pool, item, TYPES)) as SgtinHistory;
const models = () => {
  const options = { pool: db.pool, evidence: log.evidence, documents: jsonDocuments, ...TYPES };
  return new PostgresReadModels({ ...options, store: log as unknown as EventStore });
};
const content = async (sscc: string, knownAt?: bigint | Date): Promise<ContainerContent> =>
  (await models().containerContent(sscc, defined({ knownAt }))) as ContainerContent;
const findingsOf = async (item: string) => (await lifeOfPack(db.pool, item, TYPES))?.findings.map(({ kind }) => kind);

describe('what the registry told of a container', () => {
  it('counts from before the document that brought it, so that its packs share the shipment', async () => {
    for (const item of [OUTER, INNER])
      expect(await history(item)).toMatchObject({
        ...{ status: 'in_realization', place: HERE, container: item === OUTER ? PALLET : BOX },
        movements: [
          { docType: 221, item, channel: 'registry_answer', knownAt: String(told) },
          { docType: 415, item: PALLET, through: 'container', knownAt: String(shipped) },
        ],
      });
  });

  it('gives way to a document of ours that came after the shipment, however late it was told', async () => {
    expect(await history(LEFT)).not.toHaveProperty('container');
    const { items } = await content(PALLET);
    expect(items.map(({ item }) => item).sort()).toEqual([OUTER, MOVED, BOX, INNER, AGREED].sort());
  });

  it('contradicts documents only where it says something else', async () => {
    expect(await findingsOf(AGREED)).toEqual([]);
    expect(await findingsOf(LEFT)).toEqual([]);
    expect(await findingsOf(MOVED)).toEqual(['in_two_containers']);
    expect(await history(MOVED)).toMatchObject({ container: PALLET });
  });

  it('was not known before it was told', async () => {
    expect(await historyOf(db.pool, OUTER, { ...TYPES, knownAt: told! - 1n })).toBeUndefined();
    expect(await content(PALLET, told! - 1n)).toMatchObject({ isKnown: false, unknown: { standing: 'being_asked' } });
    expect(await content(PALLET)).toMatchObject({ isKnown: true, packs: 4, containers: 1 });
    expect(await content(PALLET)).not.toHaveProperty('unknown');
  });

  it('is there at the moment of the shipment, as which deadlines ask for it', async () => {
    const known = { ...NOW, asOf: new Date(ACCEPTED_AT) };
    const { stays } = await readContent(db.pool, PALLET, { known, types: typeKnowledge });
    expect(stays.map(({ item }) => item).sort()).toEqual([OUTER, LEFT, MOVED, BOX, INNER, AGREED].sort());
  });

  it('is left out of EPCIS, which tells of documents', async () => {
    const reading = { evidence: log.evidence, documents: jsonDocuments };
    const [answer] = await toldOfItem(
      { item: OUTER, movements: (await history(OUTER)).movements.slice(0, 1) },
      reading,
    );
    expect(answer).toMatchObject({ events: [], leftOut: [{ 'pedigree:docType': '221' }] });
  });
});

/** Projects what these add to the log. */
async function projectMore(add: () => void): Promise<void> {
  const from = log.events.length;
  add();
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
  const events = log.events.slice(from).filter(({ type }) => projection.filter.types?.includes(type));
  await inTransaction(db.pool, (tx) => projection.project(events, tx));
}
const containersUnknown = async (): Promise<number> => {
  const of = { gtin: OUTER.slice(0, 14), series: 'S-1' };
  return (await tracedSeries(db.pool, of, { ...TYPES, asOf: new Date() })).containersUnknown;
};

describe('a content that documents told', () => {
  const [CLOSED, REFUSED] = [box(20), box(21)];

  it('is not known as of before they did', async () => {
    await projectMore(() => {
      log.document({ docType: 701, items: [CLOSED], acceptedAt: '2026-04-01T12:00:00Z' });
      log.document({ docType: 912, items: [CLOSED], acceptedAt: '2026-04-03T12:00:00Z' });
      log.document({ docType: 911, items: [pack(60)], into: CLOSED, acceptedAt: '2026-04-04T12:00:00Z' });
    });
    const asOf = (day: string) => models().containerContent(CLOSED, { asOf: new Date(`2026-04-${day}T18:00:00Z`) });
    expect(await asOf('02')).toMatchObject({ isKnown: false, packs: 0, unknown: { standing: 'not_asked' } });
    expect(await asOf('04')).toMatchObject({ isKnown: true, packs: 1 });
  });

  it('is not known any more when their conclusion is revised', async () => {
    const before = await containersUnknown();
    const packing = { docType: 911, items: [pack(61)], into: REFUSED };
    let requestId = '';
    await projectMore(() => {
      log.document({ docType: 701, items: [REFUSED] });
      requestId = log.send(packing);
      log.conclude(requestId, packing);
    });
    expect([await containersUnknown(), (await content(REFUSED)).isKnown]).toEqual([before, true]);
    await projectMore(() => void log.conclude(requestId, { ...packing, outcome: 'rejected' }, 'accepted'));
    expect([await containersUnknown(), (await content(REFUSED)).isKnown]).toEqual([before + 1, false]);
  });
});

describe('a content that is not known', () => {
  it.each([
    ['before anybody asked', DENIED, () => shipped, 'not_asked', undefined],
    ['while it is asked', DENIED, () => asked, 'being_asked', undefined],
    ['while it is denied', DENIED, () => told, 'being_asked', 'access_denied'],
    ['when it is given up', DENIED, () => undefined, 'given_up', 'access_denied'],
    ['while nobody answers', SILENT, () => undefined, 'being_asked', undefined],
  ])('%s', async (_when, sscc, knownAt, standing, reason) => {
    const { isKnown, items, unknown } = await content(sscc, knownAt());
    expect([isKnown, items, unknown?.standing, unknown?.reason]).toEqual([false, [], standing, reason]);
    expect(unknown?.sentence).toMatch(/^Content unknown: /);
  });

  it('is told as known at an instant as at the last log position by then', async () => {
    const isLast = (n: number) => log.events[n]!.recordedAt.getTime() !== log.events[n + 1]?.recordedAt.getTime();
    const standings = new Set<string | undefined>();
    for (const [n, { position, recordedAt }] of log.events.entries())
      for (const sscc of isLast(n) ? [DENIED, SILENT, PALLET] : []) {
        const byInstant = await models().containerContent(sscc, { knownAt: recordedAt });
        expect(byInstant).toEqual(await models().containerContent(sscc, { knownAt: position }));
        standings.add(byInstant?.unknown?.standing);
      }
    expect([...standings].sort()).toEqual(['being_asked', 'given_up', 'not_asked', undefined]);
  });

  it('is a reason why a pack that is not in the record may yet have come', async () => {
    const check = async (place: string, item: string) => {
      const query = { purpose: 'receive', place, day: '2026-03-02', codes: [item] } as const;
      const [found] = (await checkPacks(db.pool, query, typeKnowledge)).items;
      return [found?.answer, ...(found?.reasons ?? []).map(({ code, sentence }) => [code, sentence.slice(0, 27)])];
    };
    const hidden = ['content_unknown', 'The content of 2 containers'];
    expect(await check(HERE, pack(40))).toMatchObject(['unknown', ['not_in_record', expect.anything()], hidden]);
    expect(await check(HERE, AWAY)).toMatchObject(['unknown', ['not_shipped_to_place', expect.anything()], hidden]);
    expect(await check(OTHER, AWAY)).toMatchObject(['no', ['not_shipped_to_place', expect.anything()]]);
    expect(await check(HERE, OUTER)).toEqual(['yes']);
  });

  it('is none any more once the registry is asked again and tells it', async () => {
    expect(await unknownContentsAt(db.pool, HERE, typeKnowledge)).toBe(2);
    await projectMore(() => void log.tell(DENIED, [{ id: pack(41), into: DENIED }], ACCEPTED_AT));
    expect(await unknownContentsAt(db.pool, HERE, typeKnowledge)).toBe(1);
  });
});

describe('containers of unknown content at a place', () => {
  const [PLACE, BRANCH] = ['00000000000321', '00000000000322'] as const;
  let came = 0;
  /** A container comes to a place, and nobody asks what is in it. Returns what brought it. */
  function isBrought(sscc: string) {
    came += 1;
    const documentId = `came-${came}`;
    const arrival = { documentId, docType: 601, subjectId: OTHER, acceptedAt: acceptedAt(12) };
    const { documentSha256 } = log.registration({ ...arrival, items: [sscc], counterpartyId: PLACE });
    const seen = { documentId, direction: 'incoming', channel: 'counterparty' } as const;
    const read = { docType: 601, documentSha256, acceptedAt: acceptedAt(12), isReadable: true };
    log.addInbound(documentId, { type: 'InboundConcluded', data: { ...seen, ...read, outcome: 'accepted' } });
    return arrival;
  }
  /** A container comes to a place, and the registry does not tell what is in it. */
  function comes(sscc: string): void {
    const arrival = isBrought(sscc);
    log.addToContainer(sscc, { type: 'ContainerContentAsked', data: { sscc, account: 'main', arrival } });
    const gaveUp = { sscc, documentId: arrival.documentId, reason: 'access_denied', answerSha256: DIGEST } as const;
    log.addToContainer(sscc, { type: 'ContainerContentUnavailable', data: { ...gaveUp, attempts: 12 } });
  }
  const acceptedAt = (hour: number): string => `2026-05-${String(came).padStart(2, '0')}T${hour}:00:00.000Z`;
  const at = (place: string): Promise<number> => unknownContentsAt(db.pool, place, typeKnowledge);

  it('are none that was opened, until it comes again', async () => {
    await projectMore(() => {
      comes(box(30));
      log.document({ docType: 701, items: [box(30)], counterpartyId: PLACE, acceptedAt: acceptedAt(13) });
    });
    expect(await at(PLACE)).toBe(1);
    expect(await content(box(30))).toMatchObject({ isKnown: false });
    await projectMore(() => void log.document({ docType: 912, items: [box(30)], acceptedAt: acceptedAt(14) }));
    expect(await at(PLACE)).toBe(0);
    expect(await content(box(30))).toMatchObject({ isKnown: true, packs: 0, items: [] });
    expect(await content(box(30), log.head - 1n)).toMatchObject({ isKnown: false });
    await projectMore(() => comes(box(30)));
    expect(await at(PLACE)).toBe(1);
    expect(await content(box(30))).toMatchObject({ isKnown: false });
    await projectMore(() => void log.document({ docType: 912, items: [box(30)], acceptedAt: acceptedAt(14) }));
    expect(await at(PLACE)).toBe(0);
    expect(await content(box(30))).toMatchObject({ isKnown: true, packs: 0, items: [] });
    expect(await content(box(30), log.head - 1n)).toMatchObject({ isKnown: false });
  });

  it('are none of which documents tell what lies in it', async () => {
    await projectMore(() => comes(box(31)));
    expect(await at(PLACE)).toBe(1);
    const packing = { docType: 911, items: [pack(70)], into: box(31), acceptedAt: acceptedAt(13) };
    await projectMore(() => void log.document(packing));
    expect(await at(PLACE)).toBe(0);
    await projectMore(() => void log.document({ docType: 913, items: [pack(70)], acceptedAt: acceptedAt(14) }));
    expect(await at(PLACE)).toBe(1);
  });

  it('go with all that their place holds', async () => {
    const move = { docType: 432, items: [PLACE], counterpartyId: BRANCH, acceptedAt: acceptedAt(15) };
    // It is there once it is accepted.
    await projectMore(() => {
      log.document({ docType: 701, items: [box(31)], counterpartyId: PLACE, acceptedAt: acceptedAt(14) });
      log.document(move);
    });
    expect([await at(PLACE), await at(BRANCH)]).toEqual([0, 1]);
  });

  const received = (sscc: string) =>
    void log.document({ docType: 701, items: [sscc], counterpartyId: PLACE, acceptedAt: acceptedAt(13) });
  const opened = (sscc: string) => void log.document({ docType: 912, items: [sscc], acceptedAt: acceptedAt(14) });

  it('are unknown again when they come again, opened since or not, asked about or not yet', async () => {
    const [UNASKED, GIVEN_UP, TOLD, UNANNOUNCED] = [box(40), box(41), box(42), box(43)] as const;
    const ways: [string, () => void, () => void][] = [
      [UNASKED, () => void isBrought(UNASKED), () => (isBrought(UNASKED), received(UNASKED))],
      [GIVEN_UP, () => comes(GIVEN_UP), () => void isBrought(GIVEN_UP)],
      [TOLD, () => void log.tell(TOLD, [{ id: pack(80), into: TOLD }], isBrought(TOLD)), () => void isBrought(TOLD)],
      [UNANNOUNCED, () => (came += 1), () => ((came += 1), received(UNANNOUNCED))],
    ];
    for (const [sscc, first, again] of ways) {
      await projectMore(() => {
        first();
        received(sscc);
        opened(sscc);
      });
      expect([sscc, await content(sscc)]).toMatchObject([sscc, { isKnown: true, packs: 0 }]);
      const before = await at(PLACE);
      await projectMore(again);
      expect([sscc, await content(sscc)]).toMatchObject([sscc, { isKnown: false, packs: 0 }]);
      expect([sscc, await at(PLACE)]).toEqual([sscc, before + (sscc === GIVEN_UP ? 1 : 0)]);
      await projectMore(() => opened(sscc));
      expect([sscc, await content(sscc)]).toMatchObject([sscc, { isKnown: true, packs: 0 }]);
      expect(await at(PLACE)).toBe(before);
    }
  });

  it('are known to be empty when they came with what documents had told, and all of that was taken out', async () => {
    const FULL = box(44);
    await projectMore(() => {
      came += 1;
      received(FULL);
      opened(FULL);
      log.document({ docType: 911, items: [pack(81)], into: FULL, acceptedAt: acceptedAt(15) });
      isBrought(FULL);
      log.document({ docType: 913, items: [pack(81)], acceptedAt: acceptedAt(13) });
    });
    expect(await content(FULL)).toMatchObject({ isKnown: true, packs: 0 });
    // With nothing in it by our record it comes again.
    await projectMore(() => void isBrought(FULL));
    expect(await content(FULL)).toMatchObject({ isKnown: false, packs: 0 });
  });

  it('are none that the registry told to be empty with one around them, until they come again', async () => {
    const [AROUND, UNASKED, GIVEN_UP] = [box(45), box(46), box(47)] as const;
    const unknown = async () => [await containersUnknown(), await at(PLACE)];
    const [all = 0, here = 0] = await unknown();
    let arrival = { documentId: '', acceptedAt: '' };
    await projectMore(() => {
      comes(GIVEN_UP);
      arrival = isBrought(AROUND);
    });
    expect(await unknown()).toEqual([all + 2, here + 1]);
    const inside = [UNASKED, GIVEN_UP].map((id) => ({ id, into: AROUND }));
    await projectMore(() => void log.tell(AROUND, inside, arrival));
    expect(await unknown()).toEqual([all, here]);
    for (const sscc of [AROUND, UNASKED, GIVEN_UP]) {
      const found = await content(sscc);
      expect([sscc, found]).toMatchObject([sscc, { isKnown: true, packs: 0 }]);
      expect(found.items.filter((one) => one.contentUnknown !== undefined)).toEqual([]);
    }
    await projectMore(() => {
      isBrought(UNASKED);
      comes(GIVEN_UP);
    });
    expect(await unknown()).toEqual([all + 2, here + 1]);
    for (const sscc of [UNASKED, GIVEN_UP]) expect(await content(sscc)).toMatchObject({ isKnown: false });
  });
});

describe('a container in another one', () => {
  const [TOWER, HOLLOW, FILLED, OWN, EMPTY] = [box(50), box(51), box(52), box(53), box(54)] as const;

  it('of unknown content leaves that of the other one unknown, and is named', async () => {
    await projectMore(() => {
      log.document({ docType: 911, items: [pack(90)], into: FILLED });
      log.document({ docType: 911, items: [HOLLOW, FILLED], into: TOWER });
    });
    const found = await content(TOWER);
    expect(found).toMatchObject({
      ...{ isKnown: false, packs: 1, containers: 2 },
      unknown: {
        standing: 'not_asked',
        sentence: `Content unknown: nothing told what is in ${HOLLOW}, which lies in it.`,
      },
    });
    const named = found.items.filter((one) => one.contentUnknown !== undefined);
    expect(named).toMatchObject([
      { item: HOLLOW, contentUnknown: 'Content unknown: nothing told what is in it, and the registry was not asked.' },
    ]);
    await projectMore(() => void log.document({ docType: 911, items: [pack(91)], into: HOLLOW }));
    expect(await content(TOWER)).toMatchObject({ isKnown: true, packs: 2, containers: 2 });
    expect(await content(TOWER, log.head - 1n)).toMatchObject({ isKnown: false });
  });

  it('is empty where the registry told so, which tells all that lies in what it is asked about', async () => {
    const before = await containersUnknown();
    await projectMore(() => void log.tell(OWN, [{ id: EMPTY, into: OWN }], ACCEPTED_AT));
    expect(await content(OWN)).toMatchObject({ isKnown: true, packs: 0, containers: 1 });
    expect(await content(EMPTY)).toMatchObject({ isKnown: true, packs: 0, containers: 0 });
    expect(await content(EMPTY, log.head - 1n)).toBeUndefined();
    expect(await containersUnknown()).toBe(before);
  });
});

it('all containers of unknown content are counted for a recall, by the rule by which each answers for itself', async () => {
  const { rows } = await db.pool.query<{ item: string }>('SELECT item FROM pack_state WHERE length(item) = 18');
  const unknown: string[] = [];
  for (const { item } of rows) {
    const { isKnown, items } = await content(item);
    if (!isKnown && items.length === 0) unknown.push(item);
  }
  expect(unknown.length).toBeGreaterThan(3);
  expect(rows.length - unknown.length).toBeGreaterThan(5);
  expect(await containersUnknown()).toBe(unknown.length);
});

describe('a question about a content', () => {
  it('is told as it stood then, whatever the registry has answered since, of what lies within, too', async () => {
    const [OUTSIDE, INSIDE] = [box(80), box(81)];
    const arrival = { documentId: 'came-81', docType: 601, subjectId: OTHER, acceptedAt: at(18) };
    const answered = (reason: WithheldReason, attempts: number) => ({
      sscc: INSIDE,
      documentId: 'came-81',
      reason,
      attempts,
    });
    const events: ContainerEvent[] = [
      { type: 'ContainerContentAsked', data: { sscc: INSIDE, account: 'main', arrival } },
      { type: 'ContainerContentWithheld', data: answered('access_denied', 1) },
      { type: 'ContainerContentWithheld', data: answered('no_answer', 3) },
      { type: 'ContainerContentWithheld', data: answered('access_denied', 4) },
      { type: 'ContainerContentUnavailable', data: answered('not_found', 12) },
      {
        type: 'ContainerContentAsked',
        data: { sscc: INSIDE, account: 'main', arrival: { ...arrival, documentId: 'again' } },
      },
    ];
    await projectMore(() => {
      log.document({ docType: 701, items: [INSIDE, OUTSIDE], acceptedAt: at(18) });
      log.document({ docType: 911, items: [INSIDE], into: OUTSIDE, acceptedAt: at(19) });
    });
    const answers = new Map<bigint, unknown[]>();
    const both = (ask: (sscc: string) => Promise<unknown>) => Promise.all([INSIDE, OUTSIDE].map(ask));
    for (const event of events) {
      await projectMore(() => void log.addToContainer(INSIDE, event));
      answers.set(log.head, await both((sscc) => content(sscc)));
    }
    const unknown = ([inside]: unknown[]) => (inside as ContainerContent).unknown;
    expect([...answers.values()].map((one) => unknown(one)?.attempts)).toEqual([undefined, 1, 3, 4, 12, undefined]);
    for (const [position, then] of answers) {
      expect([position, await both((sscc) => content(sscc, position))]).toEqual([position, then]);
      const { recordedAt } = log.events[Number(position) - 1]!;
      expect([position, await both((sscc) => content(sscc, recordedAt))]).toEqual([position, then]);
    }
  });
});
