import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { GatewayClient } from '../gateway-client.js';
import { showContent, showHistory, showPack } from './packs.js';

const SGTIN = '04607001770001AAAAAAAAAAAA1';
const SSCC = '046070017700000001';
const by = {
  item: SSCC,
  through: 'container',
  doc_type: 415,
  title: 'Shipment to a buyer',
  request_id: 'r-1',
  subject_id: '1',
  operation_date: '2026-03-01',
  accepted_at: '2026-03-01T10:00:00.000Z',
  known_at: '17',
  document_sha256: 'a'.repeat(64),
};

let printed = '';
let asked: string[] = [];
const answering = (body: unknown) =>
  ({ raw: (path: string) => (asked.push(path), Promise.resolve(body)) }) as unknown as GatewayClient;

beforeEach(() => {
  [printed, asked] = ['', []];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true));
});
afterEach(() => void jest.restoreAllMocks());

describe('questions about one pack or container', () => {
  it('print a state with who told each fact, what is unknown, doubtful and contradictory', async () => {
    const state = {
      ...{ sgtin: SGTIN, gtin: SGTIN.slice(0, 14), serial: SGTIN.slice(14) },
      status: { value: 'in_realization', told_by: by },
      part_left: { value: '7/10', told_by: by },
      transfer: { from: '111', to: '222', order: 'direct', told_by: by },
      unknown: ['series'],
      uncertain: [{ parts: ['place'], why: 'not publicly known', told_by: by }],
      findings: [{ kind: 'ring', sentence: 'a went into b.', known_at: '18' }],
    };
    await showPack(answering(state), SGTIN, { asOf: '2026-03-01T10:00:00+03:00', knownAt: '20' });
    expect(asked).toEqual([`/v1/packs/${SGTIN}?as_of=2026-03-01T10%3A00%3A00%2B03%3A00&known_at=20`]);
    expect(printed).toMatch(/status +in_realization +415 r-1 of 046070017700000001 .* 17/);
    expect(printed).toMatch(/part left +7\/10/);
    expect(printed).toMatch(/transfer +111 to 222 \(direct\)/);
    expect(printed).toMatch(/uncertain place +not publicly known/);
    expect(printed).toContain('unknown: series');
    expect(printed).toContain('contradiction at 18: a went into b.');
  });

  it('print a content as a tree, and say when it is unknown', async () => {
    const content = {
      ...{ sscc: SSCC, is_known: true, packs: 1, containers: 1, findings: [] },
      items: [
        { item: 'inner', container: SSCC, level: 1, known_at: '17' },
        { item: SGTIN, container: 'inner', level: 2, known_at: '17' },
      ],
      documents: [by],
    };
    await showContent(answering(content), SSCC, {});
    expect(asked).toEqual([`/v1/containers/${SSCC}/content`]);
    expect(printed).toMatch(/\n {2}inner .*\n {4}0460700177/);
    const unknown = { standing: 'not_asked', sentence: 'Content unknown: nobody asked.' };
    await showContent(answering({ ...content, is_known: false, unknown, items: [], documents: [] }), SSCC, {});
    expect(printed).toContain('Content unknown: nobody asked.');
    const told = { ...by, channel: 'registry_answer', operation_date: '2026-03-02T10:00:00Z' };
    await showContent(answering({ ...content, documents: [told] }), SSCC, {});
    expect(printed).toContain('inner  told by the registry, fetched 2026-03-02T10:00:00Z');
  });

  it('ask for the life of a container by its SSCC, and of all else as of a pack', async () => {
    const life = { sscc: SSCC, movements: [{ ...by, result: 'applied' }] };
    await showHistory(answering(life), SSCC, {});
    await showHistory(answering({ ...life, sgtin: SGTIN, gtin: 'g', serial: 's' }), SGTIN, { json: true });
    await showHistory(answering(life), '0460', {});
    expect(asked).toEqual([`/v1/containers/${SSCC}/history`, `/v1/packs/${SGTIN}/history`, '/v1/packs/0460/history']);
    expect(printed).toContain('415 Shipment to a buyer');
  });
});
