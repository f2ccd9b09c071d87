import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { Orphan } from '#read-models';
import { Health } from '#service';
import { OrphanWatch } from './orphan-watch.js';

const orphan = (n: number): Orphan => ({
  kind: n % 2 === 0 ? 'group' : 'document',
  id: `6f1b2c9e-3a70-4a51-9a7e-00000000000${n}`,
  account: 'main',
  phase: 'sent',
  since: new Date(Date.UTC(2026, 2, n)),
  version: n,
});

/** A watch that finds, look by look, what it is given; the last again and again. */
function harness(...looks: (Orphan[] | Error)[]): {
  watch: OrphanWatch;
  health: Health;
  clock: VirtualClock;
  looked(): number;
  warned: string[];
} {
  const clock = new VirtualClock();
  const warned: string[] = [];
  let looked = 0;
  const find = async (): Promise<Orphan[]> => {
    const found = looks[Math.min(looked, looks.length - 1)] as Orphan[] | Error;
    looked += 1;
    if (found instanceof Error) throw found;
    return found;
  };
  const watch = new OrphanWatch({ find, clock, log: { warn: (_, message) => warned.push(message) } });
  const health = new Health('gateway', clock);
  health.phase = 'running';
  health.degradedBy(() => watch.troubles());
  return { watch, health, clock, looked: () => looked, warned };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the watch for orphans', () => {
  it('degrades health by how many there are, the first few, and the command that lists them', async () => {
    const { watch, health } = harness([1, 2, 3, 4, 5].map(orphan));
    expect(health.readiness().status).toBe('ready');
    await watch.look();
    const { status, degraded } = health.readiness();
    expect({ status, degraded }).toEqual({
      status: 'degraded',
      degraded: [
        {
          name: 'orphans',
          since: '2026-03-01T00:00:00.000Z',
          reason:
            'nothing carries on 5 documents or groups that are not concluded; pedigree tasks --orphans lists them: ' +
            `document ${orphan(1).id}, group ${orphan(2).id}, document ${orphan(3).id} and 2 more`,
        },
      ],
    });
  });

  it('says one as one, and nothing of more', async () => {
    const { watch } = harness([orphan(1)]);
    await watch.look();
    expect(watch.troubles()[0]?.reason).toBe(
      'nothing carries on 1 document or group that is not concluded; pedigree tasks --orphans lists them: ' +
        `document ${orphan(1).id}`,
    );
  });

  it('looks once a minute, however often health is asked, and is well again by itself', async () => {
    const { watch, health, clock, looked } = harness([orphan(1)], []);
    const ending = new AbortController();
    const watching = watch.watch(ending.signal);
    await settled();
    for (let n = 0; n < 100; n += 1) expect(health.readiness().status).toBe('degraded');
    expect([looked(), watch.found()]).toEqual([1, 1]);
    clock.advance(59_999);
    await settled();
    expect(looked()).toBe(1);
    clock.advance(1);
    await settled();
    expect([looked(), watch.found(), health.readiness().status]).toEqual([2, 0, 'ready']);
    ending.abort();
    await watching;
  });

  it('keeps what it found while it cannot look, says that, and looks again', async () => {
    const { watch, health, clock, looked, warned } = harness([orphan(1)], new Error('the database is away'), []);
    const ending = new AbortController();
    const watching = watch.watch(ending.signal);
    await settled();
    clock.advance(60_000);
    await settled();
    expect([looked(), health.readiness().status, warned]).toEqual([2, 'degraded', ['nobody could look for orphans']]);
    clock.advance(60_000);
    await settled();
    expect(health.readiness().status).toBe('ready');
    ending.abort();
    await watching;
  });

  it('says to health that it cannot look: none found before would pass for none now', async () => {
    const { watch, health, clock } = harness([], new Error('canceling statement due to statement timeout'));
    await watch.look();
    expect(health.readiness().status).toBe('ready');
    const since = clock.now().toISOString();
    for (let looks = 0; looks < 2; looks += 1) {
      await expect(watch.look()).rejects.toThrow('statement timeout');
      clock.advance(60_000);
    }
    expect(health.readiness()).toMatchObject({
      status: 'degraded',
      degraded: [
        {
          ...{ name: 'orphan watch', since },
          reason: 'nobody could look for orphans: canceling statement due to statement timeout',
        },
      ],
    });
  });
});
