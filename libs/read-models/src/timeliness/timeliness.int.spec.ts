import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { typeKnowledge } from '#documents';
import { documentStream, readCalendar, type InboundSeen, type Registration } from '#domain';
import type { EventStore } from '#event-store';
import { EvidenceDamaged } from '#evidence';
import { isSscc, PedigreeError } from '#kernel';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';

import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, DIGEST, jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import { documentOutcomesProjection } from '../document-outcomes/projection.js';
import type { DutyRow, TimelinessQuery } from '../port.js';
import { PostgresReadModels } from '../postgres-read-models.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { nearToAnswer, nearToSend, unknownDeadlines } from './figures.js';
import { timelinessProjection } from './projection.js';
import { listTimeliness, type TimelinessSources } from './query.js';

const RULE = { clause: 'Made-up rule', edition: '1', validFrom: '2026-01-01' };
const SENDER = { role: 'sender', channel: 'api', startsAt: 'operation_date', ...RULE };
const TOLD = { role: 'receiver', channel: 'counterparty', ...RULE };
const WORKED = {
  zone: 'Europe/Moscow',
  workingDays: { from: '2026-01-01', to: '2026-12-31', weekend: [], holidays: [], workingWeekendDays: [] },
};
/** Hours, so that a test of an hour can be late. */
const CALENDAR = readCalendar({
  fictitious: 'Made up for a test.',
  name: 'Hours',
  edition: '7',
  ...WORKED,
  deadlines: [
    { ...SENDER, docTypes: [415], limit: { hours: 1 }, metWhen: 'sent' },
    { ...SENDER, docTypes: [552], limit: { hours: 1 }, metWhen: 'accepted' },
    { ...SENDER, docTypes: [313], startsAt: 'known', limit: { hours: 1 }, metWhen: 'sent' },
    { ...SENDER, docTypes: [415], channel: 'cabinet', limit: { hours: 1 }, metWhen: 'sent' },
    { ...TOLD, docTypes: [601], startsAt: 'known', limit: { hours: 1 }, metWhen: 'accepted', metBy: [701] },
  ],
  withoutDeadline: [
    { docTypes: [701, 911], role: 'sender', reason: 'It answers.' },
    { docTypes: [602, 605], role: 'receiver', reason: 'Another calendar speaks of them.' },
  ],
});
/** Every event of the log takes a minute, from 08:01 on: before that hour is over, nothing of 08:00 is late. */
const [IN_TIME, TOO_LATE] = ['2026-03-01T08:00:00Z', '2026-03-01T05:00:00Z'];
const NOW = new Date('2026-03-02T00:00:00Z');

let db: TestDatabase;
let sources: TimelinessSources;
const log = new LogOfTest();
const named: Record<string, string> = {};

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  sources = {
    pool: db.pool,
    evidence: log.evidence,
    documents: jsonDocuments,
    types: typeKnowledge,
    store: log,
    calendar: CALENDAR,
    now: NOW,
  };
  ours();
  theirs();
  sentAgain();
  await project();
});
afterAll(() => db.drop());

const shipment = (n: number, operationDate: string): DocumentOfTest => ({
  docType: 415,
  items: [pack(n)],
  operationDate,
});

function ours(): void {
  named['on time'] = log.send(shipment(1, IN_TIME));
  named['told late'] = log.send(shipment(2, TOO_LATE));
  log.conclude(named['told late'], shipment(2, TOO_LATE));
  const rejected: DocumentOfTest = { ...shipment(3, '2026-03-01T07:20:00Z'), outcome: 'rejected', account: 'north' };
  named['rejected'] = log.send(rejected);
  log.conclude(named['rejected'], rejected);
  // Due at 08:20, which the log passes while this one waits.
  const waiting = shipment(4, '2026-03-01T07:20:00Z');
  named['waited'] = log.hold(waiting, [{ commandId: 'x', requestId: 'x' }]);
  for (let n = 10; n < 13; n += 1) log.document({ docType: 701, items: [pack(n)], operationDate: IN_TIME });
  log.add(named['waited'], { type: 'DocumentReleased', data: {} });
  log.sent(named['waited'], waiting);
  named['resent'] = resend(rejected, named['rejected']);
  named['slow'] = log.send({ docType: 552, items: [pack(5)], operationDate: '2026-03-01T07:40:00Z' });
  named['unlisted'] = log.send({ docType: 431, items: [pack(6)], operationDate: IN_TIME });
  named['no instant'] = log.send({ ...shipment(7, '2026-03-01') });
  named['no deadline'] = log.send({ docType: 701, items: [pack(8)], operationDate: IN_TIME });
}

