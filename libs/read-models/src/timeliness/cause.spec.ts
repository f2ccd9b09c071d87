import { describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import { DELAY_CAUSES, delayOf, delaySentence } from './cause.js';

const DUE = new Date('2026-03-10T12:00:00Z');
/** An event so many hours before (or, below 0, after) the due moment. */
const at = (hoursBefore: number, type: string, data: object = {}): RecordedEvent =>
  ({ type, data, recordedAt: new Date(DUE.getTime() - hoursBefore * 3_600_000) }) as RecordedEvent;
const since = (hoursBefore: number): Date => new Date(DUE.getTime() - hoursBefore * 3_600_000);

const AFTER = { hold: { kind: 'after' } };
const registered = at(9, 'DocumentRegistered');
const sent = (hours: number): RecordedEvent[] => [at(hours, 'SendAttempted'), at(hours - 0.1, 'DocumentSent')];

describe('what held a document at the due moment', () => {
  it.each<[string, RecordedEvent[], RecordedEvent[], object]>([
    ['it came afterwards', [at(-1, 'DocumentRegistered'), ...sent(-2)], [], { cause: 'told_late' }],
    ['it came at that very moment', [at(0, 'DocumentRegistered')], [], { cause: 'told_late' }],
    [
      'it was sent in place of a rejected one',
      [at(-1, 'DocumentRegistered', { resendOf: { commandId: 'a', requestId: 'b' } })],
      [],
      { cause: 'rejected_and_resent' },
    ],
    [
      'it waited, and was released too late',
      [registered, at(8, 'DocumentWaiting'), at(-1, 'DocumentReleased'), ...sent(-2)],
      [],
      { cause: 'predecessor', since: since(8) },
    ],
    [
      'it was held, by two at last',
      [registered, at(8, 'DocumentWaiting'), ...[7, 6].map((n) => at(n, 'DocumentHeld', AFTER)), at(-1, 'HoldWaived')],
      [],
      { cause: 'held', since: since(7) },
    ],
    [
      'the state of its packs forbade it',
      [registered, at(7, 'DocumentHeld', { hold: { kind: 'gate' } })],
      [],
      { cause: 'held_at_gate', since: since(7) },
    ],
    [
      'its packs were suspended, and then a person held it as well',
      [
        ...[registered, at(7, 'DocumentHeld', { hold: { kind: 'suspension' } })],
        at(-1, 'DocumentHeld', { hold: { kind: 'person' } }),
      ],
      [],
      { cause: 'held_for_suspension', since: since(7) },
    ],
    [
      'a person held it',
      [registered, at(7, 'DocumentHeld', { hold: { kind: 'person' } })],
      [],
      { cause: 'held_by_person', since: since(7) },
    ],
    [
      'it was held by what ended badly before it',
      [registered, at(7, 'DocumentHeld', { hold: { kind: 'items' } })],
      [],
      { cause: 'held', since: since(7) },
    ],
    [
      'the registry did not take it, try after try',
      [registered, at(5, 'SendAttempted'), at(5, 'SendNotDelivered'), at(3, 'SendAttempted'), at(-1, 'DocumentSent')],
      [],
      { cause: 'registry_not_reached', since: since(5) },
    ],
    [
      'the registry had it',
      [registered, ...sent(5), at(-3, 'DocumentConcluded', { outcome: 'accepted' })],
      [],
      { cause: 'registry_slow', since: since(4.9) },
    ],
    [
      'it had been rejected',
      [registered, ...sent(5), at(4, 'DocumentConcluded', { outcome: 'rejected' })],
      [],
      { cause: 'ended_badly', since: since(4) },
    ],
    [
      'its account was paused',
      [registered, at(5, 'SendAttempted'), at(5, 'SendNotDelivered')],
      [at(5, 'AccountPaused'), at(-1, 'AccountResumed')],
      { cause: 'account_paused', since: since(5) },
    ],
    [
      'its account was paused before it came',
      [registered],
      [at(20, 'AccountPaused'), at(-1, 'AccountResumed')],
      { cause: 'account_paused', since: since(20) },
    ],
    [
      'its account had been resumed: nobody knows',
      [registered, at(3, 'DocumentWaiting'), at(2, 'DocumentReleased')],
      [at(20, 'AccountPaused'), at(2, 'AccountResumed'), at(1, 'AccountCertificateSeen')],
      { cause: 'not_known', since: since(2) },
    ],
    [
      'it waited for another: a pause of its account did not matter',
      [registered, at(8, 'DocumentWaiting')],
      [at(5, 'AccountPaused')],
      { cause: 'predecessor' },
    ],
    ['the log tells nothing', [registered], [], { cause: 'not_known' }],
  ])('%s', (_, events, ofAccount, expected) => expect(delayOf(events, ofAccount, DUE)).toMatchObject(expected));

  it('is said in words, each cause in its own', () => {
    const sentences = DELAY_CAUSES.map(delaySentence);
    expect(new Set(sentences).size).toBe(DELAY_CAUSES.length);
    for (const one of sentences) expect(one).toMatch(/^[A-Z].*\.$/);
  });
});
