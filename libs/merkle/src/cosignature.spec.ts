import { describe, expect, it } from '@jest/globals';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { cosign, cosignaturesIn, parseWitnessKey, witnessKeyOf } from './cosignature.js';
import {
  checkpointText,
  newSigningKey,
  noteSigner,
  openNote,
  parseVerifierKey,
  signNote,
  verifierKeyOf,
} from './note.js';
import { leafHash } from './tree.js';

const log = noteSigner('pedigree.example/log', newSigningKey());
const witness = noteSigner('witness.example/w1', newSigningKey());
const other = noteSigner('witness.example/w2', newSigningKey());
const key = parseWitnessKey(witnessKeyOf(witness));
const otherKey = parseWitnessKey(witnessKeyOf(other));
const AT = new Date('2026-03-01T10:00:00.900Z');
const TEXT = checkpointText({ origin: log.name, size: 17, root: leafHash(Buffer.from('x')) });
const NOTE = signNote(TEXT, log);
const LINE = cosign(TEXT, witness, AT);
const COSIGNED = `${NOTE}${LINE}`;

describe('a cosignature', () => {
  it('is what the specification says, read with nothing of ours', () => {
    const [, name, encoded] = /^\u2014 (\S+) (\S+)\n$/.exec(LINE) ?? [];
    const bytes = Buffer.from(encoded ?? '', 'base64');
    const publicKey = createPublicKey(witness.privateKey);
    const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
    const id = createHash('sha256')
      .update(`${name}\n`)
      .update(Buffer.from([4]))
      .update(raw)
      .digest()
      .subarray(0, 4);
    expect([name, bytes.length, bytes.subarray(0, 4)]).toEqual(['witness.example/w1', 4 + 8 + 64, id]);
    expect(bytes.readBigUInt64BE(4)).toBe(BigInt(Date.parse('2026-03-01T10:00:00Z') / 1_000));
    const message = `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${TEXT}`;
    expect(verify(null, Buffer.from(message), publicKey, bytes.subarray(12))).toBe(true);
  });

  it('tells who saw the checkpoint and when, beside the signature of the log and those of strangers', () => {
    const note = `${COSIGNED}${cosign(TEXT, noteSigner('stranger.example/w', newSigningKey()), AT)}`;
    const at = new Date('2026-03-01T10:00:00.000Z');
    expect(cosignaturesIn(note, [otherKey, key])).toEqual([{ witness: witness.name, at, line: LINE }]);
    expect(openNote(note, parseVerifierKey(verifierKeyOf(log)))).toBe(TEXT);
    expect(cosignaturesIn(NOTE, [key])).toEqual([]);
  });

  it('with any bit flipped is refused, or is that of nobody who is known', () => {
    const bytes = Buffer.from(LINE.split(' ')[2] ?? '', 'base64');
    const counts = { refused: 0, unknown: 0 };
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const note = `${NOTE}\u2014 ${witness.name} ${flipped.toString('base64')}\n`;
      try {
        expect(cosignaturesIn(note, [key])).toEqual([]);
        counts.unknown += 1;
      } catch (error) {
        expect((error as Error).message).toBe(`the cosignature of ${witness.name} does not fit the checkpoint`);
        counts.refused += 1;
      }
    }
    // The key id alone decides whose it is.
    expect(counts).toEqual({ refused: (8 + 64) * 8, unknown: 4 * 8 });
  });

  it('does not fit another checkpoint, another key under its name, or a length that is not its own', () => {
    const elsewhere = signNote(TEXT.replace('\n17\n', '\n18\n'), log);
    expect(() => cosignaturesIn(`${elsewhere}${LINE}`, [key])).toThrow(/does not fit/);
    const bytes = Buffer.from(LINE.split(' ')[2] ?? '', 'base64');
    for (const changed of [bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.alloc(1)]), bytes.subarray(0, 12)])
      expect(() => cosignaturesIn(`${NOTE}\u2014 ${witness.name} ${changed.toString('base64')}\n`, [key])).toThrow(
        /does not fit/,
      );
    const twice = `${COSIGNED}\u2014 ${witness.name} ${bytes.subarray(0, -1).toString('base64')}\n`;
    expect(() => cosignaturesIn(twice, [key])).toThrow(/does not fit/);
  });

  it('is not a signature of a log, although the key is the same, and the other way round', () => {
    const same = { name: log.name, privateKey: log.privateKey };
    expect(() => openNote(`${TEXT}\n${cosign(TEXT, same, AT)}`, parseVerifierKey(verifierKeyOf(log)))).toThrow(
      /carries no signature/,
    );
    expect(cosignaturesIn(NOTE, [parseWitnessKey(witnessKeyOf(same))])).toEqual([]);
    expect(() => parseWitnessKey(verifierKeyOf(log))).toThrow('this is not a verifier key of a witness');
    expect(() => parseVerifierKey(witnessKeyOf(witness))).toThrow('this is not a verifier key');
  });
});
