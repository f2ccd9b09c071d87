import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ContainerContent, ContainerHistory, PackChecks, SgtinHistory } from '#read-models';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 90_000;
const { PLACES } = doc;
const [PALLET, BOX, LOST] = ['146070000000000101', '146070000000000118', '146070000000000125'] as const;
const packs = [0, 1, 2, 3].map((n) => `${doc.GTIN}CONTENT00000${n}`) as [string, string, string, string];
const AT_SUPPLIER = { subject: PLACES.supplier };

let stack: Stack;
const ask = <T>(path: string): Promise<T> => stack.client.get<T>(path);
const act = (xml: string) => stack.control('/counterparties/act', { from: 'supplier-a', xml });
const ship = (ids: string[]) => act(doc.moveOrder(ids, { ...AT_SUPPLIER, receiver: PLACES.warehouse }));
const contentOf = (sscc: string) => ask<ContainerContent>(`/v1/containers/${sscc}/content`);
const typesOf = async (sscc: string): Promise<string[]> => {
  const { rows } = await stack.db.pool.query<{ type: string }>(
    'SELECT type FROM event WHERE stream = $1 ORDER BY version',
    [`container-${sscc}`],
  );
  return rows.map(({ type }) => type);
};
const isThere = (sscc: string, type: string) => async (): Promise<boolean> => (await typesOf(sscc)).includes(type);

beforeAll(async () => {
  stack = await startStack({
    sandbox: { seed: 7, processingMs: 50, language: 'en' },
    overrides: { rules: { listPollMs: 200 } },
    env: { LOG_LEVEL: 'error' },
  });
  await stack.worker.stop();
  const owned = { owner: 'supplier-a', place: PLACES.supplier };
  await stack.control('/plant', {
    packs: packs.map((sgtin, n) => ({ sgtin, ...owned, series: 'S-7', ...(n === 3 ? { sscc: LOST } : {}) })),
  });
  await act(doc.unitPack(BOX, packs.slice(0, 2), PLACES.supplier));
  await act(doc.unitPack(PALLET, [BOX, packs[2]], PLACES.supplier));
  await ship([PALLET]);
  // Shipped, and taken back before anybody looks: it is no business of ours any more.
  await ship([LOST]);
  await act(doc.recall([LOST], { ...AT_SUPPLIER, receiver: PLACES.warehouse }));
  stack.worker = await startWorker(workerConfig(stack.env));
  await until('the content is told', isThere(PALLET, 'ContainerContentObserved'), LIMIT_MS);
  await until('the other is denied', isThere(LOST, 'ContainerContentWithheld'), LIMIT_MS);
  await stack.caughtUp();
}, LIMIT_MS + 30_000);

afterAll(() => stack?.stop());

describe('a container that a supplier ships to us', () => {
  it('has its content fetched by itself, nested containers too, with who told it', async () => {
    const content = await contentOf(PALLET);
    expect(content).toMatchObject({ isKnown: true, packs: 3, containers: 1, findings: [] });
    expect(content.items.map(({ item, container, level }) => [item, container, level]).sort()).toEqual(
      [
        [BOX, PALLET, 1],
        [packs[2], PALLET, 1],
        [packs[0], BOX, 2],
        [packs[1], BOX, 2],
      ].sort(),
    );
    expect(content.documents).toMatchObject([{ docType: 221, channel: 'registry_answer' }]);
    const answer = await fetch(`${stack.gateway.url}/v1/evidence/${content.documents[0]?.documentSha256}`);
    expect(await answer.text()).toContain(packs[0]);
  });

  it('gives its packs the shipment, a place, a series', async () => {
    const history = await ask<SgtinHistory>(`/v1/packs/${packs[0]}/history`);
    expect(history.movements.map(({ docType, item, channel }) => [docType, item, channel])).toEqual([
      [221, packs[0], 'registry_answer'],
      [601, PALLET, 'counterparty'],
    ]);
    expect(history).toMatchObject({ container: BOX, place: PLACES.warehouse, status: 'in_realization' });
    const state = await ask<object>(`/v1/packs/${packs[0]}`);
    expect(state).toMatchObject({ series: { value: 'S-7' }, findings: [], container: { value: BOX } });
    const file = await ask<object>(`/v1/series/${doc.GTIN}/S-7`);
    expect(file).toMatchObject({
      packs: 3,
      received: [{ packs: 3, by: { docType: 601, subjectId: PLACES.supplier } }],
    });
  });

  it('is asked for once, and asks nobody again', async () => {
    expect(await typesOf(PALLET)).toEqual(['ContainerContentAsked', 'ContainerContentObserved']);
  });
});

describe('a container whose content is denied', () => {
  it('is said to be unknown, since when, and why', async () => {
    const content = await contentOf(LOST);
    expect(content).toMatchObject({
      isKnown: false,
      items: [],
      unknown: { standing: 'being_asked', reason: 'access_denied', since: expect.any(String) },
    });
    expect(content.unknown?.sentence).toMatch(/^Content unknown: the registry is being asked since .*owner/);
  });

  it('is counted', async () => {
    const { rows } = await stack.db.pool.query("SELECT standing FROM content_question WHERE standing <> 'told'");
    expect(rows).toEqual([{ standing: 'asked' }]);
  });

  it('is named where a pack may lie in it', async () => {
    const { place } = await ask<ContainerHistory>(`/v1/containers/${LOST}/history`);
    const asked = { purpose: 'receive', place, codes: [packs[3]] };
    const checked = (await stack.client.change('POST', '/v1/packs/checks', asked)) as PackChecks;
    expect(checked.items.map(({ answer, reasons }) => [answer, reasons.map(({ code }) => code)])).toEqual([
      ['unknown', ['not_in_record', 'content_unknown']],
    ]);
  });
});
