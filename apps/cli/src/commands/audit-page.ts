import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { invalidParameter, PedigreeError } from '#kernel';
import { AnswerReading } from '../answers/answer-reading.js';
import { answerWords, isWhole } from '../answers/answer-words.js';
import { PACK_PROOF_BEGIN, trustedWitnesses, verifyProofLines } from '#proofs';
import { builtFile } from '../config.js';
import { out } from '../print.js';
import { mustBeKeys, neededWitnesses } from './audit-witnessed.js';
import { MOST_PROOF_CHARACTERS, pageFile, type PageParts } from '../proof-page/page-file.js';
import { writeDurably } from '#service';

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
 * seen its checkpoint, or an answer is not shown to be whole (`isWhole`): the page says so too.
 */
export async function writeProofPage(file: string, { key, witness = [], needed, out: to }: PageFlags): Promise<number> {
  mustBeKeys(key);
  const least = neededWitnesses(needed);
  const trusted = trustedWitnesses(witness, least);
  const page = to ?? `${file.replace(/\.(?:nd)?json$/, '')}.html`;
  if (resolve(page) === resolve(file)) throw invalidParameter('--out', 'is the proof itself');
  const proof = await proofIn(file);
  const reading = new AnswerReading();
  const verified = await verifyProofLines(linesOf(proof), key, { trusted, ...reading.listening });
  // The page shows an answer, and cannot work it out again: one that does not follow from its events gets no page.
  const answered = verified.answer && { answer: verified.answer, reading: await reading.of(verified.answer) };
  writeDurably(
    page,
    pageFile(proof, { key, witnesses: witness, ...(least === undefined ? {} : { needed: least }) }, pageParts()),
  );
  out(`${page} has ${verified.events} events and checks them itself, in Chromium, Firefox or Safari`);
  if (answered !== undefined) out(answerWords(answered).join('\n'));
  return verified.witnessed.isMet && isWhole(verified) ? 0 : 1;
}

/** The text of a proof of which a page can be made. */
async function proofIn(file: string): Promise<string> {
  const refused = (why: string): PedigreeError =>
    new PedigreeError('invalid_parameter', `${file} ${why}; check it with audit verify`, { field: 'file' });
  if ((await stat(file)).size > MOST_PROOF_CHARACTERS) throw refused('is too long for a page');
  const proof = await readFile(file, 'utf8');
  if (proof.startsWith(PACK_PROOF_BEGIN)) throw refused('is the proof of a pack, of which no page can be made');
  return proof;
}

/** What the build has made of the verifier. */
export const pageParts = (): PageParts => ({
  script: readFileSync(builtFile('apps/cli/src/proof-page/verifier.js'), 'utf8'),
  style: readFileSync(builtFile('apps/cli/src/proof-page/page.css'), 'utf8'),
});

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').filter((line) => line !== '');
}
