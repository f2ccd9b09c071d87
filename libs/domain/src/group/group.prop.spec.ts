import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SHA } from '../../test/given-document.js';
import { sized } from '../../../../test/support/sized.js';
import { decideGroup, type GroupCommand } from './decide.js';
import type { GroupEvent } from './events.js';
import {
  answered,
  begin,
  begun,
  endedBy,
  eventsOf,
  groupRegistration,
  IDS,
  mayNot,
  mayStart,
  memberSent,
} from '../../test/given-group.js';
import { evolveGroup, NO_GROUP, outcomeOf, type GroupState } from './state.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const RUNS = sized({ test: 300, soak: 1_000 });
const GRACE_MS = 60_000;

const attempt = fc.oneof(
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.constant(2) },
  { weight: 1, arbitrary: fc.constant(3) },
);
const index = fc.nat({ max: IDS.length - 1 });
const ending = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ outcome: 'accepted' as const }) },
  fc.constant({ outcome: 'partial' as const }),
  fc.constant({ outcome: 'rejected' as const }),
  fc
    .constantFrom('registry_failed' as const, 'send_refused' as const, 'not_processed' as const)
    .map((cause) => ({ outcome: 'failed' as const, cause })),
);
const command: fc.Arbitrary<GroupCommand> = fc.oneof(
  { weight: 4, arbitrary: index.map(memberSent) },
  { weight: 3, arbitrary: fc.constant(mayStart) },
  fc.constant(mayNot),
  { weight: 3, arbitrary: fc.constant(begin) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          'started' as const,
          'refused' as const,
          'not_delivered' as const,
          'unconfirmed' as const,
          'unconfirmed' as const,
          'unconfirmed' as const,
        ),
        attempt,
      )
      .map(([kind, n]) => answered(kind, n)),
  },
  {
    weight: 8,
    arbitrary: fc
      .record({
        attempt,
        begun: fc.oneof({ weight: 12, arbitrary: fc.constant(false) }, fc.constant(true)),
        sinceAttemptEndedMs: fc.constantFrom(0, GRACE_MS - 1, GRACE_MS, GRACE_MS),
      })
      .map((look): GroupCommand => ({ type: 'RecordLook', ...look, unknownGraceMs: GRACE_MS, answerSha256: SHA })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(index, ending, fc.boolean()).map(([i, how, partialStops]): GroupCommand => ({
      type: 'NoteMemberConcluded',
      requestId: IDS[i] as string,
      partialStops,
      ...how,
    })),
  },
  { weight: 2, arbitrary: fc.tuple(attempt, fc.constantFrom(undefined, true as const)).map((of) => endedBy(...of)) },
  fc.constant(begun),
  fc.constant<GroupCommand>({ type: 'NoteResumption', by: { groupId: 'g-2', commandId: 'G-2' } }),
);

/** Most runs have all members sent, so that the far side of the start is reached. */
const commands = fc
  .tuple(fc.constantFrom(0, 3, 3, 3), fc.array(command, { minLength: 20, maxLength: 60, size: 'max' }))
  .map(([sent, rest]): GroupCommand[] => [
    { type: 'Register', registration: groupRegistration() },
    ...[0, 1, 2].slice(0, sent).map(memberSent),
    ...rest,
  ]);

const check = (property: (events: GroupEvent[], sequence: GroupCommand[]) => void): void =>
  fc.assert(
    fc.property(commands, (sequence) => property(eventsOf(sequence), sequence)),
    { seed: SEED, numRuns: RUNS, verbose: fc.VerbosityLevel.None },
  );

describe(`any sequence of commands to one group (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('never starts it while an earlier start may have begun it, nor after it has begun or stopped', () => {
    let restarts = 0;
    check((events) => {
      let open = false;
      let over = false;
      for (const { type } of events) {
        if (type === 'GroupStartAttempted') {
          expect([open, over]).toEqual([false, false]);
          if (events.filter((one) => one.type === 'GroupStartAttempted').length > 1) restarts += 1;
          open = true;
        }
        if (type === 'GroupStartNotDelivered' || type === 'GroupStartAbsenceProven') open = false;
        if (type === 'GroupStarted' || type === 'GroupHalted') over = true;
      }
    });
    expect(restarts).toBeGreaterThan(RUNS / 50);
  });

  it('takes a start for absent only after two looks, the last past the grace', () => {
    let proofs = 0;
    check((events) => {
      let looks = 0;
      for (const event of events) {
        if (event.type === 'GroupStartUnconfirmed') looks = 0;
        if (event.type === 'GroupStartNotSeen') looks += 1;
        if (event.type !== 'GroupStartAbsenceProven') continue;
        proofs += 1;
        expect(looks).toBeGreaterThanOrEqual(1);
        expect(event.data.sinceAttemptEndedMs).toBeGreaterThanOrEqual(GRACE_MS);
      }
    });
    expect(proofs).toBeGreaterThan(RUNS / 100);
  });

  it('starts only what was sent whole, and ends only what is ended in every member, once, with the outcome of all', () => {
    let ends = 0;
    check((events) => {
      const first = (type: string): number => events.findIndex((event) => event.type === type);
      const attempted = first('GroupStartAttempted');
      if (attempted >= 0)
        expect(events.slice(0, attempted).filter((event) => event.type === 'MemberSent')).toHaveLength(IDS.length);
      const concluded = events.filter((event) => event.type === 'GroupConcluded');
      expect(concluded.length).toBeLessThanOrEqual(1);
      const [end] = concluded;
      if (end === undefined) return;
      ends += 1;
      const known = events
        .slice(0, events.indexOf(end))
        .flatMap((event) => (event.type === 'MemberConcluded' || event.type === 'MemberRevised' ? [event.data] : []));
      const outcomes = IDS.map((id) => known.findLast((one) => one.requestId === id)?.outcome);
      expect(outcomes).not.toContain(undefined);
      expect(end.data.outcome).toBe(
        outcomeOf(outcomes.flatMap((outcome) => (outcome === undefined ? [] : [{ outcome }]))),
      );
      if (end.data.halt === undefined) expect(['accepted', 'partial']).toContain(end.data.outcome);
    });
    expect(ends).toBeGreaterThan(RUNS / 50);
  });

  it('counts as begun, once a person has ended it, only by the word of the registry, and of nothing that was ended', () => {
    let [ends, lifted] = [0, 0];
    check((events) => {
      const halt = events.findIndex(
        ({ type, data }) => type === 'GroupHalted' && ['ended_by_person', 'ended_in_work'].includes(data.cause),
      );
      if (halt < 0) return;
      ends += 1;
      expect(events.slice(0, halt).map(({ type }) => type)).not.toContain('GroupStarted');
      const start = events.findIndex(({ type }) => type === 'GroupStarted');
      if (start < 0) return;
      lifted += 1;
      const before = events.slice(0, start);
      expect(before.some((one) => one.type === 'MemberConcluded' && one.data.cause === 'not_processed')).toBe(false);
    });
    expect(ends).toBeGreaterThan(RUNS / 20);
    expect(lifted).toBeGreaterThan(RUNS / 100);
  });

  it('says nothing new when a command is repeated, looks and checks apart', () => {
    check((_, sequence) => {
      let state: GroupState = NO_GROUP;
      for (const one of sequence) {
        state = decideGroup(state, one).reduce(evolveGroup, state);
        if (one.type === 'RecordLook' || one.type === 'RecordCheck') continue;
        expect(decideGroup(state, one)).toEqual([]);
      }
    });
  });
});
