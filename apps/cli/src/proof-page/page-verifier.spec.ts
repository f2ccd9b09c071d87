import { beforeAll, describe, expect, it } from '@jest/globals';
import { webcrypto } from 'node:crypto';
import { createContext, Script } from 'node:vm';
import { madeProof, textOf, type MadeProof } from '../../../../libs/proofs/test/made-proof.js';
import { trustedWitnesses, verifyProofLines, type ProofHead, type ProofLine, type Verified } from '#proofs';
import { sized } from '../../../../test/support/sized.js';
import { pageParts } from '../commands/audit-page.js';
import type { Outcome, TrustedKeys } from './check.js';
import { pageFile } from './page-file.js';

/** Of a proof another byte, and of each of its hashes another bit. */
const EVERY_BYTES = sized({ test: 31, soak: 7 });
const EVERY_BITS = sized({ test: 37, soak: 1 });

type CheckProof = (text: string, trusted: TrustedKeys) => Promise<Outcome>;

/** The script of the page with what a browser has, and nothing of Node. */
function scriptOfPage(): CheckProof {
  const context = createContext({ crypto: webcrypto, TextEncoder, TextDecoder, atob, btoa, setTimeout });
  new Script(pageParts().script).runInContext(context);
  return (context as { proofPage: { checkProof: CheckProof } }).proofPage.checkProof;
}
const inPage = scriptOfPage();

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').filter((line) => line !== '');
}
/** As the command does it. */
const byCommand = async (text: string, { key, witnesses, needed }: TrustedKeys): Promise<Verified> =>
  verifyProofLines(linesOf(text), key, { trusted: trustedWitnesses(witnesses, needed) });

/** What both say of a text: `holds`, that witnesses are too few, or the words of the refusal. */
async function bothSay(text: string, trusted: TrustedKeys): Promise<[string, string]> {
  const words = ({ witnessed }: Verified): string => (witnessed.isMet ? 'holds' : 'too few witnesses');
  const page = await inPage(text, trusted);
  try {
    return [page.kind === 'holds' ? words(page.verified) : page.why, words(await byCommand(text, trusted))];
  } catch (error) {
    return [page.kind === 'holds' ? words(page.verified) : page.why, (error as Error).message];
  }
}

let proof: MadeProof;
let trusted: TrustedKeys;
beforeAll(async () => {
  const evidence = { documentSha256: Buffer.from('<a>ü</a>') };
  proof = await madeProof([{ n: 0, text: 'ü € "quoted"' }, { n: 1 }, { n: 2 }], { evidence, breaks: 2 });
  trusted = { key: proof.key, witnesses: [proof.witness] };
});

