import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { GroupRegistration } from '#domain';
import { VirtualClock } from '#kernel';
import type { DocumentStatus } from '#registry-client';
import { testDatabase } from '../../../../test/support/database.js';
import { sized } from '../../../../test/support/sized.js';
import { FakeGroups, type StartFate } from '../../test/fake-groups.js';
import { badOutcome, FakeRegistry, receiptXml, type SendFate } from '../../test/fake-registry.js';
import {
  acceptGroup,
  groupStateIn,
  processOn,
  runTask,
  stateIn,
  storesForSpec,
  workOff,
} from '../../test/test-harness.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_128);
const RUNS = sized({ test: 20, soak: 300 });
const LIMIT_MS = 300_000;
const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

/** What the registry shows of a member, from look to look, once its turn has come; the last stays. */
type Shown = ('processing' | 'processed' | 'failed' | 'failed_result_ready')[];
type Fate = [receipt: 'Accepted' | 'Partial' | 'Rejected', ...Shown];
const FATES: Fate[] = [
  ['Accepted', 'processing', 'processed'],
  ['Accepted', 'processed'],
  ['Partial', 'processing', 'processed'],
  ['Rejected', 'processing', 'failed_result_ready'],
  ['Rejected', 'failed'],
  // A bare FAILED that turns, sooner or later.
  ['Rejected', 'processing', 'failed', 'failed_result_ready'],
  ['Rejected', 'failed', 'failed', 'failed', 'failed_result_ready'],
  ['Accepted', 'failed', 'processing', 'processed'],
  ['Accepted', 'failed', 'failed', 'processed'],
  ['Partial', 'failed', 'failed', 'processed'],
  ['Rejected', 'failed', 'processing', 'failed'],
];

/** A registry that works on the members of a started group in order, one step further at each look. */
class RegistryInOrder extends FakeRegistry {
  private readonly steps = new Map<string, number>();

  constructor(
    sends: SendFate[],
    private readonly group: Pick<Case, 'obeys' | 'shows'> & {
      members: { requestId: string; fate: Fate }[];
      isStarted(): boolean;
    },
  ) {
    super(sends);
    this.status = 'processing';
    this.waitingStatus = group.shows.waiting;
    for (const { requestId, fate } of group.members) this.receipts.set(requestId, receiptXml(requestId, fate[0]));
  }

  override documentStatus(...asked: Parameters<FakeRegistry['documentStatus']>) {
    return super.documentStatus(...asked).finally(() => this.goOn());
  }

  override listOutgoing(...asked: Parameters<FakeRegistry['listOutgoing']>) {
    return super.listOutgoing(...asked).finally(() => this.goOn());
  }

  private goOn(): void {
    if (!this.group.isStarted()) return;
    let behind: DocumentStatus | undefined;
    for (const { requestId, fate } of this.group.members) {
      const [receipt, ...shown] = fate;
      const step = Math.min((this.steps.get(requestId) ?? -1) + 1, shown.length - 1);
      const status: DocumentStatus = behind ?? shown[step] ?? 'processing';
      if (behind === undefined) this.steps.set(requestId, step);
      this.statusOf.set(this.taken.get(requestId)?.[0] ?? '', status);
      behind ??= this.behind(status, receipt);
    }
  }

  /** What the members behind one of this status show; undefined where the next one's turn has come. */
  private behind(status: DocumentStatus, receipt: Fate[0]): DocumentStatus | undefined {
    const { obeys, shows } = this.group;
    if (!obeys || (status === 'processed' && receipt === 'Accepted')) return undefined;
    return status === 'processing' ? 'uploading' : shows.rest;
  }
}

interface Case {
  fates: Fate[];
  sends: SendFate[];
  starts: StartFate[];
  /** Whether the registry stops at the first member that fails. */
  obeys: boolean;
  /** What members show that are not in work: before the start, and behind one that stopped the group. */
  shows: { waiting: 'uploading' | 'processing'; rest: 'uploading' | 'processing' | 'failed' };
  fails: ['documentStatus' | 'listOutgoing' | 'receipt', 'unknown' | 'not_sent'][];
}

/** Lives through the whole life of one group. */
async function live({ fates, sends, starts, obeys, shows, fails }: Case) {
  const clock = new VirtualClock(new Date());
  const { group, command } = await acceptGroup(stores, fates.length);
  const members = group.members.map(({ requestId }, i) => ({ requestId, fate: fates[i] as Fate }));
  const registry = new RegistryInOrder(sends, { members, obeys, shows, isStarted: () => bulk.started.length > 0 });
  const bulk: FakeGroups = new FakeGroups(registry, starts);
  for (const [name, kind] of fails) registry.fail(name, kind);
  const context = processOn({ ...stores, registry, bulk, clock });
  await runTask(context, command);
  const thrown = (error: Error): void => {
    throw error;
  };
  const failed = await workOff({ context: () => context, thrown, clock, store: stores.store }, group);
  const sentTwice = [...registry.taken.values()].filter((ids) => ids.length > 1);
  return { failed, sentTwice, starts: bulk.started.length, ...(await toldOf(group)) };
}

