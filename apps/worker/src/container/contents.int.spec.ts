import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { containerStream, inboundStream, type Arrival } from '#domain';
import { VirtualClock } from '#kernel';
import { migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import type { FullHierarchy, HierarchyNode, ReadOutcome } from '#registry-client';
import { projectionCheckpoint, subscriptionsSchema } from '#subscriptions';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, rawOf } from '../../test/fake-registry.js';
import { ACCOUNT, processOn, storesForSpec } from '../../test/test-harness.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskOf } from '../lane.js';
import { ContainerRepository } from './container-repository.js';
import { ContentCounts } from './content-counts.js';
import type { ContainerContext } from './context.js';
import { CONTENT_TRIES, fetchContent } from './fetch-content.js';
import { seekContents } from './seek-contents.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
const INSTALLATION = {
  ...{ id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: 'test' },
  profile: 'interface-v1',
};
const SUPPLIER = '00000000200101';
const packOf = (n: number): string => `04600000000015CONTENT${String(n).padStart(6, '0')}`;
const BOXES = ['146070000000000101', '146070000000000118', '146070000000000125'] as const;
const [BOX, INNER] = BOXES;
const ARRIVAL: Arrival = { documentId: 'd-601', docType: 601, subjectId: SUPPLIER };

const claimed = {
  ...{ priority: 800, leaseExpiredBefore: false, leasesLost: 0, lease: '1:1' },
  ...{ dueAt: new Date(0), claimedAt: new Date(0) },
};
let boxes = 0;
/** A container that no test before this one has named. */
const freshBox = (): string => `2460700000000${String((boxes += 1)).padStart(5, '0')}`;
const fetchTask = (sscc: string, attempts = 1): TaskOf<'container_content'> => ({
  ...claimed,
  ...{ key: `container_content:${sscc}:d-601`, kind: 'container_content', lane: `${ACCOUNT}/sscc_full_hierarchy` },
  ...{ attempts, lease: `1:${attempts}`, payload: { sscc, account: ACCOUNT, documentId: 'd-601' } },
});

const node = (sscc: string, more: Partial<HierarchyNode> = {}): HierarchyNode => ({
  ...{ sscc, containers: [], packs: [], fields: {} },
  ...more,
});
const pack = (n: number) => ({
  ...{ sgtin: packOf(n), series: 'S-7', expiresOn: '2028-12-31T00:00:00Z', fields: {} },
});
const answer = (sscc: string, down: HierarchyNode[]): ReadOutcome<FullHierarchy> => ({
  ...{ kind: 'ok', value: { up: [], down }, raw: rawOf(`{"down":"${sscc}"}`) },
});
const denied: ReadOutcome<FullHierarchy> = { kind: 'access_denied', text: 'no', raw: rawOf('{"error_code":4}') };

let calls: string[];
let tell: (sscc: string) => ReadOutcome<FullHierarchy>;
let warned: object[];

/** A worker process, as far as these tasks can tell. */
function processOfTest(
  options: { mostOfDocument?: number; append?: typeof stores.store.append } = {},
): ContainerContext {
  const clock = new VirtualClock();
  const { append = stores.store.append.bind(stores.store) } = options;
  const store = Object.assign(Object.create(stores.store) as typeof stores.store, { append });
  const fullHierarchy = (_account: string, sscc: string) => {
    calls.push(sscc);
    return Promise.resolve(tell(sscc));
  };
  return {
    ...processOn({ ...stores, registry: new FakeRegistry(), clock }),
    containers: {
      repository: new ContainerRepository({ store, clock, installation: INSTALLATION }),
      registry: { fullHierarchy },
      mostOfDocument: options.mostOfDocument ?? 10,
      counts: new ContentCounts(),
    },
    pool: stores.pool,
    warn: (about) => warned.push(about),
  };
}

async function ask(context: ContainerContext, sscc: string): Promise<void> {
  const command = { type: 'AskContent', sscc, account: ACCOUNT, arrival: ARRIVAL } as const;
  await context.containers.repository.execute(sscc, command, { taskKey: 'seek', lease: '1:1', actor: SYSTEM });
}
const eventsOf = async (sscc: string) => stores.store.readStream(containerStream(sscc));
const typesOf = async (sscc: string): Promise<string[]> => (await eventsOf(sscc)).map(({ type }) => type);

beforeAll(() => migrate(stores.pool, [subscriptionsSchema, ...readModelSchemas]).then(() => undefined));
beforeEach(() => {
  [calls, warned] = [[], []];
  tell = (sscc) => answer(sscc, [node(sscc, { packs: [pack(1)], containers: [node(INNER, { packs: [pack(2)] })] })]);
});

