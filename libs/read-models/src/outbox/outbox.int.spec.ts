import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CloudEvent, HTTP } from 'cloudevents';
import { ITEM_WARNING_CODES, type CommandRefused, type ItemWarning } from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import { inTransaction, installationId, installationSchema } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import {
  cloudEventOf,
  MOST_ITEMS_INLINE,
  OUTCOME_DATA,
  OUTCOME_TOPICS,
  type ConclusionData,
  type OutcomeEvent,
  type OutcomeType,
} from './cloud-event.js';
import { OUTCOME_TABLE } from './outcome-table.js';
import { outboxProjection } from './projection.js';
import { newestOutcome, outcomesAfter, outcomesRemovedUpTo, removeOutcomes } from './query.js';

let db: TestDatabase;
let log: LogOfTest;

beforeAll(async () => {
  db = await testDatabase([installationSchema, ...readModelSchemas]);
});
afterAll(() => db.drop());

/** Empties the outbox, projects the log of the test into it, and gives the events that are in it. */
async function outbox(
  events: RecordedEvent[] = log.events,
  store: Pick<EventStore, 'readStream'> = log,
): Promise<OutcomeEvent[]> {
  const projection = outboxProjection({ evidence: log.evidence, documents: jsonDocuments, store });
  await emptyTables(db.pool, projection);
  const { types = [], streamPrefixes = [] } = projection.filter;
  const wanted = events.filter(
    ({ type, stream }) => types.includes(type) && streamPrefixes.some((prefix) => stream.startsWith(prefix)),
  );
  await inTransaction(db.pool, (tx) => projection.project(wanted, tx));
  return (await outcomesAfter(db.pool, 0n, 1_000)).map((one) => JSON.parse(one.body) as OutcomeEvent);
}
const dataOf = (event: OutcomeEvent | undefined) => event?.data as ConclusionData;

