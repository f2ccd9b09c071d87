import { sha256Hex, type Sha256 } from '#kernel';
import * as z from '../shape.js';

/**
 * What was said of a segment once it was whole: its rows under one root. The streams are a chain: each is named for the
 * position where its segment begins, which is where the one before ends. So none can be left out (decision 62).
 */
export interface SegmentSeal {
  /** Positions after `from`, up to and with `to`. */
  from: bigint;
  to: bigint;
  rows: number;
  /** Root (RFC 6962) of the tree whose leaves are blocks of rows; hexadecimal. */
  root: string;
  /** Documents of any age that counted no longer from a position of the segment on. */
  closings: number;
  closingsSha256: Sha256;
}

export const SEGMENT_SEALED = 'SegmentSealed';
export const segmentStream = (from: bigint): string => `segment-${from}`;

const POSITION = z.string().regex(/^(0|[1-9]\d{0,18})$/);
const SHA256 = z.string().regex(/^[0-9a-f]{64}$/);
const said = z.strictObject({
  from: POSITION,
  to: POSITION,
  rows: z.int().min(0),
  root: SHA256,
  closings: z.int().min(0),
  closingsSha256: SHA256,
});

/** As data of the event. */
export const sealData = ({ from, to, ...seal }: SegmentSeal): object => ({
  from: String(from),
  to: String(to),
  ...seal,
});

/** Throws where the data of an event are no seal. */
export function parseSeal(data: string): SegmentSeal {
  const { from, to, ...seal } = said.parse(JSON.parse(data));
  if (BigInt(to) <= BigInt(from)) throw new Error('the segment ends before it begins');
  return { ...seal, from: BigInt(from), to: BigInt(to) };
}

/** A document of this position counted no longer from that position on. */
interface Closing {
  knownFrom: bigint;
  knownTo: bigint;
}

/** Reads the closings of a segment, a line for each. Throws where they are not those that were sealed. */
export function parseClosings(text: string, { closings, closingsSha256 }: SegmentSeal): Closing[] {
  if (sha256Hex(text) !== closingsSha256) throw new Error('the closings are not those that were sealed');
  const lines = text.split('\n').slice(0, -1);
  if (lines.length !== closings) throw new Error(`${closings} closings were sealed, and ${lines.length} are here`);
  return lines.map((line) => {
    const [knownFrom = '', knownTo = ''] = line.split(' ');
    return { knownFrom: BigInt(knownFrom), knownTo: BigInt(knownTo) };
  });
}
