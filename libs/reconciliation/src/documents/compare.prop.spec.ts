import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import { compare, listed, own } from '../../test/compared-documents.js';
import type { ListedDocument, OwnDocument } from './compare.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? 20_260_310);
const instant = fc
  .integer({ min: 0, max: 200 })
  .map((hours) => new Date(Date.parse('2026-03-02T00:00:00Z') + hours * 3_600_000).toISOString());
/** Few ids, among them such as sort otherwise by UTF-16 than by bytes. */
const id = fc.constantFrom('a', 'b', 'c', '\u{ffff}', '\u{10000}', 'zz');

const ours: fc.Arbitrary<OwnDocument[]> = fc.uniqueArray(
  fc
    .record({
      requestId: id,
      outcome: fc.constantFrom('accepted', 'partial', 'rejected', 'failed', null),
      registeredAt: instant,
      at: instant,
      account: fc.constantFrom('main', 'north'),
    })
    .map(({ requestId, outcome, registeredAt, at, account }) =>
      own(requestId, { outcome, registeredAt, account, concludedAt: outcome === null ? null : at }),
    ),
  { selector: (one) => one.requestId },
);
const theirs: fc.Arbitrary<ListedDocument[]> = fc.uniqueArray(
  fc
    .record({
      requestId: fc.oneof(id, fc.constant('')),
      documentId: id,
      status: fc.constantFrom('processed', 'processing', 'failed', 'failed_result_ready'),
      statusAt: instant,
    })
    .map(({ requestId, documentId, ...over }) => listed(requestId, { documentId: `d-${documentId}`, ...over })),
  { selector: (one) => one.documentId },
);
const shuffled = <T>(rows: T[]): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray(rows, { minLength: rows.length, maxLength: rows.length });

describe('the same rows', () => {
  it(`give the same findings and digests in whatever order they come (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(ours, theirs).chain(([a, b]) => fc.tuple(fc.constant(a), fc.constant(b), shuffled(a), shuffled(b))),
        async ([a, b, otherA, otherB]) => expect(await compare(otherA, otherB)).toEqual(await compare(a, b)),
      ),
      { seed: SEED, numRuns: sized({ test: 45, soak: 300 }) },
    );
  });

  it(`give another digest as soon as one row is another (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(ours, theirs, async (a, b) => {
        const [first, ...rest] = a;
        if (first === undefined) return;
        const [one, other] = [
          await compare(a, b),
          await compare([{ ...first, docType: first.docType + 1 }, ...rest], b),
        ];
        expect(other.digests.documents).not.toBe(one.digests.documents);
        expect(other.digests.listed).toBe(one.digests.listed);
      }),
      { seed: SEED, numRuns: sized({ test: 15, soak: 100 }) },
    );
  });

  it(`are all counted, and each finding once (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(ours, theirs, async (a, b) => {
        const { counts, findings } = await compare(a, b);
        expect([counts.documents, counts.listed]).toEqual([a.length, b.length]);
        expect(counts.missing_at_registry + counts.status_differs + counts.held_twice + counts.overdue).toBe(
          findings.length,
        );
        expect(new Set(findings.map((one) => `${one.kind} ${one.requestId}`)).size).toBe(findings.length);
      }),
      { seed: SEED, numRuns: sized({ test: 30, soak: 200 }) },
    );
  });
});
