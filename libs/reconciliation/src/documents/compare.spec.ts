import { describe, expect, it } from '@jest/globals';
import { compare, listed, own, RULES, unordered } from '../../test/compared-documents.js';
import { wordsForFinding } from './finding.js';

const kinds = (result: { findings: { kind: string; requestId: string }[] }) =>
  result.findings.map((one) => [one.kind, one.requestId]);

describe('documents that both sides hold alike', () => {
  it('are no finding', async () => {
    const result = await compare(
      [own('a'), own('b', { outcome: 'rejected' }), own('c', { outcome: 'partial' })],
      [listed('a'), listed('b', { status: 'failed_result_ready' }), listed('c', { status: 'failed_result_ready' })],
    );
    expect(result).toMatchObject({ findings: [], counts: { documents: 3, listed: 3 } });
  });
});

describe('a document that no list has shown', () => {
  it('is missing at the registry where we hold it to be taken', async () => {
    const result = await compare([own('a'), own('b', { outcome: 'partial' }), own('c', { outcome: 'rejected' })], []);
    expect(kinds(result)).toEqual([
      ['missing_at_registry', 'a'],
      ['missing_at_registry', 'b'],
    ]);
    expect(result.findings[0]).toMatchObject({
      reasonCode: 'missing_in_registry',
      documentId: 'd-a',
      account: 'main',
      detail: { listReadTo: RULES.coverage[0]?.to },
    });
  });

  it.each([
    ['was registered before the lists were read', { registeredAt: '2026-02-28T23:59:59.000Z' }],
    ['concluded so lately that the list may be behind', { concludedAt: '2026-03-10T11:00:00.000Z' }],
    ['went by an account whose list is not read', { account: 'north' }],
  ])('is only counted where it %s', async (_, over) => {
    expect(await compare([own('a', over)], [])).toMatchObject({ findings: [], counts: { notCovered: 1 } });
  });

  it('is there when the list shows it without a request_id', async () => {
    expect((await compare([own('a')], [listed('', { documentId: 'd-a' })])).findings).toEqual([]);
  });

  it('is missing when the list shows another document under its request_id', async () => {
    expect(kinds(await compare([own('a')], [listed('a', { documentId: 'other' })]))).toEqual([
      ['missing_at_registry', 'a'],
    ]);
  });
});

describe('a final status of the list', () => {
  it.each([
    ['accepted', 'failed_result_ready'],
    ['accepted', 'failed'],
    ['partial', 'failed'],
    ['rejected', 'processed'],
    ['failed', 'processed'],
    ['failed', 'failed_result_ready'],
  ] as const)('contradicts: %s with us, %s there', async (outcome, status) => {
    expect(kinds(await compare([own('a', { outcome })], [listed('a', { status })]))).toEqual([['status_differs', 'a']]);
  });

  it('that is older than our outcome contradicts nothing, and is counted', async () => {
    expect(
      await compare([own('a')], [listed('a', { status: 'failed', statusAt: '2026-03-09T08:59:59.000Z' })]),
    ).toMatchObject({ findings: [], counts: { staleStatus: 1 } });
  });

  it('contradicts also where we ended the document without its id, as not taken by the registry', async () => {
    const ended = own('a', { outcome: 'failed', documentId: null });
    const { findings } = await compare([ended, own('b', { outcome: 'failed', documentId: null })], [listed('a')]);
    expect(findings).toMatchObject([{ kind: 'status_differs', requestId: 'a', detail: { status: 'processed' } }]);
    expect((await compare([ended], [listed('a', { status: 'failed' })])).findings).toEqual([]);
  });

  it('is awaited: one that is not final says nothing', async () => {
    expect((await compare([own('a')], [listed('a', { status: 'processing' })])).findings).toEqual([]);
  });
});

describe('two documents under one request_id', () => {
  it('are found, ours or not', async () => {
    const result = await compare(
      [own('a')],
      [
        listed('a'),
        listed('a', { documentId: 'd-b' }),
        listed('z', { documentId: '1' }),
        listed('z', { documentId: '2' }),
      ],
    );
    expect(result.findings).toMatchObject([
      { kind: 'held_twice', requestId: 'a', account: 'main', detail: { count: 2, documentIds: ['d-a', 'd-b'] } },
      { kind: 'held_twice', requestId: 'z', detail: { count: 2 } },
    ]);
  });
});

describe('a document without an outcome', () => {
  const open = { outcome: null, concludedAt: null };
  it('is overdue past the limit of its type', async () => {
    const result = await compare(
      [
        own('a', open),
        own('b', { ...open, docType: 415 }),
        own('c', { ...open, registeredAt: '2026-03-10T11:00:00.000Z' }),
      ],
      [],
    );
    expect(kinds(result)).toEqual([['overdue', 'a']]);
  });
});

describe('a side that is not in order', () => {
  it('is refused, for its rows would meet nothing', async () => {
    await expect(unordered([own('b'), own('a')])).rejects.toThrow('not in order');
    await expect(unordered([own('a'), own('a')])).rejects.toThrow('not in order');
  });
});

describe('each kind of finding', () => {
  it('says what it means and what to do', async () => {
    const { findings } = await compare(
      [own('a'), own('b', { outcome: null, concludedAt: null }), own('c', { outcome: 'failed' })],
      [listed('c'), listed('d', { documentId: '1' }), listed('d', { documentId: '2' })],
    );
    expect(new Set(findings.map((one) => one.kind)).size).toBe(4);
    for (const finding of findings)
      expect(wordsForFinding(finding)).toEqual({
        sentence: expect.stringMatching(/^(?!.*undefined).+\.$/),
        remedy: expect.stringMatching(/.+\.$/),
      });
  });
});