function resend(of: DocumentOfTest, first: string): string {
  const data: Registration = { ...log.registration(of), resendOf: { commandId: 'first', requestId: first } };
  log.add(data.requestId, { type: 'DocumentRegistered', data });
  log.add(first, { type: 'DocumentResent', data: { by: data } });
  return log.sent(data.requestId, of);
}

/** Two hours after what ended badly: every limit is an hour. */
function sentAgain(): void {
  const later = (of: DocumentOfTest): string => {
    const requestId = log.send(of);
    log.conclude(requestId, { ...of, outcome: 'rejected' });
    log.now(120);
    return requestId;
  };
  const known = { docType: 313, items: [pack(20)] };
  named['known again'] = resend(known, later(known));
  const third = resend(known, later(known));
  log.conclude(third, { ...known, outcome: 'failed' });
  named['known once more'] = resend(known, third);
  const halted = later(known);
  const member: Registration = { ...log.registration(known), supersedes: { commandId: 'first', requestId: halted } };
  named['resumed'] = member.requestId;
  log.add(member.requestId, { type: 'DocumentRegistered', data: member });
  log.add(halted, { type: 'DocumentSuperseded', data: { by: member, groupId: 'g' } });
  const claimed = later(shipment(21, '2026-03-01T16:00:00Z'));
  named['with another date'] = resend(shipment(21, '2026-03-01T23:00:00Z'), claimed);
  const early = later(shipment(22, '2026-03-01T23:30:00Z'));
  named['with an earlier date'] = resend(shipment(22, '2026-03-01T15:30:00Z'), early);
}

/** What another participant tells, of these packs; without bytes where `items` is absent. */
function told(
  documentId: string,
  items?: string[],
  { operationDate: claimed, ...seen }: Partial<InboundSeen['data']> & { operationDate?: string } = {},
): void {
  const operationDate = claimed ?? (seen.direction === 'outgoing' ? TOO_LATE : '');
  const place = { docType: seen.docType ?? 601, subjectId: '00000000000999', counterpartyId: '00000000000464' };
  const base = { documentId, direction: 'incoming', channel: 'counterparty', docType: 601 } as const;
  const at = { account: 'main', status: 'processed', answerSha256: DIGEST } as const;
  log.addInbound(documentId, { type: 'InboundSeen', data: { ...base, ...at, ...seen } });
  if (items === undefined) return;
  const facts = { ...place, element: 'x', schemaVersion: '1.38', operationDate, fields: {} };
  const bytes = Buffer.from(
    JSON.stringify({ ...facts, items: items.map((id) => ({ kind: isSscc(id) ? 'sscc' : 'sgtin', id })) }),
  );
  const documentSha256 = log.evidence.keep(bytes);
  const content = { ...place, operationDate, itemCount: items.length };
  log.addInbound(documentId, {
    type: 'InboundDownloaded',
    data: { documentId, documentSha256, byteLength: 9, content },
  });
  if (claimed !== undefined) return;
  const { direction, channel } = { ...base, ...seen };
  const acceptedAt = '2026-03-01T08:30:00Z';
  const concluded = { documentId, outcome: 'accepted', isReadable: true, acceptedAt } as const;
  log.addInbound(documentId, {
    type: 'InboundConcluded',
    data: { ...concluded, direction, channel, docType: place.docType, documentSha256 },
  });
}

