import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '#kernel';
import * as doc from '../../apps/sandbox/test/documents.js';
import { until } from '../support/until.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

const DOCUMENTS = 12;
/** Without the single reads they stand for ever; with them it takes some polls of 200 ms. */
const LIMIT_MS = 120_000;

let stack: Stack;
beforeAll(async () => {
  stack = await quickStack('interface-v1', {});
}, 240_000);
afterAll(() => stack.stop());

const isDown = (method: string): Promise<unknown> =>
  stack.control('/faults', { fault: 'answer_500_before_work', method, times: 1_000_000 });

describe('a registry that answers 500 to both lists of documents', () => {
  it('does not keep documents of ours without a status: they are read one by one', async () => {
    for (const list of ['list_incoming', 'list_outgoing']) await isDown(list);
    const commands = Array.from({ length: DOCUMENTS }, (_, n) => ({
      ...{ command_id: `alone-${n}`, account: 'main', xml: doc.accept([doc.pack(n)]) },
    }));
    const begunMs = systemClock.monotonicMs();
    for await (const result of stack.client.send(commands)) if ('error' in result) throw new Error(result.error.detail);
    const outcomes = async (): Promise<(string | undefined)[]> => {
      const found = await Promise.all(
        commands.map(({ command_id: id }) =>
          stack.client.get<{ document?: { outcome?: string } }>(`/v1/commands/${id}`),
        ),
      );
      return found.map((one) => one.document?.outcome);
    };
    await until('all ends', async () => (await outcomes()).every((one) => one !== undefined), LIMIT_MS);
    process.stderr.write(
      `${DOCUMENTS} documents without lists: ${Math.round(systemClock.monotonicMs() - begunMs)} ms\n`,
    );
    expect(await outcomes()).toEqual(Array(DOCUMENTS).fill('accepted'));
    expect((await stack.control<{ byRule: object }>('/violations')).byRule).toEqual({});
  }, 240_000);
});
