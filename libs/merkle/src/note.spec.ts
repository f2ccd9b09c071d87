import { describe, expect, it } from '@jest/globals';
import { sign } from 'node:crypto';
import {
  checkpointText,
  newSigningKey,
  noteSigner,
  openCheckpoint,
  openNote,
  parseCheckpoint,
  parseVerifierKey,
  signNote,
  verifierKeyOf,
  verifierOf,
} from './note.js';
import { EMPTY_ROOT, leafHash } from './tree.js';

const signer = noteSigner('pedigree.example/log', newSigningKey());
const verifier = parseVerifierKey(verifierKeyOf(signer));
const checkpoint = { origin: 'pedigree.example/log', size: 17, root: leafHash(Buffer.from('x')) };

const NOTE = signNote(checkpointText(checkpoint), signer);
const SIGNATURE = / ([^ ]+)\n$/.exec(NOTE)?.[1] ?? '';
/** Its last character but the padding stands for four bits that are used and two that are not. */
const ROOT = leafHash(Buffer.alloc(0)).toString('base64');

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The same bytes for a lenient reader: a bit that no byte has is set. */
const otherLastBits = (encoded: string): string =>
  encoded.replace(/([^=])(=*)$/, (_, last: string, padding: string) => `${BASE64[BASE64.indexOf(last) ^ 1]}${padding}`);
const urlSafe = (encoded: string): string => encoded.replace(/^../, '-_');
const cut = (encoded: string): string => Buffer.from(encoded, 'base64').subarray(0, -1).toString('base64');
/** The signature line with another signature under the same key id. */
const twisted = (note: string): string => {
  const bytes = Buffer.from(SIGNATURE, 'base64');
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  return (note.split('\n\n')[1] ?? '').replace(SIGNATURE, bytes.toString('base64'));
};
/** What our own signer refuses to sign. */
const signNoteAnyway = (text: string): string => {
  const signature = Buffer.concat([verifier.keyId, sign(null, Buffer.from(text), signer.privateKey)]);
  return `${text}\n\u2014 ${signer.name} ${signature.toString('base64')}\n`;
};

