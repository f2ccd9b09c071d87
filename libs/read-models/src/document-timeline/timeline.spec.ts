import { describe, expect, it } from '@jest/globals';
import { LogOfTest, pack } from '../../test/fixture.js';
import { sentenceOfEvent } from './event-sentences.js';
import { digestsIn, timelineOf } from './timeline.js';

describe('the timeline of a document', () => {
  it('tells each event in one sentence, who did it, and where the evidence is', () => {
    const log = new LogOfTest();
    const shipping = { docType: 415, items: [pack(1)], acceptedAt: '2026-03-01T10:00:00Z' };
    const requestId = log.send(shipping);
    log.conclude(requestId, shipping);
    const timeline = timelineOf(log.events);
    const { documentId } = log.events[2]?.data as { documentId: string };
    expect(timeline.map((one) => one.sentence)).toEqual([
      'Registered for account main: type 415, 1 item, 1000 bytes.',
      'Attempt 1: signed and handed to the registry as account main.',
      `Taken by the registry as document ${documentId}.`,
      "The registry's status is processed.",
      'Receipt stored: accepted, 0 errors, accepted at 2026-03-01T10:00:00Z.',
      'Concluded: accepted.',
    ]);
    const { documentSha256, receiptSha256 } = log.events[5]?.data as { documentSha256: string; receiptSha256: string };
    expect(timeline[5]).toMatchObject({
      position: '6',
      version: 5,
      type: 'DocumentConcluded',
      actor: 'worker (system, process)',
      evidence: [documentSha256, receiptSha256],
    });
  });

  it('shows the holder of an API key as the program that it is, also where an old event says person', () => {
    const log = new LogOfTest();
    log.send({ docType: 415, items: [pack(1)] } as Parameters<LogOfTest['send']>[0]);
    const [first] = log.events;
    if (first === undefined) throw new Error('no event');
    first.metadata.actor = { kind: 'person', name: 'erp', authenticatedBy: 'api-key' };
    expect(timelineOf([first])[0]?.actor).toBe('erp (system, api-key)');
    expect(first.metadata.actor.kind).toBe('person');
  });

  it('halts on an event that this program does not know', () => {
    const ended = (data: object) => sentenceOfEvent({ type: 'DocumentNotProcessed', data: { groupId: 'g', ...data } });
    expect([ended({}), ended({ inWork: true })]).toEqual([
      'Not processed: its group was not started.',
      'Not processed: a person ended its group, and said that the registry does not process it.',
    ]);
    expect(() => sentenceOfEvent({ type: 'DocumentForgotten', data: {} })).toThrow(
      'unknown document event: DocumentForgotten',
    );
    expect(() => sentenceOfEvent({ type: 'toString', data: {} })).toThrow('unknown document event');
  });

  it('collects digests by name and shape, each once', () => {
    const sha = 'a'.repeat(64);
    expect(
      digestsIn({ receiptSha256: sha, documentSha256: sha, answerSha256: 'short', comment: 'b'.repeat(64) }),
    ).toEqual([sha]);
  });
});
