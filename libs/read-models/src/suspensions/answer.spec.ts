import { describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { answerSuspension } from './answer.js';

it('an answer claims no log position that came between what it reads', async () => {
  let position = 5n;
  // Whenever something was read, the read model goes on by one event.
  const query = async (asked: string | { text: string }): Promise<{ rows: object[] }> => {
    const isCheckpoint = (typeof asked === 'string' ? asked : asked.text).includes('FROM checkpoint');
    const rows = isCheckpoint ? [{ position }] : [];
    position += 1n;
    return Promise.resolve({ rows });
  };
  const evidence = { get: () => Promise.reject(new Error('no list is held')) };
  const store = { readStream: () => Promise.reject(new Error('no suspension is known')) };
  const sources = { pool: { query } as unknown as Queryable, evidence, store };
  const answer = await answerSuspension(sources, { gtin: '04600000000015', series: 'A1' }, new Date());
  expect(answer.knownAt).toBe('5');
});

describe('the moment at which a document was sent', () => {
  const about = { requestId: 'r1', gtin: '04600000000015', series: 'A1' };
  const at = (second: number): Date => new Date(Date.UTC(2026, 2, 1, 0, 0, second));
  /** Each event is a second after the one before; a number is that of its attempt. */
  async function momentOf(...told: [type: string, attempt?: number][]): Promise<Date> {
    const events = told.map(([type, attempt], n) => ({ type, data: { attempt }, recordedAt: at(n) }));
    const store = { readStream: () => Promise.resolve(events as unknown as RecordedEvent[]) };
    const pool = { query: () => Promise.resolve({ rows: [] }) } as unknown as Queryable;
    const evidence = { get: () => Promise.reject(new Error('no list is held')) };
    return new Date((await answerSuspension({ pool, evidence, store }, about, at(100))).at);
  }

  it('is that of the attempt that the registry took, and not of one before it', async () => {
    const away = ['SendNotDelivered', 1] as const;
    const held = [['DocumentHeld'], ['HoldWaived'], ['DocumentReleased']] as [string][];
    expect(await momentOf(['SendAttempted', 1], [...away], ...held, ['SendAttempted', 2], ['DocumentSent', 2])).toEqual(
      at(5),
    );
    // The answer to an attempt that counted as absent may come after another was begun.
    const absent = ['SendAbsenceProven', 1] as const;
    expect(await momentOf(['SendAttempted', 1], [...absent], ['SendAttempted', 2], ['DocumentSent', 1])).toEqual(at(0));
  });

  it('is that of the newest attempt while nobody knows whether it arrived', async () => {
    const unconfirmed = ['SendUnconfirmed', 2] as const;
    expect(await momentOf(['SendAttempted', 1], ['SendNotDelivered', 1], ['SendAttempted', 2])).toEqual(at(2));
    expect(
      await momentOf(['SendAttempted', 1], ['SendAbsenceProven', 1], ['SendAttempted', 2], [...unconfirmed]),
    ).toEqual(at(2));
  });

  it('is known also where the registry has a document that was ended as not sent', async () => {
    const ended = [['DocumentHeld'], ['DocumentConcluded'], ['DuplicateDetected']] as [string][];
    expect(await momentOf(['SendAttempted', 1], ['SendAbsenceProven', 1], ...ended)).toEqual(at(0));
  });

  it.each(['SendNotDelivered', 'SendAbsenceProven', 'SendRefused'])(
    'is none where its only attempt ended with %s',
    async (type) => {
      const asked = momentOf(['SendAttempted', 1], [type, 1]);
      await expect(asked).rejects.toMatchObject({ code: 'not_found' });
    },
  );

  it('is none without an attempt', async () => {
    await expect(momentOf(['DocumentRegistered'])).rejects.toMatchObject({ code: 'not_found' });
  });
});