describe('a signed checkpoint', () => {
  it('comes back as it was signed', () => {
    const note = signNote(checkpointText(checkpoint), signer);
    expect(parseCheckpoint(openNote(note, verifier))).toEqual(checkpoint);
    expect(note.split('\n').slice(0, 2)).toEqual(['pedigree.example/log', '17']);
  });

  it('is not believed when a digit, the signature or the key is another', () => {
    const note = signNote(checkpointText(checkpoint), signer);
    expect(() => openNote(note.replace('\n17\n', '\n18\n'), verifier)).toThrow(/does not fit/);
    const stranger = parseVerifierKey(verifierKeyOf(noteSigner('pedigree.example/log', newSigningKey())));
    expect(() => openNote(note, stranger)).toThrow(/no signature of/);
    expect(() => openNote(note.replace(/ ([^ ]+)\n$/, ' AAAAAAAA\n'), verifier)).toThrow(/no signature of/);
    expect(() => openNote('nothing', verifier)).toThrow(/no signatures/);
    expect(() => openNote(`${'x'.repeat(200_001)}\n\n`, verifier)).toThrow(/too long/);
  });

  it('opens beside signatures of keys that nobody here knows, under its name, its key id, and with other types', () => {
    const stranger = signNote(checkpointText(checkpoint), noteSigner(signer.name, newSigningKey()));
    const cosigner = signNote(checkpointText(checkpoint), noteSigner('witness.example/w1', newSigningKey()));
    const lines = [stranger, cosigner, NOTE].map((note) => note.split('\n\n')[1]);
    expect(openCheckpoint(`${checkpointText(checkpoint)}\n${lines.join('')}`, verifier)).toEqual(checkpoint);
  });

  /** Each is refused although the signature over the text is right, or would be with a lenient reader. */
  it.each([
    ['a control character in the text', signNoteAnyway('pedigree.example/log\n17\n\u0007\n'), /control character/],
    ['a tab beside the signature', NOTE.replace(/\n$/, '\t\n'), /control character/],
    ['a carriage return', NOTE.replace(/\n/g, '\r\n'), /control character/],
    ['half a character', NOTE.replace('17', '1\ud8007'), /not UTF-8/],
    ['a line behind the signatures', `${NOTE}garbage\n`, /line 2 of its signatures is not a signature/],
    ['a line before the signature', NOTE.replace('\u2014', 'garbage\n\u2014'), /line 1 of its signatures/],
    ['a hyphen for the dash', NOTE.replace('\u2014', '-'), /is not a signature/],
    ['two blanks', NOTE.replace('\u2014 ', '\u2014  '), /is not a signature/],
    ['a blank at the end', NOTE.replace(/\n$/, ' \n'), /is not a signature/],
    ['a name with a plus sign', NOTE.replace('\u2014 pedigree', '\u2014 pedi+gree'), /is not a signature/],
    ['a name with a no-break space', NOTE.replace('\u2014 pedigree', '\u2014 pedi\u00a0gree'), /is not a signature/],
    ['base64 without its padding', NOTE.replace(/=+\n$/, '\n'), /is not a signature/],
    ['base64 for addresses', NOTE.replace(SIGNATURE, urlSafe(SIGNATURE)), /is not a signature/],
    ['base64 with bits behind its end', NOTE.replace(SIGNATURE, otherLastBits(SIGNATURE)), /is not a signature/],
    ['a signature of four bytes', NOTE.replace(SIGNATURE, 'AAAAAA=='), /is not a signature/],
    ['no line end', NOTE.slice(0, -1), /its last line has no end/],
    ['no signature line', NOTE.slice(0, NOTE.indexOf('\u2014')), /no signatures/],
    ['too many signatures', `${NOTE}${`${NOTE.split('\n\n')[1]}`.repeat(32)}`, /more than 32 signatures/],
    ['a second signature of the key that does not fit', `${NOTE}${twisted(NOTE)}`, /does not fit the text/],
    ['a signature that is cut', NOTE.replace(SIGNATURE, cut(SIGNATURE)), /does not fit the text/],
  ])('is refused with %s', (_what, note, why) => expect(() => openNote(note, verifier)).toThrow(why));

  it('is not believed under the key of another log, although that key has signed it', () => {
    const other = signNote(checkpointText({ ...checkpoint, origin: 'pedigree.example/other' }), signer);
    expect(openNote(other, verifier)).toContain('pedigree.example/other');
    expect(() => openCheckpoint(other, verifier)).toThrow(
      'the checkpoint is of the log pedigree.example/other, and the key is that of pedigree.example/log',
    );
  });

  it.each([
    '',
    'origin\n',
    'origin\n-1\nAAAA\n',
    'origin\n1\nnot base64\n',
    `origin\n01\n${ROOT}\n`,
    `origin\n+1\n${ROOT}\n`,
    `origin\n1e3\n${ROOT}\n`,
    `origin\n9007199254740993\n${ROOT}\n`,
    `\n1\n${ROOT}\n`,
    `origin\n1\n${ROOT}`,
    `origin\n1\n${ROOT}\n\n`,
    `origin\n1\n${ROOT}\n\nextension\n`,
    `origin\n1\n${ROOT} \n`,
    `origin\n1\n${urlSafe(ROOT)}\n`,
    `origin\n1\n${ROOT.replace(/=$/, '')}\n`,
    `origin\n1\n${otherLastBits(ROOT)}\n`,
    `origin\n1\n${Buffer.alloc(31).toString('base64')}\n`,
    `origin\n1\n${Buffer.alloc(33).toString('base64')}\n`,
    `ori\u0000gin\n1\n${ROOT}\n`,
    `origin\n0\n${ROOT}\n`,
  ])('is none where the text does not hold: %j', (text) =>
    expect(() => parseCheckpoint(text)).toThrow(/no checkpoint|no size of a tree/),
  );

  it('may have extension lines, and may be of the empty tree', () => {
    expect(parseCheckpoint(`origin\n1\n${ROOT}\nan extension\n`).size).toBe(1);
    expect(parseCheckpoint(`origin\n0\n${EMPTY_ROOT.toString('base64')}\n`).size).toBe(0);
  });

  it('cannot be made of a text with an empty line, under a name with blanks, or by a key of another kind', () => {
    expect(() => signNote('a\n\nb\n', signer)).toThrow(/no empty line/);
    expect(() => signNote('a\u0001\n', signer)).toThrow(/control character/);
    for (const name of ['two words', 'a+b', '', 'a\u00a0b', 'a\u0085b', 'a\u0001b'])
      expect(() => noteSigner(name, newSigningKey())).toThrow(/name of a key/);
  });
});

describe('a verifier key', () => {
  const key = verifierKeyOf(signer);

  it.each([
    'name+00000000+AAAA',
    key.replace('pedigree', 'pedigrew'),
    otherLastBits(key),
    `${key}=`,
    key.replace('+', '++'),
    `${key} ${key}`,
  ])('is none where it does not hold: %s', (text) => expect(() => parseVerifierKey(text)).toThrow(/not a verifier key/));

  it('under another name has another key id', () => {
    const { publicKey, keyId } = verifier;
    expect(verifierOf('pedigree.example/log/2', publicKey).keyId).not.toEqual(keyId);
    expect(verifierOf('pedigree.example/log', publicKey).keyId).toEqual(keyId);
  });
});
