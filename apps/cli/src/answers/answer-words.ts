import type { Verified, VerifiedAnswer } from '#proofs';
import { instant } from '../print.js';
import type { Reading } from './answer-reading.js';

/** An answer whose events were checked, and whether it follows from them. */
export interface AnsweredReading {
  answer: VerifiedAnswer;
  reading: Reading;
}

/**
 * Whether every event that the answer was made from is sealed, and a signed count shows of each whole stream that no
 * other was left out: without one, whoever gives the answer may have left out the last.
 */
export const isWhole = ({ answer, streams }: Verified): boolean =>
  answer === undefined ||
  (answer.unsealed.length === 0 && streams.every(({ from, whole }) => from !== undefined || whole !== undefined));

/** As JSON. */
export const answerShown = ({ answer, reading }: AnsweredReading): object => ({
  route: answer.route,
  read_at: answer.readAt,
  position: answer.position,
  software: answer.software,
  reading: reading.kind,
  ...(reading.kind === 'follows' ? { not_read_from_events: reading.beside } : { why: reading.why }),
  not_yet_sealed: answer.unsealed,
  body: JSON.parse(answer.body) as unknown,
});

/** In words: what is shown of the answer, and what is not. */
export const answerWords = ({ answer, reading }: AnsweredReading): string[] => [
  `the answer to GET ${answer.route}, read at ${instant(answer.readAt)} from the log up to position ` +
    `${answer.position}, as the file says`,
  ...readingWords(reading),
  ...answer.unsealed.map(
    ({ stream, events }) =>
      `NOT PROVEN: the last ${events} events of ${stream} from which it was made are not sealed yet. ` +
      'Ask again in a minute',
  ),
];

function readingWords(reading: Reading): string[] {
  if (reading.kind === 'unchecked')
    return [
      `NOT CHECKED: that the answer follows from its events: ${reading.why}. ` +
        'The events are proven, and name the evidence that the answer names',
    ];
  return [
    'the answer follows from its events: it was worked out again from them',
    `not worked out from events: ${reading.beside.join('; ')}`,
  ];
}
