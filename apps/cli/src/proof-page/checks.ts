import { breakWords, type Verified, type VerifiedStream } from '#proofs';
import { make, type Cell } from './elements.js';

/** A line of the table of checks; the word says what the colour says too. */
interface Check {
  what: string;
  result: 'passed' | 'failed' | 'not proven' | 'not checked';
  detail: string;
}

/** Each check that a proof passed, and what it showed. */
export const checksOf = ({ checkpoint, events, streams, evidence, breaks, witnessed }: Verified): Check[] => [
  {
    what: 'Signature of the checkpoint (Ed25519)',
    result: 'passed',
    detail: `The key of the log ${checkpoint.origin} signed a tree of ${checkpoint.size} events.`,
  },
  {
    what: 'Each event is in the signed tree (RFC 6962, SHA-256)',
    result: 'passed',
    detail: `${events} events, with the digests of their data and metadata.`,
  },
  ...streams.flatMap(streamChecks),
  {
    what: 'Evidence that the events name (SHA-256)',
    result: evidence.notHere === 0 ? 'passed' : 'not proven',
    detail: `In this file, byte for byte: ${evidence.here}. Named, and not in this file: ${evidence.notHere}.`,
  },
  ...breaks.map((one): Check => ({
    what: `Break ${one.number} of the log`,
    result: 'passed',
    detail: breakWords(one),
  })),
  witnessCheck(witnessed),
];

/** Parts of the file that the verifier took and this page only shows. */
export const furtherChecks = (names: Set<string>): Check[] =>
  [...names].map((name) => ({
    what: `Further part of the file: ${name}`,
    result: 'not proven',
    detail: 'Shown below as the file has it. This page does not work it out from the events.',
  }));

function streamChecks({ stream, from, events, notYetSealed, whole }: VerifiedStream): Check[] {
  if (from !== undefined)
    return [
      {
        what: `Version ${from} of ${stream}`,
        result: events === 0 ? 'not proven' : 'passed',
        detail: 'The answer was made from this event. What else its stream has is not part of this proof.',
      },
    ];
  const newer = notYetSealed === 0 ? '' : ` ${notYetSealed} newer events are not signed yet, says the file.`;
  const inOrder: Check = {
    what: `Versions of ${stream}`,
    result: 'passed',
    detail: `${events === 0 ? 'No event of it' : `Versions 0 to ${events - 1}, in order, without a gap`}.${newer}`,
  };
  const what = `No other event of ${stream}`;
  if (whole === undefined)
    return [
      inOrder,
      { what, result: 'not proven', detail: 'The file has no signed count. A later event may be missing.' },
    ];
  const detail = `The signed count of ${whole.at} has ${whole.events} events up to leaf ${whole.leaves}.`;
  if (events === whole.events) return [inOrder, { what, result: 'passed', detail }];
  const later = ` ${events - whole.events} events came later: behind that leaf one may be missing.`;
  return [inOrder, { what, result: 'not proven', detail: `${detail}${later}` }];
}

function witnessCheck({ witnesses, needed, isMet }: Verified['witnessed']): Check {
  const what = 'Cosignatures of witnesses';
  if (witnesses.length === 0)
    return {
      what,
      result: 'not proven',
      detail: 'No witness was named. Whoever has the key of the log could have shown somebody else another log.',
    };
  const seen = witnesses.map(
    ({ name, seenAt }) => `${name}: ${seenAt === undefined ? 'has not seen it' : `saw it at ${seenAt.toISOString()}`}`,
  );
  const count = witnesses.filter(({ seenAt }) => seenAt !== undefined).length;
  return {
    what,
    result: isMet ? 'passed' : 'failed',
    detail: `${count} of ${witnesses.length} have seen the checkpoint, and ${needed} are needed. ${seen.join('; ')}.`,
  };
}

/** What is known where a check failed: reading ends there. */
export function checksUpTo(field: string, why: string): Check[] {
  const lines = 'Events, versions, counts and evidence, line by line';
  const rest: Check = { what: lines, result: 'not checked', detail: 'Reading ended before.' };
  if (field.startsWith('--')) return [{ what: 'Keys', result: 'failed', detail: why.replace(/^--/, '') }, rest];
  const head = 'Signatures of the checkpoint and of the breaks of the log';
  if (/^\/(?:checkpoint|breaks)/.test(field)) return [{ what: head, result: 'failed', detail: why }, rest];
  const isHead = /^line 1(?!\d)/.test(field);
  return [
    { what: head, result: isHead ? 'not checked' : 'passed', detail: '' },
    { what: lines, result: 'failed', detail: why },
  ];
}

const MARKS = { passed: '✔', failed: '✘', 'not proven': '–', 'not checked': '–' } as const;

export const checkCells = ({ what, result, detail }: Check): Cell[] => [
  what,
  make('span', { class: `result ${result.replace(' ', '-')}` }, `${MARKS[result]} ${result}`),
  detail,
];

/** The same for each proof. */
export const NOT_PROVEN = [
  'That what the events say is true. The log shows what was recorded and when, and that nobody changed it since.',
  'What the log got after the checkpoint.',
  'That this page is honest. Its verifier came with it, from whoever made the page. If you do not trust them, save ' +
    'the proof with the button below, and check it with a program of your own: pedigree audit verify.',
  'That the keys are the right ones. Compare them with those that you were given by other means.',
];
