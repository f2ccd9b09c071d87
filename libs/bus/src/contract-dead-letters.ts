import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { until } from '../../../test/support/until.js';
import type { ConsumeOptions, DeadLetterSummary, Handled, IncomingMessage, MessageBus } from './port.js';

export const DELIVERIES_ALLOWED = 3;
const DONE: Handled = { kind: 'done' };

/** The bus of the test under way, and short ways to use it. */
interface BusInUse {
  bus(): MessageBus;
  /** As whom it is opened. */
  user(): string;
  /** Consumes into a list, and answers each message by `answer`. */
  collect(
    answer: (message: IncomingMessage) => Handled,
    over?: Partial<ConsumeOptions>,
  ): { seen: IncomingMessage[]; stop(): Promise<void> };
  send(...texts: string[]): Promise<void>;
  letters(): Promise<DeadLetterSummary[]>;
}

/** Messages that were put aside: kept, listed, replayed, discarded. */
export function contractOfDeadLetters({ bus, user, collect, send, letters }: BusInUse): void {
  describe('dead letters', () => {
    const dead = { kind: 'dead', code: 'invalid_json', reason: 'the body is not JSON: Unexpected token „' } as const;

    it('keep the message with its reason, and the queue moves on', async () => {
      const body = Buffer.from([0xff, 0x7b]);
      await bus().publishCommands([
        { messageId: 'bad', body, contentType: 'application/json', headers: { source: 'erp' } },
      ]);
      await send('good');
      const { seen } = collect(({ messageId }) => (messageId === 'bad' ? dead : DONE));
      await until('both', () => seen.length === 2);
      await until('the letter', async () => (await letters()).length === 1);
      const [letter] = await letters();
      expect(letter).toMatchObject({
        messageId: 'bad',
        code: 'invalid_json',
        reason: dead.reason,
        deliveries: 1,
        contentType: 'application/json',
        headers: { source: 'erp' },
        bodyBytes: 2,
      });
      expect(letter).not.toHaveProperty('body');
      expect(await bus().deadLetter(letter!.id)).toEqual({ ...letter, body });
      await until(
        'the counts',
        async () => JSON.stringify(await bus().state()) === '{"connected":true,"commandsWaiting":0,"deadLetters":1}',
      );
    });

    it('keep a reason that quotes a NUL, and the message leaves the queue at once', async () => {
      await send('bad');
      collect(() => ({ ...dead, reason: 'unexpected token "\0"' }));
      await until('the letter', async () => (await letters()).length === 1);
      expect((await letters())[0]).toMatchObject({
        code: 'invalid_json',
        reason: expect.stringMatching(/^unexpected token ".{1,2}"$/s) as unknown,
        deliveries: 1,
      });
    });

    it('are listed oldest first, as often as one likes, and to the limit', async () => {
      const { seen } = collect(() => dead, { concurrency: 1 });
      for (const [n, text] of ['one', 'two', 'three'].entries()) {
        await send(text);
        await until(text, () => seen.length === n + 1);
        await until('the letter', async () => (await letters()).length === n + 1);
      }
      for (let time = 0; time < 3; time += 1)
        expect((await letters()).map(({ messageId }) => messageId)).toEqual(['id-one', 'id-two', 'id-three']);
      expect(await bus().deadLetters({ limit: 2 })).toHaveLength(2);
      expect(await Promise.all([letters(), letters()])).toEqual([await letters(), await letters()]);
    });

    it('go back into the queue by replay as if they were new, and the others stay', async () => {
      let answer: Handled = dead;
      const { seen } = collect(() => answer);
      await send('mended', 'broken');
      await until('both letters', async () => (await letters()).length === 2);
      const mended = (await letters()).find(({ messageId }) => messageId === 'id-mended');
      answer = DONE;
      expect(await bus().replay(mended!.id)).toBe(true);
      await until('the replay', () => seen.length === 3);
      expect(seen.at(-1)).toEqual({
        id: expect.any(String) as unknown,
        messageId: 'id-mended',
        publisher: user(),
        body: Buffer.from('mended'),
        contentType: 'application/json',
        headers: {},
        deliveries: 1,
        patienceMs: expect.any(Number) as unknown,
      });
      expect((await letters()).map(({ messageId }) => messageId)).toEqual(['id-broken']);
      expect(await bus().replay(mended!.id)).toBe(false);
    });

    it('are gone for good when they are discarded, and the others stay', async () => {
      const { seen } = collect(() => dead);
      await send('hopeless', 'broken');
      await until('both letters', async () => (await letters()).length === 2);
      const hopeless = (await letters()).find(({ messageId }) => messageId === 'id-hopeless');
      expect(await bus().discard(hopeless!.id)).toBe(true);
      expect((await letters()).map(({ messageId }) => messageId)).toEqual(['id-broken']);
      await until('the counts', async () => (await bus().state()).deadLetters === 1);
      expect(await bus().discard(hopeless!.id)).toBe(false);
      expect(seen).toHaveLength(2);
    });

    it('are named as the message was at each of its deliveries', async () => {
      const { seen } = collect(({ deliveries }) =>
        deliveries < DELIVERIES_ALLOWED ? { kind: 'retry', reason: 'not yet' } : dead,
      );
      await send('bad', 'other');
      await until('both letters', async () => (await letters()).length === 2);
      for (const { id, messageId } of await letters()) {
        const ids = seen.filter((one) => one.messageId === messageId).map((one) => one.id);
        expect([ids.length, new Set([...ids, id]).size]).toEqual([DELIVERIES_ALLOWED, 1]);
      }
      expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
    });

    it('that do not exist are not found', async () => {
      for (const id of ['', 'nothing', randomUUID()]) {
        expect(await bus().deadLetter(id)).toBeUndefined();
        expect(await bus().replay(id)).toBe(false);
        expect(await bus().discard(id)).toBe(false);
      }
    });
  });
}
