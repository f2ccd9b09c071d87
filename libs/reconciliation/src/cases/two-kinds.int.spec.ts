import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { caseIdOf, type CaseCommand } from '#domain';
import { sha256Hex } from '#kernel';
import { CaseWorld, pack } from '../../test/case-world.js';
import { daysBefore } from '../../test/world.js';

const [A, B] = [pack(1), pack(2)];
const CODE = 'rejected_document';

let world: CaseWorld;
beforeAll(async () => {
  world = await CaseWorld.open();
});
afterAll(() => world.close());

const packsOf = (document: string, ...items: [item: string, place: string][]) =>
  items.map(([item, s_place]) => ({
    ...{ item, code: CODE, severity: 'critical', copies: 1, s_place, x_document: document, x_position: 77 },
  }));
const documentsRun = (day: number) =>
  ({ kind: 'documents', id: `documents-${day}`, moment: daysBefore(-day) }) as const;

/** A run of documents finds this one. */
function sees(document: string, day: number): CaseCommand {
  const cause = { kind: 'document', document } as const;
  const seen = { run: documentsRun(day), count: 1, findingsSha256: sha256Hex(''), rows: { from: 1, to: 2 } };
  return {
    ...{ type: 'See', caseId: caseIdOf(CODE, cause), code: CODE, cause, severity: 'critical' },
    ...{ dueAt: daysBefore(-30), seen },
  };
}
const misses = (document: string, day: number): CaseCommand => ({
  ...{ type: 'Miss', caseId: caseIdOf(CODE, { kind: 'document', document }), run: documentsRun(day) },
  findingsSha256: sha256Hex(''),
});
const caseOf = async (document: string) => (await world.rows(CODE)).find((one) => one.document === document);

const eventsOf = async (document: string): Promise<number> =>
  (await world.store.readStream(`case-${caseIdOf(CODE, { kind: 'document', document })}`)).length;

describe('a case that both kinds of runs tell', () => {
  it('keeps the packs of one branch while a run of documents, and one of another branch, find it', async () => {
    await world.opened(0, { findings: packsOf('r-1', [A, 'P1']), places: ['P1'] });
    await world.tell(sees('r-1', 1));
    expect(await caseOf('r-1')).toMatchObject({ itemCount: 1, runKind: 'documents', runsSeen: 2 });
    const out = await world.runOf(2, { findings: packsOf('r-1', [B, 'P2']), places: ['P2'] });
    expect(await world.openedOf(out)).toMatchObject({ seen: 1 });
    const after = await caseOf('r-1');
    expect(after).toMatchObject({ itemCount: 2, state: { lastSeen: { unjudged: 1 } } });
    expect(await world.itemsOf(after as never, out)).toEqual([
      [A, true],
      [B, false],
    ]);
    await world.tell(sees('r-1', 3));
    expect(await caseOf('r-1')).toMatchObject({ itemCount: 2 });
  });

  it('is told by packs as of a moment before that of the last run of documents', async () => {
    await world.tell(sees('r-2', 6));
    expect(await world.opened(5, { findings: packsOf('r-2', [A, 'P1'], [B, 'P1']) })).toMatchObject({ seen: 1 });
    const found = await caseOf('r-2');
    expect(found).toMatchObject({ itemCount: 2, runKind: 'documents' });
    expect(found?.lastSeenAt.toISOString()).toBe(daysBefore(-6));
    // An earlier one of its own kind says nothing of now.
    expect(await world.opened(4, { findings: packsOf('r-2', [A, 'P1']) })).toMatchObject({ unchanged: 1 });
  });

  it('is over when it is for both: each ends what it has seen itself', async () => {
    await world.tell(sees('r-3', 7));
    await world.opened(8, { findings: packsOf('r-3', [A, 'P3']), places: ['P3'] });
    expect(await world.opened(9, { places: ['P3'] })).toMatchObject({ resolved: 0 });
    expect(await caseOf('r-3')).toMatchObject({ phase: 'open', itemCount: 1, runKind: 'packs' });
    // What packs are over for is not theirs to end again.
    expect(await world.opened(10, { places: ['P3'] })).toMatchObject({ resolved: 0 });
    expect(await eventsOf('r-3')).toBe(3);
    await world.tell(misses('r-3', 11));
    expect(await caseOf('r-3')).toMatchObject({ phase: 'resolved' });
    await world.opened(12, { findings: packsOf('r-3', [A, 'P3']), places: ['P3'] });
    expect(await caseOf('r-3')).toMatchObject({ phase: 'open' });
    await world.tell(misses('r-3', 13));
    expect(await caseOf('r-3')).toMatchObject({ phase: 'open' });
    expect(await world.opened(14, { places: ['P3'] })).toMatchObject({ resolved: 1 });
  });
});
