import { describe, expect, it } from '@jest/globals';
import type { Actor } from '#event-store';
import { sha256Hex, VirtualClock } from '#kernel';
import { StockParts } from './stock-parts.js';

const ERP: Actor = { kind: 'system', name: 'erp', authenticatedBy: 'amqp user_id' };
const MINUTE_MS = 60_000;

async function settle(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Files of one part each, over a folder that keeps a part and joins a file when the test says so. */
function harness() {
  const clock = new VirtualClock();
  const done: string[] = [];
  const held = new Map<string, () => void>();
  const until = (what: string): Promise<void> =>
    new Promise((resolve) =>
      held.set(what, () => {
        held.delete(what);
        resolve();
      }),
    );
  const parts = new StockParts(
    {
      opened: async ({ name }) => name,
      put: async (name) => {
        await until(`put ${name}`);
        done.push(`put ${name}`);
      },
      isWhole: async () => true,
      finish: async (name) => {
        await until(`join ${name}`);
        done.push(`join ${name}`);
        return undefined as never;
      },
      remove: async () => undefined,
    },
    clock,
  );
  return { clock, done, held, ...handsOf(parts), ...timeOf(clock, held) };
}

function handsOf(parts: StockParts) {
  const bytes = Buffer.from('item');
  const sha256 = sha256Hex(bytes);
  const ends = new Map<string, string>();
  const give = (name: string): void => {
    const file = { name, bytes: bytes.length, sha256, moment: null };
    void parts.take({ file, n: 1, bytes, sha256 }, ERP).then(
      () => ends.set(name, 'taken'),
      (error: Error) => ends.set(name, error.message),
    );
  };
  return { give, ends };
}

function timeOf(clock: VirtualClock, held: ReadonlyMap<string, () => void>) {
  const answer = async (what: string): Promise<void> => {
    held.get(what)?.();
    await settle();
  };
  const pass = async (minutes: number): Promise<void> => {
    clock.advance(minutes * MINUTE_MS);
    await settle();
  };
  return { answer, pass };
}

const SILENT = expect.stringMatching(/has not answered for 5 minutes/) as unknown as string;

describe('parts behind a folder that never answers', () => {
  it('are let go of, also those that wait and those that come: they would keep all commands back', async () => {
    const { give, pass, ends, held } = harness();
    for (const name of ['a', 'b']) give(name);
    await settle();
    await pass(4.9);
    expect(ends.size).toBe(0);
    await pass(0.2);
    give('c');
    await settle();
    expect(Object.fromEntries(ends)).toEqual({ a: SILENT, b: SILENT, c: SILENT });
    expect([...held.keys()]).toEqual(['put a']);
  });

  it('are not taken when it answers after all: nobody waits for them, and new ones are', async () => {
    const { give, answer, pass, done, ends, clock } = harness();
    for (const name of ['a', 'b']) give(name);
    await settle();
    await pass(6);
    await answer('put a');
    expect(done).toEqual(['put a']);
    give('b');
    await settle();
    await answer('put b');
    await answer('join b');
    expect([done, ends.get('b'), clock.waiting]).toEqual([['put a', 'put b', 'join b'], 'taken', 0]);
  });
});

it('a part that waits while another file is joined has all of its time from its turn on', async () => {
  const { give, answer, pass, ends } = harness();
  for (const name of ['a', 'b']) give(name);
  await settle();
  await answer('put a');
  await pass(4);
  await answer('join a');
  await pass(4);
  expect(ends.get('b')).toBeUndefined();
  await answer('put b');
  await answer('join b');
  expect(Object.fromEntries(ends)).toEqual({ a: 'taken', b: 'taken' });
});