describe('the verifier in a page', () => {
  it('takes a proof as it stands in the page, where nothing in it may end its element', async () => {
    const { text, key } = await madeProof([{ xml: '</script><a/>' }]);
    const html = pageFile(text, { key, witnesses: [] }, pageParts());
    const shown = /id="proof">\n(.*?)\n<\/script>/s.exec(html)?.[1] ?? '';
    expect(shown).not.toBe(text);
    expect(await bothSay(shown, { key, witnesses: [] })).toEqual(['holds', 'holds']);
  });

  it('checks a proof of an answer as the command does, and what was changed in it', async () => {
    const { text, key } = await madeProof([{ n: 0 }, { n: 1 }], { answer: { phase: 'sent' } });
    const own = { key, witnesses: [] };
    expect(await bothSay(text, own)).toEqual(['holds', 'holds']);
    const outcome = await inPage(text, own);
    expect(outcome.kind === 'holds' && outcome.verified.answer?.body).toBe('{"phase":"sent"}');
    for (const [from, to] of [
      ['"events":2}]}', '"events":3}]}'],
      ['/v1/documents/1', '/v1/documents/2'],
      ['{\\"phase\\":\\"sent\\"}', '[]'],
    ] as const) {
      expect(text).toContain(from);
      const [page, command] = await bothSay(text.replace(from, to), own);
      expect([page, page === 'holds']).toEqual([command, false]);
    }
  });

  it('says of a proof what the command says, breaks, witnesses and count with it', async () => {
    const outcome = await inPage(proof.text, trusted);
    const verified = await byCommand(proof.text, trusted);
    expect(
      JSON.parse(JSON.stringify({ outcome }, (_, one: unknown) => (typeof one === 'bigint' ? `${one}` : one))),
    ).toMatchObject({
      outcome: {
        kind: 'holds',
        verified: {
          checkpoint: { origin: 'pedigree.example/log/3', size: 4 },
          breaks: [{ number: 1 }, { number: 2 }],
          witnessed: { witnesses: [{ name: 'witness.example', seenAt: '2026-03-01T10:00:00.000Z' }], isMet: true },
          streams: JSON.parse(JSON.stringify(verified.streams)) as unknown,
          evidence: { here: 1, notHere: 0 },
        },
        events: [{ version: 0, form: 2 }, { version: 1 }, { version: 2 }],
      },
    });
  });

  it('refuses with the same words whatever byte of the file is another', async () => {
    for (let at = 0; at < proof.text.length; at += EVERY_BYTES) {
      const other = proof.text[at] === 'A' ? 'B' : 'A';
      const [page, command] = await bothSay(proof.text.slice(0, at) + other + proof.text.slice(at + 1), trusted);
      expect([at, page]).toEqual([at, command]);
      expect([at, page]).not.toEqual([at, 'holds']);
    }
  });

  it('refuses every hash of the proof with any bit flipped', async () => {
    for (const [number, hash, change] of hashesIn(proof.lines)) {
      for (let bit = 0; bit < 256; bit += EVERY_BITS) {
        const bytes = Buffer.from(hash, 'base64');
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
        const lines = structuredClone(proof.lines);
        change(lines[number] as ProofLine, bytes.toString('base64'));
        const outcome = await inPage(textOf(lines), trusted);
        expect([number, bit, outcome.kind]).toEqual([number, bit, 'refused']);
      }
    }
  });

  it('refuses signatures of others, a missing event, a proof cut off, and another key, as the command does', async () => {
    const other = await madeProof([{ n: 0 }, { n: 1 }, { n: 2 }], { breaks: 2 });
    const lines = (change: (copy: ProofLine[]) => unknown): string => {
      const copy = structuredClone(proof.lines);
      change(copy);
      return textOf(copy);
    };
    const wrong: [string, TrustedKeys, RegExp][] = [
      [proof.text, { ...trusted, key: other.key }, /^\/breaks: the note carries no signature of/],
      [proof.text, { ...trusted, key: 'no key' }, /^\/checkpoint: this is not a verifier key/],
      [proof.text, { ...trusted, witnesses: [proof.key] }, /^--witness: this is not a verifier key of a witness/],
      [proof.text, { ...trusted, needed: 2 }, /^--needed: must be a number from 0 to 1/],
      [lines((copy) => (copy[0] = other.lines[0] as ProofLine)), trusted, /^\/breaks: the note carries no signature/],
      [
        // Another log of the same name, whose checkpoint claims the id of our key: only the signature tells.
        textOf([
          { ...other.lines[0], breaks: breaksOf(proof), checkpoint: forged(other, proof) },
          ...other.lines.slice(1),
        ]),
        { ...trusted, witnesses: [] },
        /^\/checkpoint: the signature of pedigree\.example\/log\/3 does not fit the text/,
      ],
      [lines((copy) => copy.splice(5, 1)), trusted, /^line 6: version 2 of document-1 comes where version 1 belongs/],
      [lines((copy) => copy.pop()), trusted, /^behind line 7: the proof is cut off/],
      [
        lines((copy) => {
          copy.splice(6, 1);
          copy[1] = { stream: 'document-1', events: 2, notYetSealed: 0 };
          copy[6] = { end: { streams: 1, events: 2 } };
        }),
        trusted,
        /the log has 3 events of document-1 before leaf 3, and the proof has 2/,
      ],
    ];
    for (const [text, keys, why] of wrong) {
      const [page, command] = await bothSay(text, keys);
      expect(page).toMatch(why);
      expect(page).toBe(command);
    }
  });

  it('says that witnesses are too few where a cosignature is missing', async () => {
    const stranger = await madeProof([{}]);
    const outcome = await inPage(proof.text, { ...trusted, witnesses: [proof.witness, stranger.witness] });
    // Two keys of one name are refused: a reader could not tell which was meant.
    expect(outcome).toMatchObject({ kind: 'refused', why: '--witness: two witnesses have one name' });
    const alone = await inPage(proof.text, { key: proof.key, witnesses: [stranger.witness] });
    expect(alone).toMatchObject({ kind: 'holds', verified: { witnessed: { isMet: false } } });
  });

  it('checks 10,500 events in reasonable time', async () => {
    const long = await madeProof(Array.from({ length: 10_500 }, (_, n) => ({ n, text: 'x'.repeat(400) })));
    const begun = performance.now();
    const outcome = await inPage(long.text, { key: long.key, witnesses: [] });
    const seconds = (performance.now() - begun) / 1_000;
    expect(outcome).toMatchObject({ kind: 'holds', verified: { events: 10_500 } });
    expect(seconds).toBeLessThan(60);
  });
});

const headOf = ({ lines }: MadeProof): ProofHead => lines[0] as ProofHead;
const breaksOf = (made: MadeProof): string[] => headOf(made).breaks ?? [];

/** The checkpoint of one log, whose signature has the id of the key of the other. */
function forged(of: MadeProof, claimed: MadeProof): string {
  const signatureIn = ({ checkpoint }: ProofHead): string =>
    / (\S+)\n/.exec(checkpoint.split('\n\n')[1] ?? '')?.[1] ?? '';
  const [own, others] = [signatureIn(headOf(of)), signatureIn(headOf(claimed))].map((one) =>
    Buffer.from(one, 'base64'),
  );
  if (own === undefined || others === undefined) throw new Error('the checkpoints are not signed');
  const changed = Buffer.concat([others.subarray(0, 4), own.subarray(4)]).toString('base64');
  return headOf(of).checkpoint.replace(own.toString('base64'), changed);
}

type Change = (line: ProofLine, hash: string) => void;

/** Each hash of the paths of events and of the count: number of its line, the hash, and how it is replaced. */
function hashesIn(lines: ProofLine[]): [number, string, Change][] {
  return lines.flatMap((line, number): [number, string, Change][] => {
    if ('entry' in line)
      return line.proof
        .split('\n')
        .filter((one) => one.length === 44)
        .map((hash) => [
          number,
          hash,
          (copy, flipped) => {
            const event = copy as { proof: string };
            event.proof = event.proof.replace(hash, flipped);
          },
        ]);
    if (!('count' in line)) return [];
    return line.count.path.map((hash, at) => [
      number,
      hash,
      (copy, flipped) => {
        (copy as { count: { path: string[] } }).count.path[at] = flipped;
      },
    ]);
  });
}