function theirs(): void {
  for (const [n, documentId] of ['answered', 'half', 'unanswered', 'answered late'].entries())
    told(documentId, [pack(50 + 2 * n), pack(51 + 2 * n)]);
  told('no bytes');
  told('adopted', [pack(90)], { direction: 'outgoing', channel: 'cabinet', docType: 415, receivedAt: IN_TIME });
  told('recognised', [pack(91)]);
  log.addInbound('recognised', { type: 'InboundRecognised', data: { documentId: 'recognised', requestId: 'r' } });
  // One pack in a document, accepted one after the other: the second one meets the deadline.
  const answer = (n: number, acceptedAt: string) => ({ docType: 701, items: [pack(n)], acceptedAt });
  for (const n of [50, 51, 52]) log.document(answer(n, `2026-03-01T09:${n}:00Z`));
  log.document(answer(51, '2026-03-01T12:00:00Z'));
  // Before it was told, and one that turned out to be rejected: neither answers anything.
  log.document(answer(54, '2026-03-01T08:29:59Z'));
  const revised = log.send(answer(55, '2026-03-01T09:55:00Z'));
  log.conclude(revised, answer(55, '2026-03-01T09:55:00Z'));
  log.conclude(revised, { ...answer(55, '2026-03-01T09:55:00Z'), outcome: 'rejected' }, 'accepted');
  named['answers late'] = log.send({ docType: 701, items: [pack(56), pack(57)] });
  log.conclude(named['answers late'], {
    docType: 701,
    items: [pack(56), pack(57)],
    acceptedAt: '2026-03-01T20:00:00Z',
  });
  // Of another participant, of another type, and rejected: none of them answers anything.
  told('of another', [pack(54), pack(55)], { docType: 701 });
  log.document({ docType: 552, items: [pack(54), pack(55)], operationDate: IN_TIME });
  log.document({ docType: 701, items: [pack(54), pack(55)], outcome: 'rejected' });
  inBoxes();
  inAnotherOrder();
  again();
  told('taken back', [pack(95), pack(96)], { docType: 602 });
  told('takes back', [pack(95), pack(96)], { docType: 605 });
  told('taken back in part', [pack(97), pack(98)], { docType: 602 });
  told('takes back a part', [pack(97)], { docType: 605 });
}

/** The registry accepts last what it took first. */
function inAnotherOrder(): void {
  told('sent in another order', [pack(80), pack(81)], { docType: 602 });
  const answer = (n: number) => ({ docType: 701, items: [pack(n)] });
  const [first, second] = [log.send(answer(80)), log.send(answer(81))];
  log.conclude(second, { ...answer(81), acceptedAt: '2026-03-01T23:00:00Z' });
  log.conclude(first, { ...answer(80), acceptedAt: '2026-03-01T23:30:00Z' });
  const sent = log.events.find(({ stream, type }) => stream === documentStream(second) && type === 'DocumentSent');
  named['sent last'] = sent?.recordedAt.toISOString() ?? '';
  [named['taken last'], named['accepted last']] = [second, first];
}

/** What came before, went back and comes again; when the registry accepted that is not known. */
function again(): void {
  const pack82 = { docType: 701, items: [pack(82)] };
  log.document({ ...pack82, acceptedAt: '2026-02-01T09:00:00Z' });
  const unconcluded = { docType: 602, operationDate: '2026-03-01T08:00:00Z' };
  told('comes again', [pack(82)], unconcluded);
  told('is answered again', [pack(83)], unconcluded);
  log.document({ ...pack82, items: [pack(83)], acceptedAt: '2026-03-01T10:00:00Z' });
  const receivedAt = '2026-03-01T08:30:00Z';
  told('claims a later day', [pack(84)], { docType: 602, operationDate: '2026-03-01T23:00:00Z', receivedAt });
  told('came back without a claim', [pack(85)], { docType: 602, operationDate: '', receivedAt });
  log.document({ ...pack82, items: [pack(84)], acceptedAt: '2026-03-01T10:00:00Z' });
  log.document({ ...pack82, items: [pack(85)], acceptedAt: '2026-02-01T09:00:00Z' });
}

/** Containers that were told by their own names alone, and answered by what is in them, or by name. */
function inBoxes(): void {
  const packed = { docType: 911, acceptedAt: '2026-03-01T08:00:00Z' };
  log.document({ ...packed, items: [pack(70), pack(71)], into: box(1) });
  log.document({ ...packed, items: [pack(72), pack(73)], into: box(2) });
  log.document({ ...packed, items: [pack(74)], into: box(3) });
  for (const [n, documentId] of ['in a box', 'in a box, half', 'box by its name', 'box of unknown content'].entries())
    told(documentId, [box(n + 1)]);
  told('boxes both ways, and a pack', [box(3), box(1), pack(75)]);
  const answer = { docType: 701, acceptedAt: '2026-03-01T09:10:00Z' };
  for (const n of [70, 72]) log.document({ ...answer, items: [pack(n)] });
  log.document({ ...answer, items: [pack(71)], acceptedAt: '2026-03-01T09:11:00Z' });
  log.document({ ...answer, items: [box(3)], acceptedAt: '2026-03-01T09:20:00Z' });
}

