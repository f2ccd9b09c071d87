import { describe, expect, it } from '@jest/globals';
import { OrphanWatch } from './orphan-watch.js';
import type { Orphan } from './subjects/orphans/find-orphans.js';

const orphan = (requestId: string, position: string): Orphan => ({
  requestId,
  position,
  lastEvent: 'DocumentSent',
  since: new Date(0),
});

/** What the watch has confirmed after these looks; the database is away where there is an error. */
async function confirmed(...looks: (Orphan[] | Error)[]): Promise<string[]> {
  const left = [...looks, []];
  const watch = new OrphanWatch(async () => {
    const next = left.shift() ?? [];
    if (next instanceof Error) throw next;
    return next;
  });
  for (const _ of looks) await watch.look().catch(() => undefined);
  return (await watch.finish()).map(({ requestId }) => requestId);
}

describe('the watch for orphans', () => {
  it('believes one that it sees twice running at the same event, and remembers it when it is gone', async () => {
    expect(await confirmed([orphan('a', '1')], [orphan('a', '1')], [])).toEqual(['a']);
  });

  it('does not believe one that moved, one that was gone between, or one seen before and after the database was away', async () => {
    expect(await confirmed([orphan('a', '1')], [orphan('a', '2')])).toEqual([]);
    expect(await confirmed([orphan('a', '1')], [], [orphan('a', '1')])).toEqual([]);
    expect(await confirmed([orphan('a', '1')], new Error('away'), [orphan('a', '1')])).toEqual([]);
  });
});
