import { describe, expect, it } from '@jest/globals';
import { coalesce } from './coalesce.js';

/** A run that ends when the test says so. */
function gate() {
  const runs: { inputs: number[]; finish: () => void; fail: (error: Error) => void }[] = [];
  const run = (inputs: number[]) =>
    new Promise<number[]>((resolve, reject) =>
      runs.push({ inputs, finish: () => resolve(inputs.map((input) => input * 10)), fail: reject }),
    );
  return { runs, run };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('coalesce', () => {
  it('shares one run among the calls of one turn, and gathers later ones for the next', async () => {
    const { runs, run } = gate();
    const call = coalesce(run, { maxBatch: 10, maxWaiting: 10 });
    const first = [call(1), call(2)];
    await turn();
    const second = [call(3), call(4), call(5)];
    await turn();
    expect(runs.map((one) => one.inputs)).toEqual([[1, 2]]);
    runs[0]?.finish();
    await turn();
    expect(runs.map((one) => one.inputs)).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    runs[1]?.finish();
    expect(await Promise.all([...first, ...second])).toEqual([10, 20, 30, 40, 50]);
  });

  it('keeps to its limits', async () => {
    const { runs, run } = gate();
    const call = coalesce(run, { maxBatch: 2, maxWaiting: 3 });
    const calls = [call(1), call(2), call(3)];
    await expect(call(4)).rejects.toThrow('more than 3 calls wait');
    await turn();
    expect(runs.map((one) => one.inputs)).toEqual([[1, 2]]);
    runs[0]?.finish();
    await turn();
    runs[1]?.finish();
    expect(await Promise.all(calls)).toEqual([10, 20, 30]);
  });

  it('rejects the calls of a failed run and goes on with the next', async () => {
    const { runs, run } = gate();
    const call = coalesce(run, { maxBatch: 1, maxWaiting: 3 });
    const [bad, good] = [call(1), call(2)];
    const said = expect(bad).rejects.toThrow('no');
    await turn();
    runs[0]?.fail(new Error('no'));
    await said;
    await turn();
    runs[1]?.finish();
    expect(await good).toBe(20);
  });

  it('rejects a batch whose run forgets a result', async () => {
    const call = coalesce<number, number>(() => Promise.resolve([]), { maxBatch: 1, maxWaiting: 1 });
    await expect(call(1)).rejects.toThrow('a batch of 1 got 0 results');
  });

  it('starts as many runs at once as it may', async () => {
    const { runs, run } = gate();
    const call = coalesce(run, { maxBatch: 1, maxWaiting: 10, maxRuns: 2 });
    const calls = [call(1), call(2), call(3)];
    await turn();
    expect(runs.map((one) => one.inputs)).toEqual([[1], [2]]);
    for (let i = 0; i < 3; i += 1) {
      runs[i]?.finish();
      await turn();
    }
    expect(await Promise.all(calls)).toEqual([10, 20, 30]);
  });
});
