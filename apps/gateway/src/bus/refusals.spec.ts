import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from '#bus';
import type { NewEvent, RecordedEvent } from '#event-store';
import { defined, VirtualClock } from '#kernel';
import { Refusals, type Refused } from './refusals.js';

const ACTOR = { kind: 'system', name: 'erp', authenticatedBy: 'amqp' } as const;
const SAYS = { participant: 'own', softwareVersion: '0', profile: 'interface-v1' };
const UNFIT: Refused = {
  code: 'invalid_command',
  reason: '/prio: is not a field of a command',
  place: { field: '/prio' },
};

/** A log that keeps what is appended, and fails as often as it is told. */
function harness({ mostADay, failures = 0 }: { mostADay?: number; failures?: number } = {}) {
  const clock = new VirtualClock();
  const streams = new Map<string, NewEvent>();
  const append = async (stream: string, _version: unknown, [event]: NewEvent[]) => {
    if (failures-- > 0) throw new Error('the log is away');
    const isFirst = !streams.has(stream);
    if (isFirst) streams.set(stream, event as NewEvent);
    return isFirst
      ? { kind: 'appended' as const, version: 0, position: 1n }
      : { kind: 'conflict' as const, actualVersion: 0 };
  };
  const readStream = async (stream: string) =>
    [streams.get(stream)].flatMap((event) => (event === undefined ? [] : [event])) as unknown as RecordedEvent[];
  const refusals = new Refusals({
    store: { append, readStream },
    installationId: '00000000-0000-4000-8000-000000000000',
    says: SAYS,
    clock,
    ...defined({ mostADay }),
  });
  const message = (id: string, body: string | Buffer = '{}'): IncomingMessage => ({
    id,
    messageId: `m-${id}`,
    body: Buffer.from(body),
    contentType: 'application/json',
    headers: {},
    deliveries: 1,
    patienceMs: 1,
  });
  const record = (id: string, body?: string | Buffer, refused = UNFIT): Promise<void> =>
    refusals.record(message(id, body), refused, ACTOR);
  const told = (id: string): Record<string, unknown> | undefined =>
    streams.get(`refusal-${id}`)?.data as Record<string, unknown> | undefined;
  return { clock, record, told, streams };
}

describe('a refusal in the log', () => {
  it('names message, command and place, who published it and why it is refused', async () => {
    const { record, told, streams } = harness();
    await record('a', '{"command_id":"erp-1","reference":"INV-1","prio":1}');
    expect(told('a')).toEqual({
      deadLetterId: 'a',
      messageId: 'm-a',
      commandId: 'erp-1',
      reference: 'INV-1',
      code: 'invalid_command',
      text: UNFIT.reason,
      place: { field: '/prio' },
    });
    expect(streams.get('refusal-a')).toMatchObject({
      type: 'CommandRefused',
      metadata: { ...SAYS, actor: ACTOR, correlationId: 'erp-1', causationId: 'message:a' },
    });
  });

  it.each([
    ['no JSON', '{"command_id":"erp-1",'],
    ['a name twice', '{"command_id":"erp-1","command_id":"erp-2"}'],
    ['ids of another shape', '{"command_id":17,"reference":"\\u0007"}'],
    ['no object', 'null'],
    [
      'too many bytes',
      Buffer.concat([
        Buffer.from('{"command_id":"erp-1","xml":"'),
        Buffer.alloc(8 * 1024 * 1024, 'x'),
        Buffer.from('"}'),
      ]),
    ],
  ])('guesses no name in %s, and has the message id', async (_what, body) => {
    const { record, told } = harness();
    await record('a', body);
    expect(told('a')).toEqual({
      deadLetterId: 'a',
      messageId: 'm-a',
      code: 'invalid_command',
      text: UNFIT.reason,
      place: { field: '/prio' },
    });
  });

  it('is short and well-formed, whatever the fault quotes', async () => {
    const { record, told } = harness();
    await record('a', '{}', {
      code: 'invalid_command',
      reason: `\ud800${'😀'.repeat(5_000)}`,
      place: { field: `/${'x'.repeat(9_000)}`, line: 7 },
    });
    const { text, place } = told('a') as { text: string; place: { field: string; line: number } };
    expect({
      text: text.length,
      isWellFormed: !/\p{Surrogate}/u.test(text),
      field: place.field.length,
      line: place.line,
    }).toEqual({ text: 1_000, isWellFormed: true, field: 255, line: 7 });
  });

  it('is one, however often the message comes and whatever is said of it', async () => {
    const { record, told, streams } = harness();
    await record('a');
    await record('a', '{}', { code: 'command_conflict', reason: 'another' });
    expect([streams.size, told('a')?.['code']]).toEqual([1, 'invalid_command']);
  });
});

describe('a flood of refusals', () => {
  it('ends for the day: the last one told says until when, and what follows is not recorded', async () => {
    const { record, told, streams, clock } = harness({ mostADay: 3 });
    for (const id of ['a', 'b', 'c', 'd', 'e']) await record(id);
    expect([...streams.keys()]).toEqual(['refusal-a', 'refusal-b', 'refusal-c']);
    const tomorrow = new Date(Date.parse(clock.now().toISOString().slice(0, 10)) + 86_400_000).toISOString();
    expect(['a', 'b', 'c'].map((id) => told(id)?.['silentUntil'])).toEqual([undefined, undefined, tomorrow]);
    clock.advance(86_400_000);
    await record('f');
    expect(told('f')).not.toHaveProperty('silentUntil');
  });

  it('is no flood where one message comes again and again: others are told, and the last says that it is', async () => {
    const { record, told, streams } = harness({ mostADay: 3 });
    for (let n = 0; n < 10; n += 1) await record('a');
    for (const id of ['b', 'c', 'd']) await record(id);
    expect([...streams.keys()]).toEqual(['refusal-a', 'refusal-b', 'refusal-c']);
    expect(['a', 'b', 'c'].map((id) => typeof told(id)?.['silentUntil'])).toEqual(['undefined', 'undefined', 'string']);
  });

  it('counts only what the log has taken', async () => {
    const { record, told } = harness({ mostADay: 2, failures: 5 });
    for (let n = 0; n < 5; n += 1) await expect(record('a')).rejects.toThrow('the log is away');
    await record('a');
    await record('b');
    expect([told('a')?.['silentUntil'], typeof told('b')?.['silentUntil']]).toEqual([undefined, 'string']);
  });
});
