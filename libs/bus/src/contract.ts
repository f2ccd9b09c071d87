import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/support/until.js';
import { contractOfDeadLetters, DELIVERIES_ALLOWED } from './contract-dead-letters.js';
import type {
  ConsumeOptions,
  DeadLetterSummary,
  Handled,
  IncomingMessage,
  MessageBus,
  OutgoingMessage,
} from './port.js';

/**
 * What a test file gives for an adapter: empty queues, and the power over what connects to them. Delays are short, and
 * the delivery limit is 3.
 */
export interface BusUnderTest {
  /** The user as whom every bus is opened. */
  user: string;
  /** Another process's bus over the same queues. */
  open(): Promise<MessageBus>;
  /** Ends one as a kill would: nothing that it has in hand is settled. */
  kill(bus: MessageBus): Promise<void>;
  /** Breaks every connection once; new ones are let through. */
  cut(): Promise<void>;
  /** What was published to the ERP since the beginning of the test, as one who listened all the time sees it. */
  outcomes(): Promise<Pick<OutgoingMessage, 'id' | 'topic' | 'contentType' | 'body'>[]>;
  stop(): Promise<void>;
}

const DONE: Handled = { kind: 'done' };
const outcome = (n: number): OutgoingMessage => ({
  id: `event-${n}`,
  topic: `document.concluded.${n % 2 === 0 ? 'accepted' : 'rejected'}`,
  contentType: 'application/cloudevents+json',
  body: Buffer.from(`{"n":${n}}`),
});