describe('the content of a container', () => {
  it('is kept twice, as it came and as it was read, and told by a small event', async () => {
    const [context, sscc] = [processOfTest(), freshBox()];
    await ask(context, sscc);
    expect(await fetchContent(context, fetchTask(sscc))).toEqual({ kind: 'done' });
    const event = (await eventsOf(sscc)).at(-1);
    expect(event).toMatchObject({
      type: 'ContainerContentObserved',
      data: { sscc, account: ACCOUNT, arrival: ARRIVAL, operation: 'sscc_full_hierarchy', packs: 2, containers: 1 },
      metadata: { actor: { kind: 'registry' } },
    });
    const { answerSha256, contentSha256 } = event?.data as { answerSha256: string; contentSha256: string };
    expect((await stores.evidence.get(answerSha256))?.bytes.toString()).toBe(`{"down":"${sscc}"}`);
    expect(JSON.parse((await stores.evidence.get(contentSha256))?.bytes.toString() ?? '')).toEqual({
      ...{ format: 1, sscc },
      items: [
        { id: packOf(1), into: sscc, series: 'S-7', expiresOn: '2028-12-31' },
        { id: INNER, into: sscc },
        { id: packOf(2), into: INNER, series: 'S-7', expiresOn: '2028-12-31' },
      ],
    });
  });

  it('is told by one event, whether the worker dies before it is appended or after', async () => {
    const sscc = freshBox();
    await ask(processOfTest(), sscc);
    const dies = processOfTest({ append: () => Promise.reject(new Error('killed')) });
    await expect(fetchContent(dies, fetchTask(sscc))).rejects.toThrow('killed');
    expect(await typesOf(sscc)).toEqual(['ContainerContentAsked']);
    // The next lease asks again; one that finds the answer in the log does not, nor does the old one.
    for (const attempts of [2, 3, 2, 1]) await fetchContent(processOfTest(), fetchTask(sscc, attempts));
    expect(await typesOf(sscc)).toEqual(['ContainerContentAsked', 'ContainerContentObserved']);
    expect(calls).toHaveLength(2);
  });

  it('is told by one event though two workers ask at once, and get other answers', async () => {
    const sscc = freshBox();
    await ask(processOfTest(), sscc);
    let n = 0;
    tell = () => answer(sscc, [node(sscc, { packs: [pack((n += 1))] })]);
    const [one, other] = [processOfTest(), processOfTest()];
    await Promise.all([fetchContent(one, fetchTask(sscc)), fetchContent(other, fetchTask(sscc, 2))]);
    expect(await typesOf(sscc)).toEqual(['ContainerContentAsked', 'ContainerContentObserved']);
  });

  it('that is denied is asked for again, less and less often, and then stays unknown', async () => {
    const [context, sscc] = [processOfTest(), freshBox()];
    await ask(context, sscc);
    tell = () => denied;
    const waits: number[] = [];
    for (let attempts = 1; attempts <= CONTENT_TRIES; attempts += 1) {
      const result = await fetchContent(context, fetchTask(sscc, attempts));
      if (result.kind === 'retry') waits.push(result.delayMs);
    }
    expect(waits).toHaveLength(CONTENT_TRIES - 1);
    expect(waits.every((wait, at) => at === 0 || wait === 2 * (waits[at - 1] as number))).toBe(true);
    expect((await eventsOf(sscc)).map(({ type, data }) => [type, data['reason'], data['attempts']])).toEqual([
      ['ContainerContentAsked', undefined, undefined],
      ['ContainerContentWithheld', 'access_denied', 1],
      ['ContainerContentUnavailable', 'access_denied', CONTENT_TRIES],
    ]);
    expect(await fetchContent(context, fetchTask(sscc, 13))).toEqual({ kind: 'done' });
    expect(calls).toHaveLength(CONTENT_TRIES);
    const { counts } = context.containers;
    expect([counts.of('withheld'), counts.of('given_up'), counts.of('told')]).toEqual([CONTENT_TRIES, 1, 0]);
  });

  it.each<[string, () => ReadOutcome<FullHierarchy>, string]>([
    ['of another container', () => answer('', [node(INNER)]), 'not_understood'],
    ['that names a pack twice', () => answer('', [node(BOX, { packs: [pack(1), pack(1)] })]), 'not_understood'],
    ['that is HTTP 403', () => ({ ...badRequest, raw: rawOf('{}', 403) }), 'access_denied'],
    ['that refuses', () => badRequest, 'refused'],
    [
      'that is not understood',
      () => ({ kind: 'unknown', reason: 'no JSON', raw: rawOf('<p>', 200) }),
      'not_understood',
    ],
    ['that never came', () => ({ kind: 'unknown', reason: 'timeout' }), 'no_answer'],
  ])('is not told by an answer %s', async (_what, told, reason) => {
    const [context, sscc] = [processOfTest(), freshBox()];
    await ask(context, sscc);
    tell = () => withName(told(), sscc);
    expect(await fetchContent(context, fetchTask(sscc))).toMatchObject({ kind: 'retry' });
    expect((await eventsOf(sscc)).at(-1)).toMatchObject({ type: 'ContainerContentWithheld', data: { reason } });
  });

  it.each(['rate_limited', 'not_sent'] as const)(
    'is asked for again after %s, which counts as no try',
    async (kind) => {
      const [context, sscc] = [processOfTest(), freshBox()];
      await ask(context, sscc);
      tell = () => (kind === 'not_sent' ? { kind, reason: 'away' } : { kind, text: 'slow', raw: rawOf('{}', 429) });
      expect(await fetchContent(context, fetchTask(sscc))).toMatchObject({ kind: 'retry', countsAsAttempt: false });
      expect(await typesOf(sscc)).toEqual(['ContainerContentAsked']);
    },
  );
});