describe('the outbox', () => {
  it(
    "tells how a document ended: by the ERP's own reference, item by item, in plain words, with the evidence and " +
      'three times',
    async () => {
      log = new LogOfTest();
      const errors = [{ code: '4', text: 'not the owner', objectId: pack(2) }];
      const position = log.document({
        docType: 552,
        items: [pack(1), pack(2)],
        outcome: 'partial',
        errors,
        reference: 'INV-7',
        acceptedAt: '2026-03-01T10:00:00Z',
      });
      const [event] = await outbox();
      const conclusion = log.events.at(-1)?.data as { documentSha256: string; receiptSha256: string };
      expect(event).toMatchObject({
        type: 'pedigree.document.concluded.v1',
        sequence: String(position).padStart(20, '0'),
        source: `urn:uuid:${await installationId(db.pool)}`,
      });
      expect(event?.data).toMatchObject({
        reference: 'INV-7',
        command_id: 'command-1',
        request_id: event?.subject,
        doc_type: 552,
        outcome: 'partial',
        sentence: 'Accepted in part: the registry refused 1 of 2 items, not the owner.',
        remedy: expect.stringMatching(/^The other items are done\./) as unknown,
        document_sha256: conclusion.documentSha256,
        receipt_sha256: conclusion.receiptSha256,
        operation_date: '2026-02-28T10:00:00+03:00',
        accepted_at: '2026-03-01T10:00:00.000Z',
        known_at: String(position),
        items: {
          count: 2,
          accepted: { count: 1, items: [{ id: pack(1) }] },
          refused: { count: 1, items: [{ id: pack(2), code: '4', text: 'not the owner' }] },
          undetermined: { count: 0, items: [] },
          href: `/v1/documents/${String(event?.subject)}/items`,
        },
      });
    },
  );

  it(
    'tells what waits, what failed and why, what was revised, and that there is a duplicate: each by the shape ' +
      'that is documented',
    async () => {
      log = new LogOfTest();
      const after = [{ commandId: 'command-9', requestId: '00000000-0000-5000-8000-000000000009' }];
      log.hold({ docType: 552, items: [pack(1)] }, after);
      const failed: DocumentOfTest = { docType: 552, items: [pack(2)], outcome: 'failed' };
      const requestId = log.send(failed);
      log.add(requestId, {
        type: 'DuplicateDetected',
        data: { documentIds: ['d-1', 'd-2'], answerSha256: 'a'.repeat(64) },
      });
      log.conclude(requestId, failed);
      log.conclude(requestId, { ...failed, outcome: 'accepted' }, 'failed');
      const events = await outbox();
      const topics = (await outcomesAfter(db.pool, 0n, 10)).map((one) => one.topic);
      expect(topics).toEqual([
        'document.waiting',
        'document.duplicate',
        'document.concluded.failed',
        'document.revised.accepted',
      ]);
      for (const event of events) expect(cloudEventOf(event.type).safeParse(event).error).toBeUndefined();
      expect(events.map((event) => event.data)).toMatchObject([
        {
          waiting_for: [{ command_id: 'command-9', request_id: after[0]?.requestId }],
          sentence: 'Waits until command-9 has concluded.',
        },
        { document_ids: ['d-1', 'd-2'], duplicate: true },
        {
          outcome: 'failed',
          cause: 'registry_failed',
          items: { refused: { count: 1, items: [{ id: pack(2), code: 'registry_failed' }] } },
        },
        { outcome: 'accepted', previous_outcome: 'failed', duplicate: true, items: { accepted: { count: 1 } } },
      ]);
    },
  );

  it('is read by the libraries of others', async () => {
    log = new LogOfTest();
    log.document({ docType: 552, items: [pack(1)] });
    await outbox();
    const [row] = await outcomesAfter(db.pool, 0n, 1);
    const event = HTTP.toEvent({
      headers: { 'content-type': 'application/cloudevents+json' },
      body: row?.body as string,
    }) as CloudEvent;
    expect(event.validate()).toBe(true);
    expect([event.id, event.sequence]).toEqual([row?.id, String(row?.position).padStart(20, '0')]);
  });

  it('lists a result of few items and counts one of many', async () => {
    log = new LogOfTest();
    const items = Array.from({ length: MOST_ITEMS_INLINE + 2 }, (_, n) => pack(n));
    log.document({ docType: 552, items, outcome: 'partial', errors: [{ code: '4', text: 'no', objectId: pack(0) }] });
    log.document({ docType: 552, items: items.slice(2) });
    const [many, few] = await outbox();
    expect(dataOf(many).items).toMatchObject({
      count: MOST_ITEMS_INLINE + 2,
      accepted: { count: MOST_ITEMS_INLINE + 1 },
      refused: { count: 1, items: [{ id: pack(0) }] },
    });
    expect(dataOf(many).items.accepted).not.toHaveProperty('items');
    expect(dataOf(few).items.accepted.items).toHaveLength(MOST_ITEMS_INLINE);
  });

  it('tells of a member of a group which one it is', async () => {
    log = new LogOfTest();
    log.document({ docType: 552, items: [pack(1)] });
    const groupId = '00000000-0000-5000-8000-000000000007';
    Object.assign(log.events[0]?.data as object, { group: { groupId, index: 1, of: 3, kind: 'given' } });
    const [event] = await outbox();
    expect(dataOf(event).group).toEqual({ group_id: groupId, index: 1, of: 3 });
    expect(cloudEventOf('pedigree.document.concluded.v1').safeParse(event).error).toBeUndefined();
  });

  it('tells what was mended in the items of its command, in words', async () => {
    log = new LogOfTest();
    log.document({ docType: 552, items: [pack(1)] });
    const places = [{ field: '/document/order_details/sgtin/0', item: pack(1) }];
    const warnings: ItemWarning[] = ITEM_WARNING_CODES.map((code) => ({ code, count: 1, places }));
    Object.assign(log.events[0]?.data as object, { warnings });
    const [event] = await outbox();
    expect(cloudEventOf('pedigree.document.concluded.v1').safeParse(event).error).toBeUndefined();
    expect(dataOf(event).warnings).toEqual(
      warnings.map((one) => ({ ...one, sentence: expect.stringMatching(/^[A-Z].*\.$/) as unknown })),
    );
    log = new LogOfTest();
    log.document({ docType: 552, items: [pack(1)] });
    expect(dataOf((await outbox())[0])).not.toHaveProperty('warnings');
  });

  describe('of a document that was sent again', () => {
    const before = { commandId: 'resend-2', requestId: '00000000-0000-5000-8000-000000000002' };
    async function told(of: object): Promise<ConclusionData> {
      log = new LogOfTest();
      log.document({ docType: 552, items: [pack(1)], reference: 'own' });
      Object.assign(log.events[0]?.data as object, of);
      const [event] = await outbox();
      expect(cloudEventOf('pedigree.document.concluded.v1').safeParse(event).error).toBeUndefined();
      return dataOf(event);
    }

    it('is told under the first command of the ERP and its reference, and names the one that it replaces', async () => {
      const ids = {
        command_id: 'erp-1',
        reference: 'INV-1',
        resend_of: before.requestId,
        resend_command_id: 'command-1',
      };
      expect(await told({ resendOf: before, firstCommand: { commandId: 'erp-1', reference: 'INV-1' } })).toMatchObject(
        ids,
      );
      expect(
        await told({ supersedes: before, firstCommand: { commandId: 'erp-1', reference: 'INV-1' } }),
      ).toMatchObject(ids);
    });

    it('is told under its own reference where the first command had none', async () => {
      expect(await told({ resendOf: before, firstCommand: { commandId: 'erp-1' } })).toMatchObject({
        command_id: 'erp-1',
        reference: 'own',
      });
    });

    it('by an older version is told under the command that it replaces, for nothing before that is in its log', async () => {
      expect(await told({ resendOf: before })).toMatchObject({
        command_id: 'resend-2',
        reference: 'own',
        resend_of: before.requestId,
        resend_command_id: 'command-1',
      });
    });

    it('and of no other says nothing of the kind', async () => {
      expect(Object.keys(await told({})).filter((name) => name.startsWith('resend'))).toEqual([]);
    });
  });

  it('reads a stream that is longer than one read gives', async () => {
    log = new LogOfTest();
    log.document({ docType: 552, items: [pack(1)] });
    const whole = await outbox();
    const inPairs: Pick<EventStore, 'readStream'> = {
      readStream: async (stream, { fromVersion = 0 } = {}) =>
        (await log.readStream(stream)).slice(fromVersion, fromVersion + 2),
    };
    expect(await outbox(log.events, inPairs)).toEqual(whole);
  });

  it('says nothing of what came later than the event', async () => {
    log = new LogOfTest();
    const requestId = log.send({ docType: 552, items: [pack(1)] });
    log.add(requestId, {
      type: 'DuplicateDetected',
      data: { documentIds: ['d-1', 'd-2'], answerSha256: 'a'.repeat(64) },
    });
    const before = await outbox();
    log.conclude(requestId, { docType: 552, items: [pack(1)] });
    expect((await outbox())[0]).toEqual(before[0]);
  });

  it('halts rather than tell half an outcome when evidence is missing', async () => {
    log = new LogOfTest();
    log.document({ docType: 552, items: [pack(1)] });
    log.evidence.blobs.clear();
    await expect(outbox()).rejects.toThrow(/evidence [0-9a-f]{64}, named by DocumentConcluded .* is missing/);
  });

  it('covers every documented type of a document, and documents every type that it can tell', async () => {
    const told = new Set<OutcomeType>();
    log = new LogOfTest();
    const requestId = log.hold({ docType: 552, items: [pack(1)] }, [
      { commandId: 'c', requestId: '00000000-0000-5000-8000-000000000009' },
    ]);
    log.add(requestId, {
      type: 'DocumentHeld',
      data: {
        hold: {
          kind: 'after',
          for: { commandId: 'c', requestId: '00000000-0000-5000-8000-000000000009' },
          outcome: 'failed',
        },
      },
    });
    log.add(requestId, {
      type: 'DuplicateDetected',
      data: { documentIds: ['d-1', 'd-2'], answerSha256: 'a'.repeat(64) },
    });
    log.conclude(requestId, { docType: 552, items: [pack(1)], outcome: 'failed' });
    log.conclude(requestId, { docType: 552, items: [pack(1)] }, 'failed');
    for (const event of await outbox()) told.add(event.type);
    for (const { type, topic } of await outcomesAfter(db.pool, 0n, 100))
      expect(OUTCOME_TOPICS[type as OutcomeType]).toContain(topic);
    const ofDocuments = Object.keys(OUTCOME_DATA).filter((type) => type.startsWith('pedigree.document.'));
    expect([...told].sort()).toEqual(ofDocuments.sort());
    expect(told.size).toBe(Object.keys(OUTCOME_TABLE).length);
  });
});

