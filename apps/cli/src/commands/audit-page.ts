import { readFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PedigreeError } from '#kernel';
import { trustedWitnesses, verifyProofLines } from '#proofs';
import { builtFile } from '../config.js';
import { out } from '../print.js';
import { MOST_PROOF_CHARACTERS, pageFile, type PageParts } from '../proof-page/page-file.js';
import { writeWhole } from '../stack/whole-file.js';

export interface PageFlags {
  key: string;
  /** Verifier keys of witnesses. */
  witness?: string[];
  needed?: string;
  /** Where the page is written. */
  out?: string;
}

/**
 * Writes the page of a proof that holds; throws PedigreeError where it does not. Status 1 where too few witnesses have
 * seen its checkpoint: the page says so too.
 */
export async function writeProofPage(file: string, { key, witness = [], needed, out: to }: PageFlags): Promise<number> {
  const least = needed === undefined ? undefined : Number(needed);
  const trusted = trustedWitnesses(witness, least);
  const page = to ?? `${file.replace(/\.(?:nd)?json$/, '')}.html`;
  if (resolve(page) === resolve(file))
    throw new PedigreeError('invalid_parameter', '--out: is the proof itself', { field: '--out' });
  if ((await stat(file)).size > MOST_PROOF_CHARACTERS)
    throw new PedigreeError('invalid_parameter', `${file} is too long for a page; check it with audit verify`, {
      field: 'file',
    });
  const handle = await open(file);
  const proof = await handle.readFile('utf8').finally(() => handle.close());
  const verified = await verifyProofLines(linesOf(proof), key, { trusted });
  writeWhole(
    page,
    pageFile(proof, { key, witnesses: witness, ...(least === undefined ? {} : { needed: least }) }, pageParts()),
  );
  out(`${page} has ${verified.events} events and checks them itself, in Chromium, Firefox or Safari`);
  return verified.witnessed.isMet ? 0 : 1;
}

/** What the build has made of the verifier. */
export const pageParts = (): PageParts => ({
  script: readFileSync(builtFile('apps/cli/src/proof-page/verifier.js'), 'utf8'),
  style: readFileSync(builtFile('apps/cli/src/proof-page/page.css'), 'utf8'),
});

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').filter((line) => line !== '');
}
