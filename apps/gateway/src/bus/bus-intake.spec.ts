import { describe, expect, it } from '@jest/globals';
import type { ConsumeOptions, Handled, IncomingMessage } from '#bus';
import { PedigreeError, VirtualClock } from '#kernel';
import { MAX_COMMAND_BYTES } from '../api/body-limits.js';
import type { CommandBody } from '../intake/command-body.js';
import type { Taking } from '../intake/intake.js';
import type { StockPart } from '../stock-uploads/stock-parts.js';
import { BusIntake } from './bus-intake.js';

const COMMAND = JSON.stringify({ command_id: 'erp-1', xml: '<documents/>' });
const NO_DATABASE = Object.assign(new Error('the database system is shutting down'), { code: '57P03' });

/** What was recorded as refused, where recording fails as told. */
function recorder(faults: unknown[]) {
  const refused: object[] = [];
  const record = async ({ id }: IncomingMessage, { code }: { code: string }): Promise<void> => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    refused.push({ id, code });
  };
  return { refused, refusals: { record } };
}

/** An intake that fails as told, and what it took of whom. */
function intakeWith(faults: unknown[]) {
  const taken: string[] = [];
  const actors: unknown[] = [];
  const world = { room: async (): Promise<boolean> => true };
  /** What the check of a command waits for. */
  const checks = new Map<string, Promise<void>>();
  const take = async (body: CommandBody, actor: unknown, { place }: Taking) => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    await checks.get(body.command_id);
    await place?.reached;
    taken.push(body.command_id);
    actors.push(actor);
    return { commandId: body.command_id, requestId: '', repeated: false };
  };
  return { taken, actors, checks, world, intake: { take, hasRoom: () => world.room() } as never };
}

/** A bus whose messages the test hands over itself. */
function busByHand() {
  let consumed: ConsumeOptions | undefined;
  let endConsuming = (): void => undefined;
  const consumeCommands = (options: ConsumeOptions) => (
    (consumed = options),
    new Promise<void>((resolve) => (endConsuming = resolve))
  );
  const handle = (
    body: string | Buffer = COMMAND,
    message: { deliveries?: number; patienceMs?: number; publisher?: string } = {},
  ): Promise<Handled> =>
    consumed!.handle({
      id: 'l-1',
      messageId: 'm-1',
      body: Buffer.from(body),
      contentType: 'application/json',
      headers: {},
      deliveries: 1,
      patienceMs: 60_000,
      ...message,
    });
  return {
    bus: { consumeCommands },
    handle,
    mayTakeMore: () => consumed!.mayTakeMore!(),
    endConsuming: () => endConsuming(),
  };
}

