import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CATALOGUE } from '#documents';
import * as doc from '../../apps/sandbox/test/documents.js';
import { readFacts, type DocumentTypeFact } from '../../libs/documents/test/facts.js';
import { instancesOf, jsonOf, xmlOf } from '../../libs/documents/test/instances.js';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

const SEED = 20261122;
const LIMIT_MS = 180_000;

interface Document {
  phase: string;
  outcome?: string;
  receipt_sha256?: string;
}

/** Those that a participant sends. */
const sendable = new Set(
  CATALOGUE.filter(({ direction }) => ['outgoing', 'query'].includes(direction)).map(({ docType }) => docType),
);
const types = readFacts()
  .types.filter(({ docType }) => sendable.has(docType))
  .map((type) => [type.docType, type] as const);
/** The subject of a document is a place of ours where the type takes one. */
const ours = (text: string): string => text.replace(/(<subject_id>)\d{14}(?=<)/, `$1${doc.PLACES.warehouse}`);

/** Every other type is given as JSON. */
function commandOf(type: DocumentTypeFact, n: number): object {
  const [action] = fc.sample(instancesOf(type), { seed: SEED, numRuns: 1 });
  if (action === undefined) throw new Error(`no document of type ${type.docType}`);
  if (n % 2 === 0) return { xml: ours(xmlOf(action)) };
  const json = jsonOf(action);
  const isPlace = /^\d{14}$/.test(String(json['subject_id']));
  return { document: isPlace ? { ...json, subject_id: doc.PLACES.warehouse } : json };
}

let stack: Stack;
const documentOf = async (docType: number): Promise<Document> => {
  const answer = await fetch(`${stack.gateway.url}/v1/commands/type-${docType}`);
  return ((await answer.json()) as { document: Document }).document;
};

beforeAll(async () => {
  stack = await quickStack('interface-v1', {});
  for (const [n, [docType, type]] of types.entries()) {
    // They name the same items, and many are rejected: else those that come behind would be held.
    const names = { command_id: `type-${docType}`, account: 'main', waive_item_wait: true };
    const body = JSON.stringify({ ...names, ...commandOf(type, n) });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${stack.gateway.url}/v1/commands`, { method: 'POST', headers, body });
    expect([docType, answer.status, answer.status === 202 ? '' : await answer.text()]).toEqual([docType, 202, '']);
  }
}, 600_000);
afterAll(() => stack?.stop());

describe('a document of every type that a participant sends', () => {
  it.each(types)(
    '%d is taken from the ERP, sent, and concluded by what the registry answers',
    async (docType) => {
      await until(`${docType} is concluded`, async () => (await documentOf(docType)).phase === 'concluded', LIMIT_MS);
      const { outcome, receipt_sha256: receipt } = await documentOf(docType);
      expect(outcome).toMatch(/^(accepted|partial|rejected)$/);
      const evidence = await (await fetch(`${stack.gateway.url}/v1/evidence/${receipt}`)).text();
      const answers = { 210: '<kiz_info action_id="211"', 220: '<hierarchy_info action_id="221"' };
      expect(evidence).toContain(answers[docType as 210] ?? '<operation_result>');
    },
    LIMIT_MS,
  );
});
