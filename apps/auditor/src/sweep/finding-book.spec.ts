import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { FINDING_KINDS } from './finding.js';
import { FindingBook } from './finding-book.js';
import { StateFile, type KeptFinding, type SweepState } from './state-file.js';

const recorder = { found: () => Promise.resolve(), gone: () => Promise.resolve() };
const now = () => new Date('2026-03-01T10:00:00.000Z');
const SOME = { expected: 'one thing', found: 'another' };

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const kept = (what: KeptFinding['what'], n: number, isOpen: boolean): KeptFinding => ({
  ...{ what, where: `old ${n}`, ...SOME, firstPass: 1, lastPass: 1, since: now().toISOString(), times: 0, isOpen },
});

describe('what was found, over many sweeps', () => {
  it('can always be read again, however many findings come and stay', async () => {
    const file = new StateFile(folder.path, { error: () => undefined });
    const old = FINDING_KINDS.flatMap((what) => Array.from({ length: 490 }, (_, n) => kept(what, n, true)));
    const gone = Array.from({ length: 1_000 }, (_, n) => kept('event', 1_000 + n, false));
    const state: SweepState = { ...file.read(), pass: 2, findings: [...gone, ...old] };
    const book = new FindingBook(state, recorder, now);
    for (const what of FINDING_KINDS)
      for (let n = 0; n < 30; n += 1) await book.report({ what, where: `new ${n}`, ...SOME });
    // One that is known is seen all the same.
    await book.report({ what: 'tile', where: 'old 3', ...SOME });
    await book.endPass(() => true);
    file.write(state);
    expect(file.read()).toEqual(state);
    expect(state.findings.length).toBeGreaterThan(4_900);
    expect(state.findings.find(({ what, where }) => what === 'tile' && where === 'old 3')?.lastPass).toBe(2);
  });
});
