// Left to the soak: each example of each route. `npm test` has the routes.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { randomUUID } from 'node:crypto';
import { PostgresBus } from '#bus';
import { caseIdOf, inboundStream, type InboundEvent } from '#domain';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { sha256Hex } from '#kernel';
import { CaseLog } from '#reconciliation';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; example?: string }[];
  requestBody?: { content: Record<string, { examples: Record<string, { value: unknown }> }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
/** One request that the page offers, or that its path examples make. */
interface Sample {
  operationId: string;
  name: string;
  method: string;
  path: string;
  mediaType?: string;
  /** Headers that have an example. */
  headers: Record<string, string>;
  body?: unknown;
}

const LIMIT_MS = 120_000;
/** Nothing to try again, and no document that names a container or a series: that is said, as it is documented. */
const NOTHING_THERE: Record<string, number> = {
  retryTask: 404,
  showContainerHistory: 404,
  showContainerContent: 404,
  showSeries: 404,
  // The comparison is asked for here, and made at its time.
  listFindings: 404,
};

const METADATA = {
  ...{ participant: 'own', softwareVersion: '1', profile: 'none', correlationId: 'c', causationId: 'c' },
  actor: { kind: 'system', name: 'test', authenticatedBy: 'process' },
  effectiveAt: '2026-03-02T00:00:00.000Z',
} as const;

let stack: Stack;
let stockFolder: TemporaryFolder;
let api: { paths: Record<string, Record<string, Operation>> };
let samples: Sample[];
const ajv = new Ajv2020({ strict: false, formats: { uuid: true, 'date-time': true, binary: true } });
/** What stands in a path for a sample, where its own example is not there or is used up: by operation and name. */
const prepared: Record<string, string> = {};

const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${stack.gateway.url}${path}`)).json()) as T;
const documentOf = (commandId: string) =>
  ask<{
    request_id: string;
    document?: { phase: string; outcome?: string; holds: object[] };
    group?: { phase: string; outcome?: string; halt?: string };
  }>(`/v1/commands/${commandId}`);
const reaches = (commandId: string, expected: object): Promise<void> =>
  until(
    `${commandId} is ${JSON.stringify(expected)}`,
    async () => {
      const { document, group } = await documentOf(commandId);
      return Object.entries(expected).every(([name, value]) => (document ?? group)?.[name as 'phase'] === value);
    },
    LIMIT_MS,
  );

function samplesOf(path: string, method: string, { operationId, parameters = [], requestBody }: Operation): Sample[] {
  const headers = Object.fromEntries(
    parameters.flatMap((one) => (one.in === 'header' && one.example !== undefined ? [[one.name, one.example]] : [])),
  ) as Record<string, string>;
  const given = parameters.reduce(
    (text, one) => (one.in === 'path' && one.example !== undefined ? text.replace(`{${one.name}}`, one.example) : text),
    path,
  );
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([mediaType, { examples }]) =>
    Object.entries(examples).map(([name, { value }]) => ({ mediaType, name, body: value })),
  );
  return (bodies.length === 0 ? [{ name: '' }] : bodies).map((one) => ({
    operationId,
    method: method.toUpperCase(),
    path: given,
    headers,
    ...one,
  }));
}

function pathOf({ operationId, name, path }: Sample): string {
  return path
    .replace(/\{\w+\}/, () => prepared[operationId] ?? 'nothing prepared')
    .replace(/[0-9a-f-]{36}/, (id) => prepared[`${operationId}.${name}`] ?? id);
}

function requestOf({ method, mediaType = 'application/json', headers, body }: Sample): RequestInit {
  if (body === undefined) return { method, headers };
  return {
    method,
    headers: { ...headers, 'content-type': mediaType },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

function responsesOf(operationId: string): Operation['responses'] {
  const operations = Object.values(api.paths).flatMap((methods) => Object.values(methods));
  return operations.find((one) => one.operationId === operationId)?.responses ?? {};
}

/** Sends one, and holds what comes against what the description says of it. Returns the body. */
async function send(sample: Sample): Promise<unknown> {
  const { operationId, name } = sample;
  const path = pathOf(sample);
  const answer = await fetch(`${stack.gateway.url}${path}`, requestOf(sample));
  const text = await answer.text();
  const described = responsesOf(operationId);
  const good = Object.keys(described)
    .map(Number)
    .filter((status) => status < 300);
  const wanted = NOTHING_THERE[operationId] === undefined ? good : [NOTHING_THERE[operationId]];
  expect({
    path,
    name,
    status: wanted.includes(answer.status) ? 'as documented' : answer.status,
    text: wanted.includes(answer.status) ? '' : text,
  }).toEqual({ path, name, status: 'as documented', text: '' });
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  const schema = described[answer.status]?.content?.[type]?.schema;
  if (schema === undefined || !/[/+]json$/.test(type)) return text;
  const valid = ajv.validate(
    JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object,
    JSON.parse(text),
  );
  expect([path, valid ? 'by its schema' : ajv.errorsText()]).toEqual([path, 'by its schema']);
  return JSON.parse(text) as unknown;
}

const of = (operationId: string): Sample[] => samples.filter((one) => one.operationId === operationId);
const example = (name: string): Sample => of('giveCommand').find((one) => one.name === name) as Sample;
/** A document of others whose bytes were given up, as the log tells of it. */
async function giveUp(documentId: string): Promise<void> {
  const of = { documentId, direction: 'incoming', channel: 'counterparty', docType: 601 } as const;
  const seen = { ...of, account: 'main', status: 'processed', answerSha256: sha256Hex('') } as const;
  const events: InboundEvent[] = [
    { type: 'InboundSeen', data: seen },
    { type: 'InboundDownloadGivenUp', data: { documentId, reason: 'not_found', attempts: 14 } },
    { type: 'InboundConcluded', data: { ...of, outcome: 'accepted', isReadable: false } },
  ];
  const store = new PostgresEventStore({ pool: stack.db.pool });
  await store.append(
    inboundStream(documentId),
    'none',
    events.map((event) => ({ ...event, id: randomUUID(), schemaVersion: 1, metadata: METADATA })),
  );
  await store.close();
}

/** The example once more under another name and about other packs, for what can be done only once. */
const again = (name: string): Sample => {
  const { command_id } = example(name).body as { command_id: string };
  const body = JSON.stringify(example(name).body)
    .replaceAll(`"${command_id}`, `"${command_id}-b`)
    .replaceAll('DOCSX', 'DOCSY');
  return { ...example(name), body: JSON.parse(body) as unknown };
};
const done: string[] = [];
async function sendAll(...operationIds: string[]): Promise<void> {
  for (const operationId of operationIds) for (const sample of of(operationId)) await send(sample);
  done.push(...operationIds);
}

beforeAll(async () => {
  stockFolder = await temporaryFolder();
  const env = { RECONCILE_STOCK_FOLDER: stockFolder.path };
  stack = await quickStack('interface-v1', { seed: 5, env }, { listPollMs: 500 });
  api = await ask('/v1/openapi.json');
  ajv.addSchema({ $id: 'api', ...api });
  samples = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, one]) => samplesOf(path, method, one)),
  );
}, LIMIT_MS);
afterAll(async () => {
  await stack?.stop();
  await stockFolder?.remove();
});

describe('every example of the description, sent to a running system as it stands', () => {
  it(
    'commands, in their order: what they say becomes true at the registry',
    async () => {
      for (const sample of of('giveCommand').filter((one) => one.name !== 'resume' && one.name !== 'lines'))
        expect(await send(sample)).toMatchObject({ repeated: false });
      for (const name of ['rejected', 'halting', 'held', 'held_group']) await send(again(name));
      for (const commandId of ['docs-xml', 'docs-json', 'docs-after', 'docs-group'])
        await reaches(commandId, { phase: 'concluded', outcome: 'accepted' });
      for (const commandId of ['docs-rejected', 'docs-rejected-b'])
        await reaches(commandId, { phase: 'concluded', outcome: 'rejected' });
      for (const commandId of ['docs-held', 'docs-held-b', 'docs-held-group', 'docs-held-group-b'])
        await reaches(commandId, { phase: 'held' });
      for (const commandId of ['docs-halting', 'docs-halting-b'])
        await reaches(commandId, { phase: 'concluded', halt: 'member_rejected' });
      await send(example('resume'));
      await reaches('docs-resume', { phase: 'concluded', outcome: 'accepted' });
      expect(String(await send(example('lines'))).match(/"repeated":true/g)).toHaveLength(2);
      done.push('giveCommand');
    },
    LIMIT_MS * 4,
  );

  it(
    'what a person decides',
    async () => {
      const second: Record<string, string> = {
        'endDocument.end': 'docs-held-b',
        'endGroup.end': 'docs-held-group-b',
        'resumeGroup.corrected': 'docs-halting-b',
        'resendDocument.unchanged': 'docs-rejected-b',
      };
      for (const [sample, commandId] of Object.entries(second))
        prepared[sample] = (await documentOf(commandId)).request_id;
      await sendAll('holdDocument');
      // One release ends both holds, once the second is there.
      await until(
        'a person holds it',
        async () => (await documentOf('docs-held')).document?.holds.length === 2,
        LIMIT_MS,
      );
      await sendAll(
        'releaseDocument',
        'endDocument',
        'releaseGroup',
        'endGroup',
        'resumeGroup',
        'resendDocument',
        'resumeAccount',
        'replanOrphans',
        'retryTask',
        'requestReconciliation',
      );
      for (const commandId of ['docs-held', 'docs-held-group'])
        await reaches(commandId, { phase: 'concluded', outcome: 'accepted' });
      for (const commandId of ['docs-held-b', 'docs-held-group-b'])
        await reaches(commandId, { phase: 'concluded', outcome: 'failed' });
    },
    LIMIT_MS * 4,
  );

  it('what is only validated, good and bad', async () => {
    const verdicts = [];
    for (const sample of of('validateDocument')) verdicts.push(((await send(sample)) as { valid: boolean }).valid);
    expect(verdicts.sort()).toEqual([false, false, true, true]);
    done.push('validateDocument');
    await sendAll('checkPacks');
  });

  it('cases of reconciliations', async () => {
    const cause = { kind: 'container', container: '046070999900000029' } as const;
    const caseId = caseIdOf('container_mismatch', cause);
    const run = { kind: 'packs', id: 'of-the-examples', moment: '2026-03-02T00:00:00.000Z' } as const;
    const seen = { run, count: 20, findingsSha256: 'a'.repeat(64), places: ['00000000100101'] };
    const store = new PostgresEventStore({ pool: stack.db.pool });
    const installation = { id: randomUUID(), participant: 'own', softwareVersion: '1', profile: 'none' };
    await new CaseLog({ db: stack.db.pool, store, installation }).tell(
      { type: 'See', caseId, code: 'container_mismatch', cause, severity: 'warning', dueAt: run.moment, seen },
      { actor: { kind: 'system', name: 'test', authenticatedBy: 'process' }, id: 'test', at: run.moment },
    );
    await store.close();
    prepared['showSeries'] = prepared['listSeriesSources'] = '04600000000015';
    prepared['showCase'] = prepared['actOnCase'] = prepared['releaseCase'] = caseId;
    await sendAll('actOnCase', 'actOnCases', 'releaseCase', 'showCase', 'listCases', 'listAccess');
  });

  it('suspensions, and a list that is doubted', async () => {
    const entered = (await send(of('enterSuspension')[0] as Sample)) as { suspension_id: string };
    done.push('enterSuspension');
    prepared['showSuspension'] = prepared['actOnSuspension'] = entered.suspension_id;
    prepared['showSuspensionReply'] = entered.suspension_id;
    const store = new PostgresEventStore({ pool: stack.db.pool });
    const listSha256 = await new PostgresEvidenceStore({ pool: stack.db.pool }).put(
      Buffer.from('[]'),
      'application/json',
    );
    await store.append('suspended-list', 'none', [
      {
        ...{ id: randomUUID(), type: 'SuspendedListHeld', schemaVersion: 1 },
        data: {
          ...{ fetchId: 'f', listSha256, inForceSha256: listSha256, fetchedAt: '2026-03-02T00:00:00.000Z' },
          ...{ account: 'main', series: 0, packs: 0, packsWithoutSeries: 0, calls: 1, appeared: 0, vanished: 3 },
          doubt: 'empty',
        },
        metadata: METADATA,
      },
    ]);
    prepared['confirmSuspendedList'] = listSha256;
    await sendAll(
      'actOnSuspension',
      'confirmSuspendedList',
      'showSuspension',
      'showSuspensionReply',
      'listSuspensions',
      'listSuspendedLists',
    );
    await store.close();
  });

  it('a stock file in parts', () =>
    sendAll('beginStockUpload', 'putStockUploadPart', 'finishStockUpload', 'showStockUpload'));

  it('mock recalls', async () => {
    const begun = (await send(of('beginMockRecall')[0] as Sample)) as { recall_id: string };
    done.push('beginMockRecall');
    prepared['showMockRecall'] = prepared['traceMockRecall'] = begun.recall_id;
    await sendAll('traceMockRecall', 'showMockRecall', 'listMockRecalls');
  });

  it('webhooks and dead letters', async () => {
    await sendAll('addWebhook');
    prepared['resumeWebhook'] = (await ask<{ items: { id: string }[] }>('/v1/webhooks')).items[0]?.id ?? '';
    prepared['removeWebhook'] = prepared['resumeWebhook'];
    prepared['changeWebhookSecret'] = prepared['resumeWebhook'];
    await sendAll('changeWebhookSecret', 'resumeWebhook', 'listWebhooks', 'removeWebhook');
    const bus = new PostgresBus({ pool: stack.db.pool });
    await bus.publishCommands([{ body: Buffer.from('{"command_id":') }]);
    await bus.close();
    const letters = async () => (await ask<{ items: { id: string }[] }>('/v1/operations/dead-letters')).items;
    await until('a dead letter', async () => (await letters()).length === 1);
    prepared['showDeadLetter'] = prepared['replayDeadLetter'] = (await letters())[0]?.id ?? '';
    await sendAll('listDeadLetters', 'showDeadLetter', 'replayDeadLetter');
    // What was put back is refused anew, under the id that it had.
    await until('the letter again', async () => (await letters()).length === 1);
    prepared['discardDeadLetter'] = (await letters())[0]?.id ?? '';
    await sendAll('discardDeadLetter');
    expect(await letters()).toEqual([]);
  });

  it(
    'and everything that can be read',
    async () => {
      const { xml } = example('xml').body as { xml: string };
      await stack.control('/incoming', { from: 'supplier-a', to: 'own', xml: xml.replace('DOCSX', 'DOCSZ') });
      const inbound = async () => (await ask<{ items: { document_id: string }[] }>('/v1/inbound')).items;
      await until('a document of others', async () => (await inbound()).length > 0, LIMIT_MS);
      prepared['showInbound'] = (await inbound())[0]?.document_id ?? '';
      prepared['retryInbound'] = randomUUID();
      await giveUp(prepared['retryInbound']);
      await sendAll('retryInbound', 'retryAllInbound');
      const compared = await ask<{ items: { id: string; kind: string }[] }>('/v1/reconciliations');
      prepared['showReconciliation'] = compared.items.find(({ kind }) => kind === 'documents')?.id ?? '';
      prepared['listFindings'] = prepared['showReconciliation'];
      await stack.caughtUp();
      prepared['showAccess'] =
        (await ask<{ items: { position: string }[] }>('/v1/access-log')).items[0]?.position ?? '';
      const left = [...new Set(samples.map((one) => one.operationId))].filter((one) => !done.includes(one));
      expect(samples.filter((one) => left.includes(one.operationId) && one.method !== 'GET')).toEqual([]);
      await sendAll(...left);
      expect(await ask(`/v1/packs/${of('showPackHistory')[0]?.path.split('/')[3] ?? ''}/history`)).toMatchObject({
        place: '00000000100102',
      });
      expect(await ask(`/v1/packs/${of('showPack')[0]?.path.split('/')[3] ?? ''}`)).toMatchObject({
        place: { value: '00000000100102', told_by: { document_sha256: expect.any(String) } },
      });
    },
    LIMIT_MS * 2,
  );
});
