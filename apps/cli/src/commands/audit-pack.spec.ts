import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PackProofMaker, type MadeSegment } from '../../../../libs/proofs/test/made-pack-proof.js';
import { textOf } from '../../../../libs/proofs/test/made-proof.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { printedInEachTest } from '../../test/printed.js';
import { verifyProof } from './audit-proof.js';

const ITEM = '04607001770001ABCDEFGHIJKLM';
const SEGMENTS: MadeSegment[] = [0, 1_000].map((from) => ({
  from,
  to: from + 1_000,
  rows: [{ item: ITEM, position: from + 1, ordinal: 0, docType: 415 }],
}));

const printed = printedInEachTest();
let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await folder.remove();
});

async function verified(lines: object[], { key, json }: { key: string; json?: boolean }): Promise<number> {
  printed.length = 0;
  const file = join(folder.path, 'pack.ndjson');
  writeFileSync(file, textOf(lines));
  return verifyProof(file, { key, ...(json === undefined ? {} : { json }) });
}

it('prints each break of the log, in words and as JSON', async () => {
  const maker = new PackProofMaker(2);
  const lines = await maker.lines(ITEM, SEGMENTS);
  expect(await verified(lines, { key: maker.key })).toBe(0);
  expect(printed.join('')).toMatch(/^break 1 of the log, told by anna at .*: a restore\..*\nbreak 2 of the log/m);
  await verified(lines, { key: maker.key, json: true });
  expect(JSON.parse(printed.join(''))).toMatchObject({
    breaks: [
      { number: 1, told_by: 'anna', reason: 'a restore' },
      { number: 2, next_origin: 'pedigree.example/log/3' },
    ],
  });
});

it('ends with 1 where the counts are left out: a later segment may be left out with them', async () => {
  const maker = new PackProofMaker();
  const whole = await maker.lines(ITEM, SEGMENTS);
  expect(await verified(whole, { key: maker.key })).toBe(0);
  // The second segment goes with its seal, and the end of the chain is said to be at the end of the first.
  const isOfSecond = (line: object): boolean => JSON.stringify(line).includes('segment-2000') || 'count' in line;
  const stream = whole.findIndex((line) => 'stream' in line && line.stream === 'segment-1000');
  const cut = whole
    .toSpliced(-2, 1)
    .toSpliced(stream + 2, 1)
    .filter((line) => !isOfSecond(line))
    .map((line): object => {
      if ('stream' in line && line.stream === 'segment-1000') return { ...line, events: 0 };
      if ('end' in line) return { end: { streams: 2, events: 1 } };
      return 'segments' in line ? { segments: 1 } : line;
    });
  expect(await verified(cut, { key: maker.key })).toBe(1);
  expect(printed.join('')).toMatch(/1 movements name .* up to log position 1000\./);
  expect(printed.join('')).toMatch(/^NOT PROVEN: that no later segment was sealed/m);
});
