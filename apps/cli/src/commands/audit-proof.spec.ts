import { afterEach, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { newSigningKey, noteSigner, verifierKeyOf } from '#merkle';
import { verifyProof } from './audit-proof.js';

const key = verifierKeyOf(noteSigner('pedigree.example/log', newSigningKey()));
const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
afterEach(() => {
  Object.defineProperty(process, 'stdin', stdin);
});

it('lets go of what writes a proof that is refused', async () => {
  const input = new PassThrough();
  Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  // Only a proof of today's form is checked as it comes.
  input.write('{"format":"pedigree-proof/2","checkpoint":"of nobody"}\n');
  await expect(verifyProof('-', { key })).rejects.toThrow();
  expect(input.destroyed).toBe(true);
});
