import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { newEvent } from './contract-events.js';
import { encodeAppend, type EncodedAppend } from './encode.js';
import { GroupCommit, type GroupCommitOptions } from './group-commit.js';
import { DEFAULT_LIMITS } from './limits.js';
import type { AppendResult } from './port.js';

const append = (stream: string, ...data: object[]) =>
  encodeAppend({ stream, expectedVersion: 'none', events: data.map((each) => newEvent(each)) }, DEFAULT_LIMITS);
const results = (appends: EncodedAppend[]): AppendResult[] =>
  appends.map((_, version) => ({ kind: 'appended', version, position: 1n }));

function commits(options: Partial<GroupCommitOptions> = {}) {
  const calls: string[] = [];
  const clock = new VirtualClock();
  const call = (appends: EncodedAppend[]): Promise<AppendResult[]> => {
    calls.push(appends.map((one) => one.stream).join(''));
    return Promise.resolve(results(appends));
  };
  const group = new GroupCommit({ limits: DEFAULT_LIMITS, minCallIntervalMs: 0, clock, call, ...options });
  return { group, calls, clock };
}

/** Lets everything that can go on without the clock go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('group commit', () => {
  it('makes appends of one turn in one call, and those that come meanwhile in the next', async () => {
    const { group, calls } = commits();
    const first = Promise.all([group.append(append('a', {})), group.append(append('b', {}))]);
    await Promise.resolve();
    const later = Promise.all([group.append(append('c', {})), group.append(append('d', {}))]);
    expect((await first).map((result) => result.kind === 'appended' && result.version)).toEqual([0, 1]);
    await later;
    expect(calls).toEqual(['ab', 'cd']);
  });

  it('keeps order, cuts at the limit of events, and never cuts an append', async () => {
    const { group, calls } = commits({ limits: { ...DEFAULT_LIMITS, maxBatchEvents: 4 } });
    const batch = [
      append('a', {}, {}),
      append('b', {}),
      append('c', {}, {}),
      append('d', {}, {}, {}, {}, {}),
      append('e', {}),
    ];
    await Promise.all(batch.map((one) => group.append(one)));
    expect(calls).toEqual(['ab', 'c', 'd', 'e']);
  });

  it('cuts at the limit of bytes and of appends, and lets one that is larger go alone', async () => {
    const [small, large] = [append('s', {}), append('l', { text: 'x'.repeat(5_000) })];
    const { group, calls } = commits({
      limits: { ...DEFAULT_LIMITS, maxBatchAppends: 3, maxBatchBytes: small.bytes * 4 },
    });
    await Promise.all([small, large, small, small, small, small].map((one) => group.append(one)));
    expect(calls).toEqual(['s', 'l', 'sss', 's']);
  });

  it('keeps its distance between calls: the first goes at once, the next gather', async () => {
    const { group, calls, clock } = commits({ minCallIntervalMs: 3 });
    await group.append(append('a', {}));
    const gathered = [group.append(append('b', {}))];
    await settle();
    clock.advance(2);
    gathered.push(group.append(append('c', {})));
    await settle();
    expect(calls).toEqual(['a']);
    clock.advance(1);
    await Promise.all(gathered);
    expect(calls).toEqual(['a', 'bc']);
    clock.advance(3);
    await group.append(append('d', {}));
    expect(calls).toEqual(['a', 'bc', 'd']);
  });

  it('fails the appends of a failed call and no others', async () => {
    const call = (appends: EncodedAppend[]) =>
      appends[0]?.stream === 'b' ? Promise.reject(new Error('lost')) : Promise.resolve(results(appends));
    const { group } = commits({ limits: { ...DEFAULT_LIMITS, maxBatchAppends: 1 }, call });
    const settled = await Promise.allSettled(['a', 'b', 'c'].map((stream) => group.append(append(stream, {}))));
    expect(settled.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(group.length).toBe(0);
  });

  it('fails an append for which no result came', async () => {
    const { group } = commits({ call: () => Promise.resolve([]) });
    await expect(group.append(append('a', {}))).rejects.toThrow('no result for the append to a');
  });
});