async function project(): Promise<void> {
  const parts = { evidence: log.evidence, documents: jsonDocuments };
  for (const projection of [timelinessProjection(), sgtinHistoryProjection(parts), documentOutcomesProjection()]) {
    const { streamPrefixes = [], types } = projection.filter;
    const wanted = log.events.filter(
      ({ stream, type }) =>
        streamPrefixes.some((prefix) => stream.startsWith(prefix)) && types?.includes(type) !== false,
    );
    await inTransaction(db.pool, (tx) => projection.project(wanted, tx));
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())`, [
      `projection:${projection.name}`,
      log.head,
    ]);
  }
}

async function all(query: TimelinessQuery = {}, of: Partial<TimelinessSources> = {}): Promise<DutyRow[]> {
  const rows: DutyRow[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 2_000; pages += 1) {
    const page = await listTimeliness({ ...sources, ...of }, { ...query, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === undefined) return rows;
  }
  throw new Error('the report has no end');
}
const idOf = (row: DutyRow): string => row.requestId ?? row.documentId ?? '';
const rowOf = async (id: string, of: Partial<TimelinessSources> = {}): Promise<DutyRow | undefined> =>
  (await all({}, of)).find((row) => idOf(row) === (named[id] ?? id));

describe('the report on deadlines', () => {
  it.each<[string, object]>([
    ['on time', { state: 'on_time', dueAt: '2026-03-01T09:00:00.000Z', metWhen: 'sent' }],
    ['told late', { state: 'late', cause: 'told_late', daysLate: 1, dueAt: '2026-03-01T06:00:00.000Z' }],
    ['waited', { state: 'late', cause: 'predecessor', dueAt: '2026-03-01T08:20:00.000Z' }],
    ['rejected', { state: 'replaced', outcome: 'rejected', account: 'north' }],
    ['resent', { state: 'late', cause: 'rejected_and_resent', account: 'north' }],
    ['slow', { state: 'overdue', cause: 'told_late', metWhen: 'accepted' }],
    ['unlisted', { state: 'not_known', why: 'not_listed' }],
    ['no instant', { state: 'not_known', why: 'not_started', operationDate: '2026-03-01' }],
    ['no deadline', { state: 'no_deadline' }],
    ['known again', { state: 'late', cause: 'rejected_and_resent', daysLate: 1 }],
    ['known once more', { state: 'late', cause: 'rejected_and_resent' }],
    ['resumed', { state: 'overdue', cause: 'rejected_and_resent' }],
    [
      'with another date',
      {
        state: 'late',
        cause: 'rejected_and_resent',
        startedAt: '2026-03-01T16:00:00.000Z',
        operationDate: '2026-03-01T23:00:00Z',
      },
    ],
    ['with an earlier date', { state: 'late', startedAt: '2026-03-01T15:30:00.000Z' }],
    ['adopted', { state: 'late', cause: 'past_this_system', role: 'sender', channel: 'cabinet' }],
    ['answered', { state: 'on_time', itemsAnswered: 2, doneAt: '2026-03-01T09:51:00.000Z' }],
    ['half', { state: 'overdue', cause: 'registry_slow', items: 2, itemsAnswered: 1 }],
    ['unanswered', { state: 'overdue', cause: 'not_answered', items: 2, itemsAnswered: 0 }],
    ['answered late', { state: 'late', daysLate: 1, doneAt: '2026-03-01T20:00:00.000Z', cause: 'registry_slow' }],
    ['in a box', { state: 'on_time', items: 1, itemsAnswered: 1, doneAt: '2026-03-01T09:11:00.000Z' }],
    ['in a box, half', { state: 'overdue', items: 1, itemsAnswered: 0 }],
    ['box by its name', { state: 'on_time', itemsAnswered: 1, doneAt: '2026-03-01T09:20:00.000Z' }],
    ['boxes both ways, and a pack', { state: 'overdue', items: 3, itemsAnswered: 2 }],
    ['box of unknown content', { state: 'overdue', itemsAnswered: 0 }],
    ['no bytes', { state: 'not_known', why: 'content_not_known' }],
  ])('%s', async (id, expected) => expect(await rowOf(id)).toMatchObject(expected));

  it('asks no answer to what was taken back, as far as the calendar says by what', async () => {
    const row = { ...TOLD, docTypes: [602], startsAt: 'known', limit: { hours: 1 }, metWhen: 'accepted', metBy: [701] };
    const by = (deadline: object) =>
      readCalendar({ ...WORKED, name: 'Taken back', edition: '1', deadlines: [deadline], withoutDeadline: [] });
    const [silent, telling] = [by(row), by({ ...row, endedBy: [605] })];
    expect(await rowOf('taken back', { calendar: silent })).toMatchObject({ state: 'overdue', itemsAnswered: 0 });
    expect(await rowOf('taken back', { calendar: telling })).toMatchObject({
      ...{ state: 'on_time', itemsAnswered: 2, doneAt: expect.stringMatching(/^2026-03-01T08:30:00/) },
    });
    const inPart = { state: 'overdue', cause: 'not_answered', items: 2, itemsAnswered: 1 };
    expect(await rowOf('taken back in part', { calendar: telling })).toMatchObject(inPart);
  });

  it('takes what the registry took last for the end of an answer, whatever it accepts last', async () => {
    const row = { ...TOLD, docTypes: [602], startsAt: 'known', limit: { hours: 9 }, metWhen: 'sent', metBy: [701] };
    const calendar = readCalendar({
      ...{ ...WORKED, name: 'By the send', edition: '1', deadlines: [row], withoutDeadline: [] },
    });
    expect(await rowOf('sent in another order', { calendar })).toMatchObject({
      ...{ state: 'on_time', itemsAnswered: 2, doneAt: named['sent last'], answeredBy: named['taken last'] },
    });
    const byAcceptance = readCalendar({
      ...{ ...WORKED, name: 'By the acceptance', edition: '1', withoutDeadline: [] },
      deadlines: [{ ...row, metWhen: 'accepted' }],
    });
    expect(await rowOf('sent in another order', { calendar: byAcceptance })).toMatchObject({
      ...{ doneAt: '2026-03-01T23:30:00.000Z', answeredBy: named['accepted last'] },
    });
  });

  it('takes no answer of before for one to what comes again, where its acceptance is not known', async () => {
    const row = { ...TOLD, docTypes: [602], startsAt: 'known', limit: { hours: 1 }, metWhen: 'accepted', metBy: [701] };
    const calendar = readCalendar({
      ...{ ...WORKED, name: 'Again', edition: '1', deadlines: [row], withoutDeadline: [] },
    });
    expect(await rowOf('comes again', { calendar })).toMatchObject({ state: 'overdue', itemsAnswered: 0 });
    expect(await rowOf('is answered again', { calendar })).toMatchObject({ itemsAnswered: 1 });
    expect(await rowOf('claims a later day', { calendar })).toMatchObject({ itemsAnswered: 1 });
    expect(await rowOf('came back without a claim', { calendar })).toMatchObject({ itemsAnswered: 0 });
  });

  it('names the clause, and the calendar with what it says of itself, wherever something is due', async () => {
    const page = await listTimeliness(sources, {});
    const calendar = { name: 'Hours', edition: '7', fictitious: 'Made up for a test.' };
    expect(page).toMatchObject({ calendar, asOf: NOW.toISOString(), upTo: String(log.head) });
    // A file has the rows alone, and what has no deadline rests on the calendar too.
    expect(new Set(page.items.map(({ state }) => state)).size).toBeGreaterThan(4);
    for (const row of page.items) expect(row).toMatchObject({ calendar });
    for (const { dueAt, dueBy } of page.items)
      expect(dueBy).toEqual(dueAt === undefined ? undefined : { clause: 'Made-up rule', edition: '1', calendar });
  });

  it('tells no other due moment of a document than the document itself does, in a list and alone', async () => {
    const read = { pool: db.pool, evidence: log.evidence, documents: jsonDocuments, types: typeKnowledge };
    const models = new PostgresReadModels({ ...read, store: log as unknown as EventStore, calendar: CALENDAR });
    const listed = new Map((await models.documents({ limit: 1_000 })).items.map((one) => [one.requestId, one.dueAt]));
    for (const { requestId = '', dueAt } of await all({ role: 'sender' })) {
      if (!listed.has(requestId)) continue;
      expect([requestId, listed.get(requestId)]).toEqual([requestId, dueAt]);
      expect((await models.document(requestId))?.dueAt).toBe(dueAt);
    }
    expect(listed.size).toBeGreaterThan(20);
  });

  it('knows nothing without a calendar, and says so of every document', async () => {
    const rows = await all({}, { calendar: undefined });
    expect(rows.length).toBeGreaterThan(15);
    for (const row of rows) expect(row).toMatchObject({ state: 'not_known', why: 'no_calendar' });
    for (const row of rows) expect(row).not.toHaveProperty('calendar');
    expect(await listTimeliness({ ...sources, calendar: undefined }, { late: true })).not.toHaveProperty('calendar');
  });

  it('leaves out what turned out to be ours, and takes each document once, in pages of any size', async () => {
    const whole = await all({ limit: 1_000 });
    expect(whole.map(idOf)).not.toContain('recognised');
    expect(new Set(whole.map(idOf)).size).toBe(whole.length);
    for (const limit of [1, 2, 7]) expect(await all({ limit })).toEqual(whole);
    const late = whole.filter(({ state, why = '' }) => /late|overdue|content_not_known/.test(`${state} ${why}`));
    expect(late.map(idOf)).toContain('no bytes');
    for (const limit of [1, 3, 100]) {
      expect(await all({ late: true, limit })).toEqual(late);
      expect(await all({ late: false, limit })).toEqual(whole);
    }
  });

  it('can be asked for a role, a type, an account and days', async () => {
    const whole = await all();
    const only = (keep: (row: DutyRow) => boolean): DutyRow[] => whole.filter(keep);
    expect(await all({ role: 'receiver' })).toEqual(only(({ role }) => role === 'receiver'));
    expect(await all({ role: 'sender' })).toEqual(only(({ role }) => role === 'sender'));
    expect(await all({ docType: 552 })).toEqual(only(({ docType }) => docType === 552));
    expect(await all({ account: 'north' })).toEqual(only(({ account }) => account === 'north'));
    const days = { operationFrom: new Date('2026-03-01T07:20:00Z'), operationTo: new Date('2026-03-01T07:40:00Z') };
    expect((await all(days)).map(idOf).sort()).toEqual(['waited', 'rejected', 'resent'].map((id) => named[id]).sort());
    const known = new Date((await rowOf('no instant'))?.knownAt ?? '');
    const then = await all({ operationFrom: known, operationTo: new Date(known.getTime() + 1) });
    expect(then.map(idOf)).toContain(named['no instant']);
  });

  it.each(['', 'x', 'MTox', Buffer.from('2:1:99999999999999999999').toString('base64url')])(
    'refuses the cursor %p by name',
    async (cursor) => expect(listTimeliness(sources, { cursor })).rejects.toMatchObject({ place: { field: 'cursor' } }),
  );
});

describe('what is told before it is too late', () => {
  it('counts what is not sent: near, and too late', async () => {
    const at = (now: string) => nearToSend(db.pool, CALENDAR, { now: new Date(now), soonMs: 3_600_000 });
    // 552 is not accepted yet, due at 08:40; every 415 in flight was sent.
    expect(await at('2026-03-01T07:39:59.999Z')).toEqual([]);
    for (const now of ['2026-03-01T07:40:00Z', '2026-03-01T08:39:59.999Z'])
      expect(await at(now)).toEqual([{ role: 'sender', docType: 552, near: 1, breached: 0 }]);
    expect(await at('2026-03-01T08:40:00Z')).toEqual([{ role: 'sender', docType: 552, near: 0, breached: 1 }]);
  });

  it('counts what was sent in place of another by when the first one was known', async () => {
    const registered = log.events.findLast(({ type }) => type === 'DocumentSuperseded') as { recordedAt: Date };
    const now = new Date(registered.recordedAt.getTime() + 60_000);
    expect(await nearToSend(db.pool, CALENDAR, { now, soonMs: 3_600_000 })).toContainEqual({
      role: 'sender',
      docType: 313,
      near: 0,
      breached: 1,
    });
  });

  it('counts what is not answered, and looks at the answered no second time', async () => {
    const answered = new Set<string>();
    const look = (now: Date) => nearToAnswer({ ...sources, calendar: CALENDAR, now }, { soonMs: 3_600_000, answered });
    expect(await look(NOW)).toEqual({
      figures: [{ role: 'receiver', docType: 601, near: 0, breached: 6 }],
      isCut: false,
    });
    const done = ['answered', 'answered late', 'box by its name', 'in a box'];
    expect([...answered].sort()).toEqual(done.map((id) => `inbound-${id}`));
    const lastSeen = log.events.findLast(({ stream }) => stream === 'inbound-unanswered') as { recordedAt: Date };
    expect((await look(new Date(lastSeen.recordedAt.getTime() + 1_200_000))).figures).toEqual([
      { role: 'receiver', docType: 601, near: 3, breached: 0 },
    ]);
  });

  it('goes on counting where the bytes of one document are damaged, or cannot be read: it has no answer', async () => {
    const look = async (of: Partial<TimelinessSources>) =>
      (await nearToAnswer({ ...sources, ...of, calendar: CALENDAR, now: NOW }, { soonMs: 0, answered: new Set() }))
        .figures;
    const [before] = await look({});
    const answered = log.events.find(
      ({ stream, type }) => stream === 'inbound-answered' && type === 'InboundDownloaded',
    );
    const digest = String(answered?.data['documentSha256']);
    const getMany = (asked: string[]) =>
      asked.includes(digest)
        ? Promise.reject(new EvidenceDamaged(digest, 'a byte is another'))
        : log.evidence.getMany(asked);
    const readForeignDocument = (bytes: Uint8Array) => {
      if (log.evidence.blobs.get(digest)?.equals(bytes) === true) throw new PedigreeError('malformed_xml', 'no XML');
      return jsonDocuments.readForeignDocument(bytes);
    };
    const one = [{ ...before, breached: Number(before?.breached) + 1 }];
    expect(await look({ evidence: { ...log.evidence, getMany } as TimelinessSources['evidence'] })).toEqual(one);
    expect(await look({ documents: { ...jsonDocuments, readForeignDocument } })).toEqual(one);
  });

  it('looks back as far as the longest limit, and thirty days beyond the due moment', async () => {
    const long = readCalendar({
      name: 'Long',
      edition: '1',
      zone: 'UTC',
      workingDays: { from: '2026-01-01', to: '2026-12-31', weekend: [], holidays: [], workingWeekendDays: [] },
      deadlines: [
        { ...TOLD, docTypes: [601], startsAt: 'known', limit: { calendarDays: 90 }, metWhen: 'accepted', metBy: [701] },
      ],
      withoutDeadline: [],
    });
    const look = async (now: string) =>
      (
        await nearToAnswer(
          { ...sources, calendar: long, now: new Date(now) },
          { soonMs: 3_600_000, answered: new Set<string>() },
        )
      ).figures;
    const figure = (near: number, breached: number) => [{ role: 'receiver', docType: 601, near, breached }];
    // Known on 1 March, due when 31 May begins.
    expect(await look('2026-05-30T22:59:59Z')).toEqual([]);
    expect(await look('2026-05-30T23:00:00Z')).toEqual(figure(6, 0));
    expect(await look('2026-05-31T00:00:00Z')).toEqual(figure(0, 6));
    expect(await look('2026-06-29T23:59:59Z')).toEqual(figure(0, 6));
    expect(await look('2026-06-30T00:00:00Z')).toEqual([]);
  });

  it('names each type once of which the calendar does not speak, or every type where there is none', async () => {
    expect(await unknownDeadlines(db.pool, CALENDAR, NOW)).toEqual([
      { role: 'receiver', docType: 701, why: 'not_listed' },
      { role: 'sender', docType: 431, why: 'not_listed' },
    ]);
    const types = (await unknownDeadlines(db.pool, undefined, NOW)).map(({ role, docType }) => `${role} ${docType}`);
    expect(types.sort()).toEqual([
      'receiver 601',
      'receiver 602',
      'receiver 605',
      'receiver 701',
      'sender 313',
      'sender 415',
      'sender 431',
      'sender 552',
      'sender 701',
      'sender 911',
    ]);
    expect(await unknownDeadlines(db.pool, undefined, new Date('2026-05-01'))).toEqual([]);
  });
});

describe('what is counted by its start', () => {
  const insert = (id: string, row: Record<string, string | number>): Promise<unknown> => {
    const all = {
      ...{ stream: `document-${id}`, first_position: 1, position: 1, kind: 'own', id, account: 'main', channel: 'api' },
      ...{ known_at: '2026-02-28T12:00:00Z', day_at: '2026-02-28T12:00:00Z', ...row },
    };
    const names = Object.keys(all);
    const places = names.map((_, n) => `$${n + 1}`).join(', ');
    return db.pool.query(`INSERT INTO document_timing (${names.join(', ')}) VALUES (${places})`, Object.values(all));
  };
  const calendarOf = (...deadlines: object[]) =>
    readCalendar({ name: 'Starts', edition: '1', ...WORKED, deadlines, withoutDeadline: [] });

  it('is near by the date of the document sent anew, where that of the first lies before all rows', async () => {
    const calendar = calendarOf({ ...SENDER, docTypes: [900], limit: { hours: 1 }, metWhen: 'sent' });
    const wrong = { doc_type: 900, operation_at: '2006-03-01T08:00:00Z', outcome: 'rejected', replaced_by: 'anew' };
    await insert('wrong', wrong);
    await insert('anew', { doc_type: 900, operation_at: '2026-03-01T08:00:00Z' });
    const now = new Date('2026-03-01T08:30:00Z');
    const near = await nearToSend(db.pool, calendar, { now, soonMs: 3_600_000 });
    expect(near).toEqual([{ role: 'sender', docType: 900, near: 1, breached: 0 }]);
    const items = (await listTimeliness({ ...sources, calendar, now }, { docType: 900 })).items;
    expect(items.find((one) => idOf(one) === 'anew')).toMatchObject({
      state: 'pending',
      dueAt: '2026-03-01T09:00:00.000Z',
    });
  });

  it('counts a document once that two editions fit, by the earlier one', async () => {
    const row = { ...SENDER, docTypes: [901], limit: { hours: 48 }, metWhen: 'sent' };
    const calendar = calendarOf(
      { ...row, validFrom: '2026-03-01' },
      { ...row, startsAt: 'known', validTo: '2026-02-28' },
    );
    await insert('both', { doc_type: 901, operation_at: '2026-03-01T08:00:00Z' });
    const at = (now: string) => nearToSend(db.pool, calendar, { now: new Date(now), soonMs: 72 * 3_600_000 });
    const figure = { role: 'sender', docType: 901 };
    expect(await at('2026-03-02T00:00:00Z')).toEqual([{ ...figure, near: 1, breached: 0 }]);
    // Known on 28 February at noon.
    expect(await at('2026-03-02T12:00:00Z')).toEqual([{ ...figure, near: 0, breached: 1 }]);
  });
});

describe('the late ones among many', () => {
  it('are found, in pages that may be short and are not the last', async () => {
    await db.pool.query(
      `INSERT INTO document_timing (stream, first_position, position, kind, id, account, channel, doc_type,
          operation_at, known_at, day_at, sent_at)
       SELECT 'document-many-' || n, 100000 + n, 100000 + n, 'own', 'many-' || n, 'many', 'api', 415, at, at, at,
         at + CASE WHEN n IN (100, 12400) THEN interval '2 hours' ELSE interval '1 minute' END
       FROM (SELECT n, '2026-02-01T00:00:00Z'::timestamptz + n * interval '1 second' AS at
         FROM generate_series(1, 12400) AS n) AS many`,
    );
    const query = { account: 'many', late: true };
    expect((await all({ ...query, limit: 1 })).map(idOf)).toEqual(['many-12400', 'many-100']);
    const pages: string[][] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = await listTimeliness(sources, { ...query, ...(cursor === '' ? {} : { cursor }) });
      pages.push(page.items.map(idOf));
      cursor = page.nextCursor;
    }
    // A page looks at five thousand.
    expect(pages).toEqual([['many-12400'], [], ['many-100']]);
  });
});
