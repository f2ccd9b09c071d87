import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { madeProof, textOf, type MadeProof } from '../../../../libs/proofs/test/made-proof.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { PACK_PROOF_BEGIN } from '#proofs';
import { writeProofPage } from './audit-page.js';

let folder: TemporaryFolder;
let proof: MadeProof;
let file: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  proof = await madeProof([{ n: 0 }, { n: 1 }]);
  file = join(folder.path, 'proof.ndjson');
  writeFileSync(file, proof.text);
  jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await folder.remove();
});

describe('pedigree audit page', () => {
  it('writes a page beside the proof, or where it is told, with the proof and the keys in it', async () => {
    expect(await writeProofPage(file, { key: proof.key, witness: [proof.witness] })).toBe(0);
    const html = readFileSync(join(folder.path, 'proof.html'), 'utf8');
    expect(html).toContain(proof.text.trim());
    expect(html).toContain(JSON.stringify({ key: proof.key, witnesses: [proof.witness] }));
    const out = join(folder.path, 'other.html');
    await writeProofPage(file, { key: proof.key, witness: [proof.witness], needed: '0', out });
    expect(readFileSync(out, 'utf8')).toContain('"needed":0');
  });

  it('writes none of a proof that does not hold, and never over the proof', async () => {
    writeFileSync(file, textOf(proof.lines.slice(0, -1)));
    await expect(writeProofPage(file, { key: proof.key })).rejects.toThrow(/the proof is cut off/);
    expect(existsSync(join(folder.path, 'proof.html'))).toBe(false);
    writeFileSync(file, proof.text);
    await expect(writeProofPage(file, { key: proof.key, out: file })).rejects.toThrow('--out: is the proof itself');
    expect(readFileSync(file, 'utf8')).toBe(proof.text);
  });

  it('writes one of an answer, but none of an answer that does not follow from its events', async () => {
    // No read model takes these events: an answer to the route of a document cannot follow from them.
    const forged = await madeProof([{ n: 0 }], { answer: { phase: 'concluded' } });
    writeFileSync(file, forged.text);
    await expect(writeProofPage(file, { key: forged.key })).rejects.toThrow(/^\/answer\/body/);
    expect(existsSync(join(folder.path, 'proof.html'))).toBe(false);
    const unchecked = forged.text.replace('/v1/documents/1', '/v1/packs/1/history');
    writeFileSync(file, unchecked);
    expect(await writeProofPage(file, { key: forged.key })).toBe(0);
    expect(readFileSync(join(folder.path, 'proof.html'), 'utf8')).toContain(unchecked.trim());
  });

  it('says that it makes none of the proof of a pack', async () => {
    writeFileSync(file, `${PACK_PROOF_BEGIN},"checkpoint":""}\n${proof.text}`);
    await expect(writeProofPage(file, { key: proof.key })).rejects.toThrow(/is the proof of a pack, of which no page/);
    expect(existsSync(join(folder.path, 'proof.html'))).toBe(false);
  });

  it('ends with 1 where too few witnesses have seen the checkpoint', async () => {
    const { witness } = await madeProof([{}]);
    expect(await writeProofPage(file, { key: proof.key, witness: [witness] })).toBe(1);
  });
});