describe('a document that is held', () => {
  const suspended = { gtin: '04600000000015', series: 'A1', suspensions: ['s-1'], packs: [pack(1)], packCount: 1 };
  const finding = { series: [suspended], packCount: 1, unknown: { items: [pack(2)], itemCount: 1 }, knownAt: '7' };

  it('for a suspended series, and then by a person too, says of both what they are', async () => {
    log = new LogOfTest();
    const requestId = log.send({ docType: 415, items: [pack(1), pack(2)] });
    log.add(requestId, { type: 'DocumentHeld', data: { hold: { kind: 'suspension', ...finding } } });
    const hold = { kind: 'person', number: 1, by: 'anna', reason: 'quality looks' } as const;
    log.add(requestId, { type: 'DocumentHeld', data: { hold } });
    const events = await outbox();
    for (const event of events)
      expect(cloudEventOf('pedigree.document.held.v1').safeParse(event).error).toBeUndefined();
    const forSuspension = {
      series: [{ gtin: '04600000000015', series: 'A1', suspensions: ['s-1'], packs: [pack(1)], pack_count: 1 }],
      ...{ pack_count: 1, unknown: { items: [pack(2)], item_count: 1 }, known_at: '7' },
    };
    const byPerson = { by: 'anna', reason: 'quality looks' };
    const told = (events as OutcomeEvent<'pedigree.document.held.v1'>[]).map(({ data }) => [
      ...[data.held_for, data.held_for_suspension, data.held_by_person],
    ]);
    expect(told).toEqual([
      [[], forSuspension, undefined],
      [[], forSuspension, byPerson],
    ]);
    expect(events.map(({ data }) => 'sentence' in data && data.sentence)).toEqual([
      expect.stringMatching(/suspended/),
      expect.stringMatching(/quality looks/),
    ]);
  });
});

