import { createHash } from 'node:crypto';
import { EMPTY_ROOT, parseCheckpoint, signNote, type Hash, type NoteSigner } from '#merkle';
import { originAfter } from './log-keys.js';

/** What a person told the auditor: the log does not go on from what was signed. */
export interface LogBreak {
  /** From 1. */
  number: number;
  /** Newest checkpoint that was signed before; size 0 where the auditor remembered none. */
  before: { size: number; root: Hash };
  /** First leaf that is another event now, or none; undefined where no event differs that was signed. */
  differsAtLeaf: number | undefined;
  /** Gaps of the log up to this position are told herewith. */
  logHead: bigint;
  /** What the log is called from here on. */
  nextOrigin: string;
  toldAt: Date;
  toldBy: string;
  reason: string;
}

/**
 * The note of a break. Its second line is not a number, so that nobody takes it for a checkpoint; each names the one
 * before by its digest, so that none can be left out.
 */
export function signBreak(broken: LogBreak, previous: string | undefined, signer: NoteSigner): string {
  const { number, before, differsAtLeaf, logHead, nextOrigin, toldAt, toldBy, reason } = broken;
  const lines = [
    signer.name,
    `break ${number}`,
    `before ${before.size} ${before.root.toString('base64')}`,
    `differs ${differsAtLeaf ?? 'nowhere'}`,
    `log ${logHead}`,
    `next ${nextOrigin}`,
    `previous ${digestOf(previous)}`,
    `at ${toldAt.toISOString()}`,
    `by ${JSON.stringify(toldBy)}`,
    `reason ${JSON.stringify(reason)}`,
  ];
  return signNote(`${lines.join('\n')}\n`, signer);
}

/** Base64 of the SHA-256 of a note's text; of nothing for the first one. */
const digestOf = (note: string | undefined): string =>
  createHash('sha256')
    .update(note === undefined ? '' : note.slice(0, note.lastIndexOf('\n\n') + 1))
    .digest('base64');

const TEXT = new RegExp(
  [
    '^(?<origin>[^\\n]+)',
    'break (?<number>[1-9]\\d{0,4})',
    'before (?<size>\\d{1,16}) (?<root>[A-Za-z0-9+/=]{44})',
    'differs (?<differs>nowhere|\\d{1,16})',
    'log (?<head>\\d{1,19})',
    'next (?<next>[^\\s]+)',
    'previous (?<previous>[A-Za-z0-9+/=]{44})',
    'at (?<at>\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z)',
    // In JSON; a dot would not be the line separators U+2028 and U+2029, which JSON leaves as they are.
    'by (?<by>"[^\\n]*")',
    'reason (?<reason>"[^\\n]*")\\n$',
  ].join('\\n'),
);

/**
 * Reads the breaks of a log, in order, each by `open`, which checks its signature. Throws when one does not hold, or
 * does not follow the one before it.
 */
export function openBreaks(notes: string[], open: (note: string) => string): LogBreak[] {
  return notes.map((note, index) => {
    const { broken, previous } = parseBreak(open(note), index + 1);
    if (previous !== digestOf(notes[index - 1]))
      throw new Error(`break ${index + 1} of the log does not follow the one before it`);
    return broken;
  });
}

function parseBreak(text: string, number: number): { broken: LogBreak; previous: string } {
  const found = TEXT.exec(text)?.groups as Record<string, string> | undefined;
  if (found === undefined || Number(found['number']) !== number)
    throw new Error(`this is not the note of break ${number}`);
  const field = (name: string): string => found[name] as string;
  const { size, root } = parseCheckpoint(`${field('origin')}\n${field('size')}\n${field('root')}\n`);
  if (field('next') !== originAfter(field('origin'), number))
    throw new Error(`break ${number} names ${field('next')} for the log that follows it`);
  return {
    broken: {
      number,
      before: { size, root },
      differsAtLeaf: field('differs') === 'nowhere' ? undefined : Number(field('differs')),
      logHead: BigInt(field('head')),
      nextOrigin: field('next'),
      toldAt: new Date(field('at')),
      toldBy: JSON.parse(field('by')) as string,
      reason: JSON.parse(field('reason')) as string,
    },
    previous: field('previous'),
  };
}

/** A break in one sentence, for people. */
export const breakWords = ({ number, before, differsAtLeaf, toldAt, toldBy, reason, nextOrigin }: LogBreak): string =>
  `break ${number} of the log, told by ${toldBy} at ${toldAt.toISOString()}: ${reason}. ${before.size} events were ` +
  `signed before; ${
    differsAtLeaf === undefined ? 'none of them differs' : `from leaf ${differsAtLeaf} on they are others`
  }. The log goes on as ${nextOrigin}, from its first event`;

/** What was signed before where nothing was. */
export const NOTHING_SIGNED = { size: 0, root: EMPTY_ROOT };
