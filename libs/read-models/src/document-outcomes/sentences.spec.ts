import { describe, expect, it } from '@jest/globals';
import { ENDED_IN_WORK } from '../wording.js';
import { wordsFor, type Described } from './sentences.js';

const base: Described = {
  phase: 'concluded',
  waitingFor: [],
  heldFor: [],
  attempts: 1,
  status: null,
  outcome: 'accepted',
  cause: null,
  problem: null,
  comment: null,
  errorCount: 0,
  itemCount: 100,
  duplicate: false,
  groupId: null,
  supersededBy: null,
  resentAs: null,
  documentId: 'd-1',
};
const open = (over: Partial<Described>) => wordsFor({ ...base, outcome: null, ...over }).sentence;
const known = (commandId: string) => ({ commandId, known: true });
const missing = (commandId: string) => ({ commandId, known: false });
const notOwner = { text: 'Not the owner.' };

it('the words for a document whose group a person ended in work claim nothing, and tell how to go on', () => {
  const ended = wordsFor({ ...base, outcome: 'failed', cause: 'not_processed', problem: ENDED_IN_WORK, groupId: 'g' });
  expect(ended).toEqual({
    sentence: 'Not processed: a person ended its group, and said that the registry does not process it.',
    remedy:
      'If the registry processes it after all, that is told as revised. Give it again as a new command, once the ' +
      'registry says that it is over.',
  });
});

describe('plain words for a document', () => {
  it.each([
    [{ phase: 'waiting', waitingFor: [known('ERP-1')] }, 'Waits until ERP-1 has concluded.'],
    [{ phase: 'waiting', waitingFor: [missing('ERP-1')] }, 'Waits until ERP-1 has concluded; it was not received yet.'],
    [
      { phase: 'waiting', waitingFor: [known('a'), missing('b')] },
      'Waits until a and b have concluded; b was not received yet.',
    ],
    [
      { phase: 'waiting', waitingFor: [missing('a'), known('b'), missing('c')] },
      'Waits until a, b and c have concluded; a and c were not received yet.',
    ],
    [
      { phase: 'waiting', waitingFor: [...'abcdefg'].map(known) },
      'Waits until a, b, c, d, e and 2 more have concluded.',
    ],
    [{ phase: 'ready', attempts: 0 }, 'Ready to be sent.'],
    [
      { phase: 'ready', attempts: 2, problem: 'no connection.' },
      'Attempt 2 did not reach the registry: no connection; it will be sent again.',
    ],
    [{ phase: 'sending' }, 'Being sent to the registry.'],
    [
      { phase: 'unconfirmed', problem: 'timeout' },
      'Nobody knows yet whether the registry took it: timeout; it is looked up there before anything is sent again.',
    ],
    [{ phase: 'sent' }, 'Sent; the registry has not told a status yet.'],
    [{ phase: 'sent', status: 'processing' }, 'Sent; the registry is processing it.'],
    [
      { phase: 'sent', status: 'failed_result_ready' },
      'The registry has finished with errors; the receipt that names them is being fetched.',
    ],
    [{ phase: 'received' }, 'The registry has answered; its receipt is stored and is being read.'],
  ] as [Partial<Described>, string][])('%j', (over, sentence) => expect(open(over)).toBe(sentence));

  it('tells what to do when a document waits for one that never came, and nothing while it only has to wait', () => {
    expect(wordsFor({ ...base, phase: 'waiting', outcome: null, waitingFor: [missing('ERP-17')] }).remedy).toMatch(
      /^Send the command ERP-17;/,
    );
    expect(wordsFor({ ...base, phase: 'waiting', outcome: null, waitingFor: [known('ERP-17')] })).not.toHaveProperty(
      'remedy',
    );
  });

  it('needs no remedy when all is well', () => {
    expect(wordsFor(base)).toEqual({ sentence: 'Accepted by the registry: all 100 items.' });
    expect(wordsFor({ ...base, itemCount: 1 })).toEqual({ sentence: 'Accepted by the registry: its one item.' });
  });

  it('names how many items, the reason and the remedy of a rejection', () => {
    expect(wordsFor({ ...base, outcome: 'rejected', errorCount: 2, errors: [notOwner, notOwner] })).toEqual({
      sentence: 'Rejected by the registry: 2 of 100 items, Not the owner.',
      remedy: 'Correct the items named below and send a new document.',
    });
    expect(wordsFor({ ...base, outcome: 'rejected', comment: 'Signature\n is void. ' })).toEqual({
      sentence: 'Rejected by the registry as a whole: Signature is void.',
      remedy: 'Correct what the registry names and send a new document.',
    });
  });

  it('names the most frequent reasons first, and not all of many', () => {
    const errors = [{ text: 'e' }, { text: 'd' }, { text: 'c' }, { text: 'b' }, { text: 'b' }];
    expect(wordsFor({ ...base, outcome: 'partial', errorCount: 5, errors }).sentence).toBe(
      'Accepted in part: the registry refused 5 of 100 items, b; c; d; and 1 other reason.',
    );
  });

  it('does not claim more items than there are', () => {
    expect(wordsFor({ ...base, outcome: 'rejected', itemCount: 1, errorCount: 3 }).sentence).toBe(
      'Rejected by the registry: with 3 errors on 1 item.',
    );
  });

  it.each(['registry_failed', 'send_refused', 'predecessor_failed'] as const)(
    'has a sentence and a remedy for %s',
    (cause) => {
      const words = wordsFor({ ...base, outcome: 'failed', cause, problem: 'the reason' });
      expect(words.sentence).toMatch(/^(The registry|Not sent)/);
      expect(words.remedy).toMatch(/[Ss]end/);
      expect(words.sentence.includes('the reason')).toBe(cause !== 'registry_failed');
    },
  );

  it('alarms about a duplicate in any phase', () => {
    expect(wordsFor({ ...base, duplicate: true })).toEqual({
      sentence:
        'Accepted by the registry: all 100 items. Attention: the registry holds one document too many under ' +
        'this request_id.',
      remedy: "Compare the registry's documents of this request_id and undo the one too many.",
    });
  });
});