describe('a stock file', () => {
  it('that came whole is told once, with what names it', async () => {
    log = new LogOfTest();
    const uploadId = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
    const fileSha256 = 'ab'.repeat(32);
    const moment = '2026-11-22T20:00:00.000Z';
    log.upload({
      ...{ uploadId, name: 'stock.csv', file: 'stock-ab.csv', byteLength: 46, fileSha256, lines: 2, moment },
      ...{ openedAt: '2026-11-23T12:00:00.000Z', openedBy: 'erp' },
    });
    const events = await outbox();
    expect(events).toHaveLength(1);
    expect(cloudEventOf('pedigree.stock.uploaded.v1').safeParse(events[0]).error).toBeUndefined();
    expect((await outcomesAfter(db.pool, 0n, 10)).map((one) => one.topic)).toEqual(
      OUTCOME_TOPICS['pedigree.stock.uploaded.v1'],
    );
    expect(events[0]).toMatchObject({
      subject: uploadId,
      data: {
        upload_id: uploadId,
        name: 'stock.csv',
        file: 'stock-ab.csv',
        bytes: 46,
        sha256: fileSha256,
        lines: 2,
        moment,
      },
    });
  });
});

describe('a command that the bus refused', () => {
  const refusal = {
    deadLetterId: 'l-1',
    messageId: 'm-1',
    commandId: 'erp-1',
    reference: 'INV-1',
    code: 'invalid_command',
    text: '/prio: is not a field of a command',
    place: { field: '/prio' },
  };
  async function told(data: CommandRefused['data']) {
    log = new LogOfTest();
    log.refuse(data);
    const [event] = await outbox();
    expect(cloudEventOf('pedigree.command.refused.v1').safeParse(event).error).toBeUndefined();
    expect((await outcomesAfter(db.pool, 0n, 10)).map((one) => one.topic)).toEqual(['command.refused']);
    return event as OutcomeEvent<'pedigree.command.refused.v1'>;
  }

  it('is told by its own id and reference, with code, place and where the message lies', async () => {
    const { subject, data } = await told(refusal);
    expect(subject).toBe('l-1');
    expect(data).toEqual({
      command_id: 'erp-1',
      reference: 'INV-1',
      message_id: 'm-1',
      code: 'invalid_command',
      place: { field: '/prio' },
      dead_letter_id: 'l-1',
      sentence: 'Refused: /prio: is not a field of a command.',
      remedy: expect.stringMatching(/^Mend the message/) as unknown,
      known_at: '1',
      href: '/v1/operations/dead-letters/l-1',
    });
  });

  it('is told by the message alone where no name could be read', async () => {
    const { data } = await told({
      deadLetterId: 'l-1',
      messageId: 'm-1',
      code: 'invalid_json',
      text: 'the body is not JSON',
    });
    expect([data.command_id, data.message_id, data.dead_letter_id]).toEqual([undefined, 'm-1', 'l-1']);
  });

  it('through a fault of ours is told so, without our inner words, and is not to be published again', async () => {
    const { data } = await told({
      ...refusal,
      code: 'delivery_limit',
      text: 'it was delivered 10 times; the last fault: cannot read x of undefined',
    });
    expect([data.sentence, data.remedy]).toEqual([
      'Refused: our own code failed on it each time that it was delivered.',
      expect.stringMatching(/Do not publish it again/),
    ]);
  });

  it('as the last one of a flood says until when others are not told', async () => {
    const { data } = await told({ ...refusal, silentUntil: '2026-11-23T00:00:00.000Z' });
    expect([data.silent_until, data.sentence]).toEqual([
      '2026-11-23T00:00:00.000Z',
      expect.stringContaining('others are not told before 2026-11-23T00:00:00.000Z'),
    ]);
  });
});

