import { expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { newEvent, newStream } from './contract-events.js';
import type { AppendResult, EventStore, ExpectedVersion } from './port.js';

/** The port in memory and in few lines: what an append must answer, by a list of ids per stream. */
class ModelLog {
  readonly streams = new Map<string, string[]>();
  /** Version by id of the events that came with `any`. */
  private readonly ofAny = new Map<string, Map<string, number>>();

  append(
    stream: string,
    expected: ExpectedVersion,
    ids: string[],
  ): { kind: 'appended'; version: number } | { kind: 'conflict'; actualVersion: number } {
    const there = this.streams.get(stream) ?? [];
    const byAny = this.ofAny.get(stream) ?? new Map<string, number>();
    const versions = expected === 'any' ? ids.flatMap((id) => byAny.get(id) ?? []) : [];
    const anywhere = Math.min(there.length, ...versions) - 1;
    const after = expected === 'none' ? -1 : expected === 'any' ? anywhere : expected;
    if (after === there.length - 1) {
      this.streams.set(stream, [...there, ...ids]);
      if (expected === 'any')
        this.ofAny.set(stream, new Map([...byAny, ...ids.map((id, n) => [id, there.length + n] as const)]));
      return { kind: 'appended', version: after + ids.length };
    }
    const same = ids.every((id, n) => there[after + 1 + n] === id);
    return same
      ? { kind: 'appended', version: after + ids.length }
      : { kind: 'conflict', actualVersion: there.length - 1 };
  }
}

interface Step {
  stream: number;
  expected: 'none' | 'any' | 'head' | number;
  /** Small numbers, so that repeats and overlaps are common; each stands for one UUID in its run. */
  ids: number[];
}

const step: fc.Arbitrary<Step> = fc.record({
  stream: fc.nat(1),
  expected: fc.oneof(fc.constantFrom('none' as const, 'any' as const, 'head' as const), fc.nat(4)),
  ids: fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 3 }),
});

function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Any series of appends, alone or in groups that travel together, answers and ends as the model does. */
export function contractOfTheModel(store: () => EventStore, numRuns: number): void {
  it('answers any series of appends as the model does', async () => {
    const anySeries = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(anySeries, async (groups) => {
        const streams = [newStream('model'), newStream('model')];
        const model = new ModelLog();
        for (const group of groups) await compareGroup(store(), { model, streams, group });
        for (const stream of streams) {
          expect((await store().readStream(stream)).map((event) => event.id)).toEqual(model.streams.get(stream) ?? []);
        }
      }),
      // A failure prints its seed and the shortest series that shows it.
      { numRuns },
    );
  });
}

/** Appends a group together. They are handed over in order, and one store keeps that order. */
async function compareGroup(
  store: EventStore,
  run: { model: ModelLog; streams: string[]; group: Step[] },
): Promise<void> {
  const wanted: object[] = [];
  const got: Promise<AppendResult>[] = [];
  for (const { stream: n, expected: wish, ids: numbers } of run.group) {
    const stream = run.streams[n]!;
    const headVersion = (run.model.streams.get(stream)?.length ?? 0) - 1;
    const expected = wish === 'head' ? (headVersion < 0 ? 'none' : headVersion) : wish;
    const ids = numbers.map((number) => uuidOf(`${run.streams.join()}${number}`));
    wanted.push(run.model.append(stream, expected, ids));
    got.push(
      store.append(
        stream,
        expected,
        ids.map((id) => newEvent({}, { id })),
      ),
    );
  }
  const results = (await Promise.all(got)).map((result) => ({ ...result, position: undefined }));
  expect(results).toEqual(wanted.map((result) => ({ ...result, position: undefined })));
}