/** Lets everything go on that needs no time. */
async function settle(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A bus intake over an intake that fails as told, with a clock that stands still. */
function harness(faults: unknown[] = [], recordFaults: unknown[] = []) {
  const clock = new VirtualClock();
  const { intake, taken, actors, checks, world } = intakeWith(faults);
  const { refused, refusals } = recorder(recordFaults);
  const { bus, ...hand } = busByHand();
  const stockParts: StockPart[] = [];
  const stockFaults: unknown[] = [];
  const takePart = async (part: StockPart): Promise<void> => {
    const fault = stockFaults.shift();
    if (fault !== undefined) throw fault;
    stockParts.push(part);
  };
  const logged: string[] = [];
  const log = {
    error: (_: unknown, text: string) => void logged.push(text),
    warn: (text: string) => void logged.push(text),
  } as never;
  const busIntake = new BusIntake({
    bus,
    intake,
    refusals,
    stockParts: { take: takePart },
    log,
    clock,
    deliveryLimit: 10,
    authenticatedBy: 'amqp',
  });
  busIntake.start();
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  const setRoom = (room: () => Promise<boolean>) => (world.room = room);
  return { ...hand, busIntake, settle, pass, taken, actors, checks, refused, logged, setRoom, stockParts, stockFaults };
}

const command = (command_id: string): string => JSON.stringify({ command_id, xml: '<documents/>' });

describe('messages of the queue', () => {
  it('are taken in its order, however long each is checked', async () => {
    const { handle, checks, taken, settle } = harness();
    let checked = (): void => undefined;
    checks.set('slow', new Promise((resolve) => (checked = resolve)));
    const handled = [handle('no JSON'), handle(command('slow')), handle('no JSON'), handle(command('quick'))];
    await settle();
    expect(taken).toEqual([]);
    checked();
    await Promise.all(handled);
    expect(taken).toEqual(['slow', 'quick']);
  });

  it('do not wait for one that is tried again later', async () => {
    const { handle, taken, settle, pass, setRoom } = harness([NO_DATABASE]);
    setRoom(() => Promise.resolve(false));
    const first = handle(command('first'));
    await settle();
    await handle(command('second'));
    expect(taken).toEqual(['second']);
    setRoom(() => Promise.resolve(true));
    await pass(60_000);
    expect(await first).toEqual({ kind: 'done' });
    expect(taken).toEqual(['second', 'first']);
  });
});

describe('a message of the bus', () => {
  it('is taken as the command of an ERP that the broker let in', async () => {
    const { handle, taken, actors } = harness();
    expect(await handle(COMMAND, { publisher: 'wms' })).toEqual({ kind: 'done' });
    expect([taken, actors]).toEqual([['erp-1'], [{ kind: 'system', name: 'wms', authenticatedBy: 'amqp user_id' }]]);
  });

  it('of a publisher without a name is taken as such', async () => {
    const { handle, actors } = harness();
    expect(await handle()).toEqual({ kind: 'done' });
    expect(actors).toEqual([{ kind: 'system', name: 'bus, anonymous', authenticatedBy: 'amqp' }]);
  });

  it('that decides something is dead without a name, which says how to give it, and taken with one', async () => {
    const { handle, taken } = harness();
    const decision = JSON.stringify({
      command_id: 'go-on',
      type: 'resume_group',
      resume: { group: 'halted', reason: 'corrected' },
    });
    expect(await handle(decision)).toEqual({
      kind: 'dead',
      code: 'unauthenticated',
      reason: expect.stringMatching(/^\/type: resume_group is a decision.*user_id.*over HTTP$/) as unknown,
    });
    expect(taken).toEqual([]);
    expect(await handle(decision, { publisher: 'wms' })).toEqual({ kind: 'done' });
  });

  it.each([
    ['no JSON', '{"command_id":', 'invalid_json', /not JSON/],
    ['nothing at all', '', 'missing_body', /no body/],
    ['a wrong field', '{"command_id":"x","xml":"<a/>","prio":1}', 'invalid_command', /^\/prio: /],
    ['more than is taken', Buffer.alloc(MAX_COMMAND_BYTES + 1, 0x20), 'body_too_large', /8388609 bytes.*8388608/],
  ])('with %s is dead at once, with code and place', async (_, body, code, reason) => {
    const { handle, taken, refused } = harness();
    expect(await handle(body)).toEqual({ kind: 'dead', code, reason: expect.stringMatching(reason) as unknown });
    expect([taken, refused]).toEqual([[], [{ id: 'l-1', code }]]);
  });

  it('that the intake refuses is dead with its words', async () => {
    const { handle } = harness([
      new PedigreeError('command_conflict', 'command erp-1 was acknowledged before with other content', {
        field: '/command_id',
      }),
    ]);
    expect(await handle()).toEqual({
      kind: 'dead',
      code: 'command_conflict',
      reason: 'command erp-1 was acknowledged before with other content',
    });
  });

  it('on which our code fails is tried again and counted, and the fault is logged', async () => {
    const { handle, logged, mayTakeMore, refused } = harness([new TypeError('cannot read x of undefined')]);
    expect(await handle()).toEqual({ kind: 'retry', reason: 'cannot read x of undefined' });
    expect([logged, refused]).toEqual([['a command from the bus failed'], []]);
    expect(await mayTakeMore()).toBe(true);
  });

  it('on which our code fails at its last delivery is dead, and the ERP is told so', async () => {
    const { handle, refused } = harness([new TypeError('cannot read x of undefined')]);
    expect(await handle(COMMAND, { deliveries: 10 })).toEqual({
      kind: 'dead',
      code: 'delivery_limit',
      reason: 'it was delivered 10 times and never handled to the end; the last fault: cannot read x of undefined',
    });
    expect(refused).toEqual([{ id: 'l-1', code: 'delivery_limit' }]);
  });

  it(
    'is not dead before its refusal is recorded: it waits while the log is away, and comes again where that fails ' +
      'otherwise',
    async () => {
      const { handle, settle, pass, setRoom, refused } = harness(
        [],
        [new PedigreeError('unavailable', 'the event log does not answer'), new Error('strange')],
      );
      setRoom(async () => Promise.reject(NO_DATABASE));
      let handled: Handled | undefined;
      const first = handle('no JSON').then(
        (value) => (handled = value),
        (error: Error) => error,
      );
      await settle();
      expect([handled, refused]).toEqual([undefined, []]);
      setRoom(async () => true);
      await pass(5_000);
      expect([await first, refused]).toEqual([new Error('strange'), []]);
      expect([await handle('no JSON'), refused]).toMatchObject([{ kind: 'dead' }, [{ code: 'invalid_json' }]]);
    },
  );
});

describe('a part of a stock file', () => {
  const sha256 = 'ab'.repeat(32);
  const PART = {
    ...{ type: 'stock_part', part: 1, sha256, content: 'aXRlbQo=' },
    file: { name: 'stock.csv', bytes: 5, sha256, moment: '2026-11-23T23:00:00+03:00' },
  };
  const message = (over: object = {}): string => JSON.stringify({ ...PART, ...over });

  it('is taken with all that it tells', async () => {
    const { handle, taken, stockParts } = harness();
    expect(await handle(message())).toEqual({ kind: 'done' });
    const file = { name: 'stock.csv', bytes: 5, sha256, moment: '2026-11-23T20:00:00.000Z' };
    expect([taken, stockParts]).toEqual([[], [{ file, n: 1, bytes: Buffer.from('item\n'), sha256 }]]);
  });

  it.each([
    [
      'a field that there is not',
      { parts: 3 },
      /^\/parts: is not a field of a part of stock file; known are type, file/,
    ],
    ['base64 with a blank', { content: 'aXRl bQo=' }, /^\/content: must be base64/],
    ['base64 without its end', { content: 'aXRlbQo' }, /^\/content: must be base64/],
    ['part 0', { part: 0 }, /^\/part: /],
    ['no file', { file: undefined }, /^\/file: /],
    ['a name with folders', { file: { ...PART.file, name: '../stock.csv' } }, /^\/file\/name: /],
  ])('with %s is dead at once', async (_, over, reason) => {
    const { handle, stockParts, refused } = harness();
    const dead = { kind: 'dead', code: 'invalid_command', reason: expect.stringMatching(reason) as unknown };
    expect(await handle(message(over))).toEqual(dead);
    expect([stockParts, refused]).toEqual([[], [{ id: 'l-1', code: 'invalid_command' }]]);
  });

  it('that the disk does not take comes again and keeps no command back; the last time it is dead', async () => {
    const { handle, mayTakeMore, stockFaults, refused } = harness();
    const full = () => new PedigreeError('unavailable', 'the disk is full');
    stockFaults.push(full(), full());
    expect(await handle(message())).toEqual({ kind: 'retry', reason: 'the disk is full' });
    expect(await mayTakeMore()).toBe(true);
    expect(await handle(message(), { deliveries: 10 })).toMatchObject({ kind: 'dead', code: 'delivery_limit' });
    expect(refused).toEqual([{ id: 'l-1', code: 'delivery_limit' }]);
    expect(await handle(message())).toEqual({ kind: 'done' });
  });
});

describe('a part of a stock file that waits', () => {
  const sha256 = 'ab'.repeat(32);
  const file = { name: 'stock.csv', bytes: 5, sha256 };
  const message = JSON.stringify({ type: 'stock_part', part: 1, sha256, content: 'aXRlbQo=', file });

  it('for other files of its sender is refused at last in words, and not as a fault of ours', async () => {
    const { handle, stockFaults, refused } = harness();
    const full = (): PedigreeError => new PedigreeError('backlog_full', '16 uploads are open; finish one first');
    stockFaults.push(full(), full());
    expect(await handle(message)).toMatchObject({ kind: 'retry' });
    const reason = '16 uploads are open; finish one first; it was delivered 10 times';
    expect(await handle(message, { deliveries: 10 })).toEqual({ kind: 'dead', code: 'backlog_full', reason });
    expect(refused).toEqual([{ id: 'l-1', code: 'backlog_full' }]);
  });
});

describe('while the time is not right', () => {
  it.each([
    ['the database is down', NO_DATABASE],
    ['its connection broke', new Error('Connection terminated unexpectedly')],
    ['nobody listens there', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    ['the backlog is full', new PedigreeError('backlog_full', 'too much')],
  ])('because %s, a message is held and nothing more is taken, then it goes on', async (_, fault) => {
    const { handle, mayTakeMore, settle, pass, setRoom, taken } = harness([fault]);
    setRoom(async () => Promise.reject(NO_DATABASE));
    let handled: Handled | undefined;
    void handle().then((value) => (handled = value));
    await settle();
    expect(await mayTakeMore()).toBe(false);
    for (let n = 0; n < 5; n += 1) await pass(5_000);
    expect(handled).toBeUndefined();
    setRoom(async () => true);
    await pass(5_000);
    expect([handled, taken]).toEqual([{ kind: 'done' }, ['erp-1']]);
    expect(await mayTakeMore()).toBe(true);
  });

  it.each([
    ['the machine of the database is down', Object.assign(new Error('connect'), { code: 'EHOSTDOWN' })],
    ['no address of it answers', new AggregateError([Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })])],
    ['the database is read-only', Object.assign(new Error('cannot execute INSERT'), { code: '25006' })],
    ['the log is away', new PedigreeError('unavailable', 'the event log does not answer')],
    ['too many wait', new Error('more than 5 calls wait for one batch')],
  ])('because %s, no message is blamed, though all works again at once', async (_, fault) => {
    const { handle, settle, pass, taken } = harness([fault]);
    const held = handle();
    await settle();
    await pass(100);
    expect([await held, taken]).toEqual([{ kind: 'done' }, ['erp-1']]);
  });

  it('a fault of unknown kind counts against the message only when the rest works', async () => {
    const { handle, setRoom, settle, pass, taken } = harness([new Error('strange'), new Error('strange')]);
    expect(await handle()).toEqual({ kind: 'retry', reason: 'strange' });
    setRoom(async () => Promise.reject(NO_DATABASE));
    const held = handle();
    await settle();
    setRoom(async () => true);
    await pass(100);
    expect([await held, taken]).toEqual([{ kind: 'done' }, ['erp-1']]);
  });

  it('waits once for all messages, with growing pauses', async () => {
    const { handle, setRoom, settle, pass } = harness(Array.from({ length: 50 }, () => NO_DATABASE));
    let asked = 0;
    setRoom(async () => ((asked += 1), Promise.reject(NO_DATABASE)));
    const held = Promise.all(Array.from({ length: 50 }, () => handle()));
    await settle();
    for (const ms of [100, 200, 400, 800]) await pass(ms);
    expect(asked).toBe(4);
    setRoom(async () => true);
    await pass(1_600);
    expect(await held).toEqual(Array.from({ length: 50 }, () => ({ kind: 'done' })));
  });

  it('gives a message back uncounted after the longest hold', async () => {
    const { handle, setRoom, settle, pass } = harness([NO_DATABASE, NO_DATABASE]);
    setRoom(async () => Promise.reject(NO_DATABASE));
    const held = handle();
    await settle();
    for (let n = 0; n < 20; n += 1) await pass(5_000);
    setRoom(async () => true);
    await pass(5_000);
    expect(await held).toEqual({ kind: 'postpone', reason: NO_DATABASE.message });
  });

  it.each([
    ['counts one that runs into a limit for so long, while others go well', '57014', true, 'retry'],
    ['blames none that does where nothing goes well', '57014', false, 'postpone'],
    ['blames none while the database comes and goes', '57P03', true, 'postpone'],
  ])('%s', async (_, code, othersGoWell, kind) => {
    const faults: unknown[] = Array.from({ length: 9 }, () => Object.assign(new Error('canceled'), { code }));
    if (othersGoWell) faults[1] = undefined;
    const { handle, pass, settle, taken } = harness(faults);
    const held = handle(COMMAND, { patienceMs: 1_000 });
    await settle();
    if (othersGoWell) await handle(command('other'));
    for (let n = 0; n < 20; n += 1) await pass(100);
    expect([await held, taken]).toEqual([{ kind, reason: 'canceled' }, othersGoWell ? ['other'] : []]);
  });

  it('gives what it holds back uncounted at a stop, and then ends', async () => {
    const { handle, busIntake, settle, setRoom, endConsuming } = harness([NO_DATABASE]);
    setRoom(async () => Promise.reject(NO_DATABASE));
    const held = handle();
    await settle();
    const stopped = busIntake.stop();
    expect(await held).toEqual({ kind: 'postpone', reason: NO_DATABASE.message });
    endConsuming();
    await stopped;
  });
});