describe('reading and keeping outcomes', () => {
  beforeAll(async () => {
    log = new LogOfTest();
    for (let n = 0; n < 10; n += 1) log.document({ docType: 552, items: [pack(n)] });
    await outbox();
  });

  it('goes page by page in log order', async () => {
    const all = await outcomesAfter(db.pool, 0n, 100);
    const first = await outcomesAfter(db.pool, 0n, 4);
    const rest = await outcomesAfter(db.pool, first.at(-1)?.position ?? 0n, 100);
    expect([...first, ...rest]).toEqual(all);
    expect(all.map((one) => one.position)).toEqual([...all.map((one) => one.position)].sort((a, b) => Number(a - b)));
    expect(await newestOutcome(db.pool)).toBe(all.at(-1)?.position);
  });

  it('removes what is old and delivered, within a limit, and keeps up to where', async () => {
    const all = await outcomesAfter(db.pool, 0n, 100);
    const late = new Date('2100-01-01T00:00:00Z');
    expect(await removeOutcomes(db.pool, { before: new Date(0), upTo: 1_000n, limit: 100 })).toBe(0);
    expect(await outcomesRemovedUpTo(db.pool)).toBe(0n);
    expect(await removeOutcomes(db.pool, { before: late, upTo: all[4]?.position as bigint, limit: 3 })).toBe(3);
    expect(await outcomesRemovedUpTo(db.pool)).toBe(all[2]?.position);
    expect(await removeOutcomes(db.pool, { before: late, upTo: all[4]?.position as bigint, limit: 3 })).toBe(2);
    expect(await outcomesAfter(db.pool, 0n, 100)).toEqual(all.slice(5));
    await removeOutcomes(db.pool, { before: late, upTo: 1_000n, limit: 100 });
    expect(await newestOutcome(db.pool)).toBe(all.at(-1)?.position);
  });

  it('looks at few rows for those that are old, however many are not', async () => {
    await db.pool.query('TRUNCATE outcome_event, outcome_removed');
    await db.pool.query(
      `INSERT INTO outcome_event SELECT n, gen_random_uuid(), 't', 'document.waiting', 's' || n, '{}', now()
       FROM generate_series(1, 20_000) AS n`,
    );
    await db.pool.query('ANALYZE outcome_event');
    const plans: string[] = [];
    const explained = {
      query: async ({ text, values }: { text: string; values: unknown[] }) => {
        const { rows } = await db.pool.query<object>(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
        plans.push(JSON.stringify(rows));
        return { rows: [] };
      },
    };
    await removeOutcomes(explained as never, { before: new Date(0), upTo: 20_000n, limit: 10 });
    const counted = /"(?:Actual Rows|Rows Removed by Filter)": ?([\d.]+)/g;
    const most = [...(plans[0] ?? '').matchAll(counted)].map(([, rows]) => Number(rows));
    expect(most.length).toBeGreaterThan(0);
    expect(Math.max(...most)).toBeLessThanOrEqual(10);
  });
});