const badRequest: ReadOutcome<FullHierarchy> = { kind: 'refused', code: 'x', text: 'no', raw: rawOf('{}', 400) };
/** The answers above name a box; this is about another. */
const withName = (outcome: ReadOutcome<FullHierarchy>, sscc: string): ReadOutcome<FullHierarchy> =>
  outcome.kind !== 'ok'
    ? outcome
    : {
        ...outcome,
        value: { up: [], down: outcome.value.down.map((one) => (one.sscc === BOX ? { ...one, sscc } : one)) },
      };

const priced = (named: string): string => `<union>${named}<cost>1.00</cost><vat_value>0.10</vat_value></union>`;
/** What a supplier's shipment of three containers and a pack is told by. */
const NOTIFICATION =
  '<documents version="1.38"><move_order_notification action_id="601">' +
  `<subject_id>${SUPPLIER}</subject_id><receiver_id>00000000100101</receiver_id>` +
  '<operation_date>2026-03-01T13:00:00+03:00</operation_date><doc_num>N-1</doc_num><doc_date>01.03.2026</doc_date>' +
  '<turnover_type>1</turnover_type><source>1</source><contract_type>1</contract_type><order_details>' +
  BOXES.map((sscc) => priced(`<sscc_detail><sscc>${sscc}</sscc></sscc_detail>`)).join('') +
  `${priced(`<sgtin>${packOf(7)}</sgtin>`)}</order_details></move_order_notification></documents>`;

describe('the containers of an incoming document', () => {
  const seekTask = (documentId: string, plannedAt = '0'): TaskOf<'seek_contents'> => ({
    ...claimed,
    ...{ key: `seek_contents:${documentId}`, kind: 'seek_contents', lane: 'internal', attempts: 1 },
    payload: { documentId, account: ACCOUNT, direction: 'incoming', plannedAt, acceptedAt: '2026-03-01T10:00:01.000Z' },
  });

  async function concluded(context: ContainerContext, documentId: string): Promise<void> {
    const xml = Buffer.from(NOTIFICATION);
    const documentSha256 = await stores.evidence.put(xml, 'application/xml');
    const seen = {
      ...({ documentId, direction: 'incoming', channel: 'counterparty', account: ACCOUNT, docType: 601 } as const),
      ...({ status: 'processed', answerSha256: documentSha256 } as const),
    };
    const cause = { taskKey: documentId, lease: '1:1', actor: SYSTEM };
    await context.inbound.execute(documentId, { type: 'See', seen }, cause);
    const content = { docType: 601, subjectId: SUPPLIER, operationDate: '', itemCount: 4 };
    const download = { documentSha256, byteLength: xml.length, content };
    await context.inbound.execute(documentId, { type: 'RecordDownload', download }, cause);
    expect((await stores.store.readStream(inboundStream(documentId))).at(-1)?.type).toBe('InboundConcluded');
  }
  const recordIsAt = (position: number) =>
    stores.pool.query(
      `INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())
       ON CONFLICT (name) DO UPDATE SET position = $2`,
      [projectionCheckpoint({ name: 'sgtin-history' }), position],
    );

  it('wait for the record, are asked for up to the limit, each once, and what is over it is said', async () => {
    const context = processOfTest({ mostOfDocument: 2 });
    await concluded(context, 'd-1');
    await recordIsAt(3);
    expect(await seekContents(context, seekTask('d-1', '4'))).toMatchObject({ kind: 'retry', countsAsAttempt: false });
    expect(await typesOf(BOX)).toEqual([]);
    for (let again = 0; again < 2; again += 1) await seekContents(context, seekTask('d-1', '3'));
    expect(await Promise.all(BOXES.map(typesOf))).toEqual([['ContainerContentAsked'], ['ContainerContentAsked'], []]);
    expect((await eventsOf(BOX))[0]?.data).toEqual({
      ...{ sscc: BOX, account: ACCOUNT },
      arrival: {
        ...{ documentId: 'd-1', docType: 601, subjectId: SUPPLIER, acceptedAt: '2026-03-01T10:00:01.000Z' },
      },
    });
    expect(warned[0]).toEqual({ documentId: 'd-1', over: 1, limit: 2 });
  });

  it('are not asked for where our record tells what lies in them', async () => {
    const context = processOfTest();
    await concluded(context, 'd-2');
    await stores.pool.query(
      'INSERT INTO pack_state (item, at_micros, position, first_from, suspended, container) ' +
        'VALUES ($1, 1, 1, 1, false, $2)',
      [packOf(8), BOXES[2]],
    );
    expect(await seekContents(context, seekTask('d-2', '3'))).toEqual({ kind: 'done' });
    expect(await typesOf(BOXES[2])).toEqual([]);
  });
});
