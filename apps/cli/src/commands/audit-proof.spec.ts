import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { madeProof } from '../../../../libs/proofs/test/made-proof.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { printedInEachTest } from '../../test/printed.js';
import { verifyProof } from './audit-proof.js';

const key = verifierKeyOf(noteSigner('pedigree.example/log', newSigningKey()));
const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
printedInEachTest();
let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  Object.defineProperty(process, 'stdin', stdin);
  await folder.remove();
});

const written = (text: string): string => {
  const file = join(folder.path, 'proof.ndjson');
  writeFileSync(file, text);
  return file;
};

it('lets go of what writes a proof that is refused', async () => {
  const input = new PassThrough();
  Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  // Only a proof of today's form is checked as it comes.
  input.write('{"format":"pedigree-proof/2","checkpoint":"of nobody"}\n');
  await expect(verifyProof('-', { key })).rejects.toThrow();
  expect(input.destroyed).toBe(true);
});

it('takes a proof whose events have what some take for the end of a line', async () => {
  // JSON leaves these characters as they are; a person pastes them with a reason.
  const proof = await madeProof([{ reason: 'the first line\u2028the second\u2029the third\u0085' }]);
  expect(await verifyProof(written(proof.text), { key: proof.key })).toBe(0);
  expect(await verifyProof(written(proof.text.replaceAll('\n', '\r\n')), { key: proof.key })).toBe(0);
});

it('takes no empty text for the number of witnesses that are needed', async () => {
  const { key: own, text } = await madeProof([{ n: 0 }]);
  const { witness } = await madeProof([{ n: 0 }]);
  const file = written(text);
  expect(await verifyProof(file, { key: own, witness: [witness] })).toBe(1);
  for (const needed of ['', ' ', '0x0', '1.5', '-0'])
    await expect(verifyProof(file, { key: own, witness: [witness], needed })).rejects.toThrow(/^--needed: /);
  expect(await verifyProof(file, { key: own, witness: [witness], needed: '0' })).toBe(0);
});