/** What the group says of its members, and what they say themselves. */
async function toldOf({ groupId, members }: GroupRegistration) {
  const state = await groupStateIn(stores.store, groupId);
  const own = await Promise.all(members.map((one) => stateIn(stores.store, one.requestId)));
  return {
    phase: state.phase,
    stopper: 'halt' in state ? state.halt?.member?.index : undefined,
    byGroup: 'members' in state ? state.members.map(({ outcome, cause }) => ({ outcome, cause })) : [],
    bySelf: own.map((one) => (one.phase === 'concluded' ? { outcome: one.outcome, cause: one.cause } : one.phase)),
  };
}

const cases: fc.Arbitrary<Case> = fc.record({
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 3 }),
  sends: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant<SendFate>('ok') },
      fc.constantFrom<SendFate>('unknown_taken', 'unknown_late', 'unknown_lost', 'refused', 'not_sent', 'rate_limited'),
    ),
    { maxLength: 4 },
  ),
  starts: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant<StartFate>('ok') },
      fc.constantFrom<StartFate>('unknown_taken', 'unknown_late', 'unknown_lost', 'refused', 'not_sent'),
    ),
    { maxLength: 2 },
  ),
  obeys: fc.boolean(),
  shows: fc.record({
    waiting: fc.constantFrom('uploading' as const, 'processing' as const),
    rest: fc.constantFrom('uploading' as const, 'processing' as const, 'failed' as const),
  }),
  fails: fc.array(
    fc.tuple(
      fc.constantFrom('documentStatus' as const, 'listOutgoing' as const, 'receipt' as const),
      fc.constantFrom('unknown' as const, 'not_sent' as const),
    ),
    { maxLength: 4 },
  ),
});

const PLAIN: Case = {
  ...{ fates: [FATES[0] as Fate, FATES[0] as Fate], sends: [], starts: [], obeys: true, fails: [] },
  shows: { waiting: 'uploading', rest: 'uploading' },
};

describe('any group', () => {
  it(
    'comes to its end with all its members, of whom it says what they say, and nothing is sent or started twice',
    async () => {
      await fc.assert(
        fc.asyncProperty(cases, async (one) => {
          const { starts, byGroup, stopper: _, ...ending } = await live(one);
          expect({ ...ending, startedTwice: starts > 1 }).toEqual({
            failed: [],
            sentTwice: [],
            phase: 'concluded',
            bySelf: byGroup,
            startedTwice: false,
          });
        }),
        {
          numRuns: RUNS,
          seed: SEED,
          examples: [
            // It stops at a member that turns and is rejected after all.
            [{ ...PLAIN, fates: [FATES[5] as Fate, FATES[0] as Fate] }],
            // What counted as not processed was processed all the same.
            [{ ...PLAIN, fates: [FATES[4] as Fate, FATES[1] as Fate], obeys: false }],
            // A start is lost, and what waits for it shows as in work.
            [{ ...PLAIN, starts: ['unknown_lost'], shows: { waiting: 'processing', rest: 'processing' } }],
          ],
        },
      );
    },
    LIMIT_MS,
  );

  it.each(['uploading', 'processing', 'failed'] as const)(
    'stops at the first member in error, and the others can be sent again, where those behind it show %s',
    async (rest) => {
      const fates = ([0, 3, 0] as const).map((n) => FATES[n] as Fate);
      const { byGroup, stopper } = await live({ ...PLAIN, fates, shows: { waiting: 'uploading', rest } });
      const ends = [{ outcome: 'accepted' }, { outcome: 'rejected' }, { outcome: 'failed', cause: 'not_processed' }];
      expect({ byGroup, stopper }).toEqual({ byGroup: ends.map((one) => ({ cause: undefined, ...one })), stopper: 1 });
    },
  );

  it('is not processed, and ends so, where the registry has lost it while its start had an unknown outcome', async () => {
    const clock = new VirtualClock(new Date());
    const { group, command } = await acceptGroup(stores, 2);
    const registry = new FakeRegistry();
    const bulk = new FakeGroups(registry, ['unknown_lost']);
    const status = registry.documentStatus.bind(registry);
    registry.documentStatus = (...asked) =>
      registry.taken.size === 0 ? Promise.resolve(badOutcome('not_found')) : status(...asked);
    bulk.beforeStart = () => Promise.resolve(registry.taken.clear());
    const context = processOn({ ...stores, registry, bulk, clock });
    await runTask(context, command);
    const thrown = (error: Error): void => {
      throw error;
    };
    expect(await workOff({ context: () => context, thrown, clock, store: stores.store }, group)).toEqual([]);
    const end = { outcome: 'failed', cause: 'not_processed' };
    expect(await toldOf(group)).toEqual({ phase: 'concluded', byGroup: [end, end], bySelf: [end, end] });
    expect(bulk.starts).toBe(1);
  });
});
