import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from './decide.js';
import {
  absenceProven,
  attempted,
  missed,
  registered,
  SHA,
  typesOf,
  unconfirmed,
  when,
} from '../../test/given-document.js';
import { ABSENT, evolve } from './state.js';

const refusedForAccount = (attempt: number): DocumentCommand => ({
  type: 'RecordSendAnswer',
  attempt,
  answer: {
    kind: 'account_refused',
    cause: 'signature',
    code: 'http_400',
    text: 'the signature is not valid',
    retryAfterMs: 500,
    answerSha256: SHA,
  },
});

describe('a send that the registry refuses because of the account', () => {
  it('leaves the document as it was, ready for another attempt, and says why', () => {
    const events = when([registered(), attempted(1)], refusedForAccount(1));
    expect(events).toEqual([
      {
        type: 'SendNotDelivered',
        data: {
          attempt: 1,
          reason: 'the signature is not valid',
          retryAfterMs: 500,
          answerSha256: SHA,
          accountCause: 'signature',
        },
      },
    ]);
    expect([registered(), attempted(1), ...events].reduce(evolve, ABSENT)).toMatchObject({
      phase: 'ready',
      send: { step: 'open', attempt: 2 },
    });
  });

  it('is looked up where an earlier attempt had no known outcome, and never ends the document', () => {
    const once = [registered(), attempted(1), unconfirmed(1), missed(1, 1), absenceProven(1), attempted(2)];
    expect(typesOf(when(once, refusedForAccount(2)))).toEqual(['SendUnconfirmed']);
    const often = [
      ...once,
      unconfirmed(2),
      missed(2, 1),
      absenceProven(2),
      attempted(3),
      unconfirmed(3),
      missed(3, 1),
      absenceProven(3),
      attempted(4),
    ];
    expect(typesOf(when(often, refusedForAccount(4)))).toEqual(['SendNotDelivered']);
  });

  it('says nothing of an attempt that is over', () => {
    expect(
      when(
        [registered(), attempted(1), ...when([registered(), attempted(1)], refusedForAccount(1))],
        refusedForAccount(1),
      ),
    ).toEqual([]);
  });
});
