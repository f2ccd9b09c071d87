import { describe, expect, it } from '@jest/globals';
import {
  checkpointText,
  newSigningKey,
  noteSigner,
  openNote,
  parseCheckpoint,
  parseVerifierKey,
  signNote,
  verifierKeyOf,
} from './note.js';
import { leafHash } from './tree.js';

const signer = noteSigner('pedigree.example/log', newSigningKey());
const verifier = parseVerifierKey(verifierKeyOf(signer));
const checkpoint = { origin: 'pedigree.example/log', size: 17, root: leafHash(Buffer.from('x')) };

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
    expect(() => openNote(note.replace(/ ([^ ]+)\n$/, ' AAAA\n'), verifier)).toThrow(/no signature of/);
    expect(() => openNote('nothing', verifier)).toThrow(/no signatures/);
    expect(() => openNote(`${'x'.repeat(20_000)}\n\n`, verifier)).toThrow(/too long/);
  });

  it.each([
    '',
    'origin\n',
    'origin\n-1\nAAAA\n',
    'origin\n1\nnot base64\n',
    'origin\n01\n'.concat(leafHash(Buffer.alloc(0)).toString('base64'), '\n'),
  ])('is none where the text does not hold: %j', (text) =>
    expect(() => parseCheckpoint(text)).toThrow(/no checkpoint/),
  );

  it('cannot be made of a text with an empty line, under a name with blanks, or by a key of another kind', () => {
    expect(() => signNote('a\n\nb\n', signer)).toThrow(/no empty line/);
    expect(() => noteSigner('two words', newSigningKey())).toThrow(/name of a key/);
    expect(() => parseVerifierKey('name+00000000+AAAA')).toThrow(/no verifier key/);
  });
});
