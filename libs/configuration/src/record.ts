import { newEvent, whileLogIsAway, type Actor, type EventStore, type NewEvent, type Says } from '#event-store';
import { canonicalJson, defined, systemClock, uuid5, type Clock } from '#kernel';
import {
  CONFIGURATION_CHANGED,
  CONFIGURATION_STREAM,
  configurationEvents,
  isChange,
  type ConfigurationChanged,
  type ConfigurationPart,
} from './event.js';
import { changesBetween, digestOfFields, fieldsOf, type Fields } from './fields.js';

/** A part of a program's settings as it may be shown: whoever describes it leaves every secret out. */
export interface DescribedPart {
  part: ConfigurationPart;
  /** Plain JSON. */
  state: object;
  /**
   * What is of this process alone (its port, its log level): told in the event, and not compared, or processes side by
   * side would seem to change each other.
   */
  local?: object;
}

export interface RecordOptions {
  store: Pick<EventStore, 'append' | 'readStream'>;
  installation: Says & { id: string };
  program: string;
  parts: DescribedPart[];
  actor: Actor;
  /** Why; absent is said as `not given`. */
  reason?: string | undefined;
  clock?: Clock;
}

type Change = NewEvent<string, ConfigurationChanged>;

export const REASON_NOT_GIVEN = 'not given';
/** Fields that one event lists; the whole state is in it anyway. */
const MOST_CHANGES = 200;
/** Others who append to the stream at the same time put us off, each of them once for each of its own events. */
const MOST_CONFLICTS = 200;

/**
 * Compares a program's parts with what was recorded of them last, and appends what has changed: who, why, from what to
 * what. Returns what has changed, nothing for a start without a change. Processes that start together and find the same
 * are one change, which each of them returns.
 */
export async function recordConfiguration(options: RecordOptions): Promise<ConfigurationChanged[]> {
  const { store, clock = systemClock } = options;
  const parts = options.parts.map(({ part, state, local }) => ({
    part,
    state: fieldsOf(state),
    ...(local === undefined ? {} : { local: fieldsOf(local) }),
  }));
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    // A program does not begin on settings that nobody can account for.
    const changed = await whileLogIsAway(clock, async () => {
      const { version, last } = await lastRecorded(store, options.program);
      const events = parts.flatMap((one) => changeOf(one, last.get(one.part), { options, version }));
      if (events.length === 0) return [];
      const result = await store.append(CONFIGURATION_STREAM, version === -1 ? 'none' : version, events);
      if (result.kind === 'conflict') return undefined;
      // The ids follow from what is recorded: what another process recorded at the same time is there once.
      return events.map((event) => event.data);
    });
    if (changed !== undefined) return changed;
  }
  throw new Error(`the stream ${CONFIGURATION_STREAM} was appended to by others ${MOST_CONFLICTS} times in a row`);
}

/** The version of the stream, and for each part of the program the state recorded last. */
async function lastRecorded(
  store: RecordOptions['store'],
  program: string,
): Promise<{ version: number; last: Map<ConfigurationPart, Fields> }> {
  const last = new Map<ConfigurationPart, Fields>();
  let version = -1;
  for await (const event of configurationEvents(store)) {
    version = event.version;
    if (isChange(event) && event.data.program === program) last.set(event.data.part, event.data.state);
  }
  return { version, last };
}

interface FieldsOfPart {
  part: ConfigurationPart;
  state: Fields;
  local?: Fields;
}

function changeOf(
  { part, state, local }: FieldsOfPart,
  before: Fields | undefined,
  { options, version }: { options: RecordOptions; version: number },
): Change[] {
  const { program, installation, actor, reason = REASON_NOT_GIVEN, clock = systemClock } = options;
  const changes = before === undefined ? [] : changesBetween(before, state);
  if (before !== undefined && changes.length === 0) return [];
  const toDigest = digestOfFields(state);
  const data: ConfigurationChanged = {
    program,
    part,
    toDigest,
    state,
    changes: changes.slice(0, MOST_CHANGES),
    ...(before === undefined ? {} : { fromDigest: digestOfFields(before) }),
    ...(changes.length > MOST_CHANGES ? { changesLeftOut: changes.length - MOST_CHANGES } : {}),
    ...defined({ local }),
  };
  // The same change after the same event is the same event: an append whose answer was lost is known again.
  const id = uuid5(canonicalJson([CONFIGURATION_STREAM, version, program, part, toDigest]), installation.id);
  const ids = { id, correlationId: `configuration:${program}`, causationId: `start:${program}` };
  const cause = { says: installation, actor, reason, at: clock.now(), ...ids };
  return [newEvent({ type: CONFIGURATION_CHANGED, data }, cause)];
}