/** Every promise of the port. An adapter is one when this passes. */
export function contractOfTheBus(name: string, make: () => Promise<BusUnderTest>): void {
  describe(`bus contract: ${name}`, () => {
    let under: BusUnderTest;
    let bus: MessageBus;
    /** Ends what a dead consumer holds, when the test is over. */
    let letGo = (): void => undefined;
    let consuming: { stop: AbortController; ended: Promise<void> }[];

    beforeEach(async () => {
      under = await make();
      bus = await under.open();
      consuming = [];
    });
    afterEach(async () => {
      for (const one of consuming) one.stop.abort();
      letGo();
      await under.stop();
    });

    const consume = (
      handle: ConsumeOptions['handle'],
      over: Partial<ConsumeOptions> & { by?: MessageBus } = {},
    ): { stop(): Promise<void> } => {
      const { by = bus, ...options } = over;
      const stop = new AbortController();
      const one = { stop, ended: by.consumeCommands({ concurrency: 10, signal: stop.signal, handle, ...options }) };
      consuming.push(one);
      return { stop: () => (stop.abort(), one.ended) };
    };
    /** Consumes into a list, and answers each message by `answer`. */
    const collect = (
      answer: (message: IncomingMessage) => Handled = () => DONE,
      over: Partial<ConsumeOptions> & { by?: MessageBus } = {},
    ): { seen: IncomingMessage[]; stop(): Promise<void> } => {
      const seen: IncomingMessage[] = [];
      return { seen, ...consume(async (message) => (seen.push(message), answer(message)), over) };
    };
    const send = (...texts: string[]): Promise<void> =>
      bus.publishCommands(texts.map((text) => ({ messageId: `id-${text}`, body: Buffer.from(text) })));
    const textsOf = (messages: { body: Buffer }[]): string[] => messages.map(({ body }) => body.toString());
    const letters = (): Promise<DeadLetterSummary[]> => bus.deadLetters({ limit: 100 });
    const isEmpty = async (): Promise<boolean> => (await bus.state()).commandsWaiting === 0;

    describe('commands', () => {
      it.each(['application/json', 'text/plain', 'application/octet-stream'])(
        'arrive byte for byte, whatever they call themselves: %s',
        async (contentType) => {
          const body = Buffer.concat([
            Buffer.from('{"a":1,"a":12345678901234567890} '),
            Buffer.from([0xff, 0x00, 0xc3]),
          ]);
          await bus.publishCommands([{ messageId: 'm-1', body, contentType, headers: { 'erp-batch': 'Партия 7' } }]);
          const { seen } = collect();
          await until('one message', () => seen.length === 1);
          expect(seen).toEqual([
            {
              id: expect.any(String) as unknown,
              messageId: 'm-1',
              publisher: under.user,
              body,
              contentType,
              headers: { 'erp-batch': 'Партия 7' },
              deliveries: 1,
              patienceMs: expect.any(Number) as unknown,
            },
          ]);
        },
      );

      it('are all handled, at most so many at once, and leave the queue empty', async () => {
        await send(...Array.from({ length: 400 }, (_, n) => String(n)));
        let [underWay, most] = [0, 0];
        const seen = new Set<string>();
        const { stop } = consume(
          async ({ body }) => {
            most = Math.max(most, (underWay += 1));
            await new Promise((resolve) => setImmediate(resolve));
            seen.add(body.toString());
            underWay -= 1;
            return DONE;
          },
          { concurrency: 7 },
        );
        await until('all messages', () => seen.size === 400);
        expect(most).toBe(7);
        await stop();
        expect(await isEmpty()).toBe(true);
        expect(await letters()).toEqual([]);
      });

      it('are worked on up to so many bytes at once, and one that is larger goes alone', async () => {
        const bodies = Array.from({ length: 40 }, (_, n) => Buffer.alloc(n === 20 ? 9_000 : 1_000, n + 1));
        await bus.publishCommands(bodies.map((body) => ({ body })));
        let [bytes, most, done, aloneWithLarge] = [0, 0, 0, true];
        const underWay = new Set<Buffer>();
        consume(
          async ({ body }) => {
            underWay.add(body);
            bytes += body.length;
            if (body.length > 1_000 || [...underWay].some((one) => one.length > 1_000))
              aloneWithLarge &&= underWay.size === 1;
            else most = Math.max(most, bytes);
            for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve));
            bytes -= body.length;
            underWay.delete(body);
            done += 1;
            return DONE;
          },
          { mostBytes: 3_500 },
        );
        await until('all messages', () => done === 40);
        expect({ most, aloneWithLarge }).toEqual({ most: 3_000, aloneWithLarge: true });
      });

      it('wait in the queue, and not in us, while large ones are worked on', async () => {
        await bus.publishCommands(Array.from({ length: 40 }, () => ({ body: Buffer.alloc(1_000, 1) })));
        let begun = 0;
        let finish = (): void => undefined;
        const finished = new Promise<void>((resolve) => (finish = resolve));
        const { stop } = consume(async () => ((begun += 1), await finished, DONE), {
          concurrency: 30,
          mostBytes: 4_000,
        });
        await until('as many as may be', () => begun === 4);
        for (let n = 0; n < 3; n += 1) {
          // Those that were pushed before the first one showed its size, eight at most.
          expect((await bus.state()).commandsWaiting).toBeGreaterThanOrEqual(30);
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect(begun).toBe(4);
        finish();
        await stop();
      });

      it('come to another consumer when theirs died, and are counted as delivered twice', async () => {
        const dying = await under.open();
        await send('orphan');
        let taken = false;
        consume(() => ((taken = true), new Promise((resolve) => (letGo = () => resolve(DONE)))), { by: dying });
        await until('the first delivery', () => taken);
        await under.kill(dying);
        const { seen } = collect();
        await until('the second delivery', () => seen.length === 1);
        expect(seen).toMatchObject([{ messageId: 'id-orphan', deliveries: 2 }]);
      });

      it('are known by their publisher, also after they were put back, put aside and replayed', async () => {
        const answers: Handled[] = [
          { kind: 'retry', reason: 'not yet' },
          { kind: 'postpone', reason: 'the database is down' },
          { kind: 'dead', code: 'invalid_json', reason: 'no' },
        ];
        const { seen } = collect(() => answers.shift() ?? DONE);
        await send('signed');
        await until('the letter', async () => (await letters()).length === 1);
        const [letter] = await letters();
        expect(letter?.publisher).toBe(under.user);
        expect(await bus.replay(letter!.id)).toBe(true);
        await until('the last delivery', () => seen.length === 4);
        expect(seen.map(({ publisher }) => publisher)).toEqual(seen.map(() => under.user));
      });

      it('are shared by consumers, each to one of them', async () => {
        const other = await under.open();
        const [here, there] = [collect(), collect(() => DONE, { by: other })];
        // Both are at work before the rest comes.
        for (let n = 0; here.seen.length === 0 || there.seen.length === 0; n += 1) {
          await send(`first-${n}`);
          await until('it', () => here.seen.length + there.seen.length === n + 1);
        }
        const before = here.seen.length + there.seen.length;
        await send(...Array.from({ length: 60 }, (_, n) => String(n)));
        await until('all messages', () => here.seen.length + there.seen.length === before + 60);
        expect(new Set(textsOf([...here.seen, ...there.seen])).size).toBe(before + 60);
      });

      it('wait in the queue while nothing more may be taken, before the first and after others', async () => {
        let [may, asked] = [false, 0];
        const { seen } = collect(() => DONE, { mayTakeMore: () => ((asked += 1), may) });
        await send('a', 'b');
        await until('three questions', () => asked > 3);
        expect(seen).toEqual([]);
        may = true;
        await until('both', () => seen.length === 2);
        may = false;
        const sinceNo = asked;
        await until('three more questions', () => asked > sinceNo + 3);
        await send(...Array.from({ length: 30 }, (_, n) => `c-${n}`));
        const sinceSent = asked;
        await until('three more questions', () => asked > sinceSent + 3);
        expect(seen).toHaveLength(2);
        // A broker may have sent some on before it could be told to stop.
        expect((await bus.state()).commandsWaiting).toBeGreaterThanOrEqual(20);
        may = true;
        await until('the others', () => seen.length === 32);
        expect(seen.every(({ deliveries }) => deliveries === 1)).toBe(true);
      });

      it('are taken no more when asking whether they may be fails', async () => {
        let asked = 0;
        const { seen } = collect(() => DONE, {
          mayTakeMore: () => ((asked += 1), Promise.reject(new Error('no database'))),
        });
        await send('a');
        await until('three questions', () => asked > 3);
        expect(seen).toEqual([]);
      });
    });

    describe('a stop', () => {
      it('finishes and settles what is under way, and takes nothing more', async () => {
        let finish = (): void => undefined;
        let begun = 0;
        const { stop } = consume(() => ((begun += 1), new Promise((resolve) => (finish = () => resolve(DONE)))), {
          concurrency: 1,
        });
        await send('one', 'two');
        await until('the first', () => begun === 1);
        let hasEnded = false;
        void stop().then(() => (hasEnded = true));
        await new Promise((resolve) => setImmediate(resolve));
        expect(hasEnded).toBe(false);
        finish();
        await until('the end', () => hasEnded);
        const { seen } = collect();
        await until('the second', () => seen.length === 1);
        expect(seen).toMatchObject([{ messageId: 'id-two', deliveries: 1 }]);
        expect(begun).toBe(1);
      });
    });

    describe('what could not be handled', () => {
      it('comes again, and is counted', async () => {
        const { seen } = collect(({ deliveries }) => (deliveries === 1 ? { kind: 'retry', reason: 'not yet' } : DONE));
        await send('again');
        await until('two deliveries', () => seen.length === 2);
        expect(seen.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
        await until('an empty queue', isEmpty);
      });

      it('is put aside after the last allowed delivery, and the queue moves on', async () => {
        const { seen } = collect((message) => {
          if (message.messageId === 'id-poison') throw new Error('this one kills');
          return DONE;
        });
        await send('poison', 'sound');
        await until('a dead letter', async () => (await letters()).length === 1);
        // A broker also counts a delivery that a lost channel never handed over: so many are seen at most, and never
        // more.
        const deliveries = textsOf(seen).filter((text) => text === 'poison').length;
        expect(deliveries).toBeGreaterThan(0);
        expect(deliveries).toBeLessThanOrEqual(DELIVERIES_ALLOWED);
        expect(textsOf(seen)).toContain('sound');
        expect(await letters()).toMatchObject([
          { messageId: 'id-poison', code: 'delivery_limit', deliveries: DELIVERIES_ALLOWED, bodyBytes: 6 },
        ]);
        expect((await letters())[0]?.reason).toMatch(/delivered 3 times/);
        expect(Date.now() - (await letters())[0]!.deadAt.getTime()).toBeLessThan(60_000);
      });

      it('is not counted when it was only postponed', async () => {
        let left = DELIVERIES_ALLOWED + 2;
        const { seen } = collect(() =>
          (left -= 1) >= 0 ? { kind: 'postpone', reason: 'the database is down' } : DONE,
        );
        await send('patient');
        await until('the last delivery', () => seen.length === DELIVERIES_ALLOWED + 3);
        expect(seen.map(({ deliveries }) => deliveries)).toEqual(seen.map(() => 1));
        await until('an empty queue', isEmpty);
        expect(await letters()).toEqual([]);
      });
    });

    contractOfDeadLetters({ bus: () => bus, user: () => under.user, collect, send, letters });

    describe('outcomes', () => {
      it('reach a listener in the order in which they were published, with their ids and topics', async () => {
        const all = Array.from({ length: 300 }, (_, n) => outcome(n));
        await bus.publishOutcomes(all.slice(0, 120));
        await bus.publishOutcomes(all.slice(120));
        await until('all outcomes', async () => (await under.outcomes()).length === 300);
        expect(await under.outcomes()).toEqual(all);
      });

      it('that are published again have the same id, so that a listener can tell', async () => {
        await bus.publishOutcomes([outcome(0), outcome(1)]);
        await bus.publishOutcomes([outcome(0), outcome(1), outcome(2)]);
        await until('the last', async () => (await under.outcomes()).some(({ id }) => id === 'event-2'));
        expect(new Set((await under.outcomes()).map(({ id }) => id))).toEqual(
          new Set(['event-0', 'event-1', 'event-2']),
        );
      });

      it('of an empty batch are none', async () => {
        await bus.publishOutcomes([]);
        expect(await under.outcomes()).toEqual([]);
      });
    });

    describe('a connection that is cut', () => {
      it('loses no command and no outcome', async () => {
        const seen = new Set<string>();
        const { stop } = consume(
          async ({ body }) => (seen.add(body.toString()), await new Promise((resolve) => setImmediate(resolve)), DONE),
          { concurrency: 20 },
        );
        const published: string[] = [];
        // One cut fewer than deliveries: each may cost one.
        for (let round = 0; round < DELIVERIES_ALLOWED; round += 1) {
          const names = Array.from({ length: 50 }, (_, n) => `${round}-${n}`);
          const outcomes = names.map((id) => ({ ...outcome(0), id }));
          // Publishers repeat what was not confirmed; that is what their promise is about.
          const sent = Promise.all([
            untilConfirmed(() => send(...names)),
            untilConfirmed(() => bus.publishOutcomes(outcomes)),
          ]);
          if (round > 0) await under.cut();
          await sent;
          published.push(...names);
        }
        await until('all commands', () => seen.size === published.length);
        await until(
          'all outcomes',
          async () => new Set((await under.outcomes()).map(({ id }) => id)).size === published.length,
        );
        await stop();
        expect([...seen].sort()).toEqual([...published].sort());
        expect(await letters()).toEqual([]);
      });
    });
  });
}

async function untilConfirmed(publish: () => Promise<void>): Promise<void> {
  await until('a confirm', () =>
    publish().then(
      () => true,
      () => false,
    ),
  );
}
