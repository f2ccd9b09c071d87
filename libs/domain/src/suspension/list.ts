import { neverReached, type Sha256 } from '#kernel';
import type { ListVersion, ProductSeries } from './events.js';

/**
 * Why a list is not believed: it names nothing, or far less than the one before; or it has other entries, or more, that
 * tell nothing that anybody understands, and each may be what still suspends a series.
 */
export const LIST_DOUBTS = ['empty', 'shrunken', 'not_understood'] as const;
export type ListDoubt = (typeof LIST_DOUBTS)[number];

/** A version of the registry's list came, whole: of suspended packs or, in a stream of its own, of decisions. */
export interface SuspendedListHeld {
  type: 'SuspendedListHeld';
  data: ListVersion & {
    /** The reading that brought it. */
    fetchId: string;
    account: string;
    /** Series that it names, packs of these, and packs without a series, which cannot be told apart. */
    series: number;
    packs: number;
    packsWithoutSeries: number;
    /** Of the list of decisions: how many it has. The series are then those that they suspend. */
    decisions?: number;
    /**
     * Entries that hold and end nothing: those of `unnamed`, and decisions of which nobody knows whether they suspend
     * or end; absent: none.
     */
    notUnderstood?: number;
    /** Entries without an id, so that nobody knows which pack or decision they are about; absent: none. */
    unnamed?: number;
    /** Calls that it took. */
    calls: number;
    /** Series that were not in force before it; series, or decisions, of the believed list that it does not name. */
    appeared: number;
    vanished: number;
    /**
     * What counts with us from here on: its own content, and what counted before that it does not release: of a doubted
     * list all, else what the believed list before it, or the newest one, still named.
     */
    inForceSha256: Sha256;
    /** The answers, page by page, with their digests; absent where the content is the same as before. */
    answerSha256?: Sha256;
    doubt?: ListDoubt;
  };
}

/** A person says that a doubted list is right. */
interface SuspendedListConfirmed {
  type: 'SuspendedListConfirmed';
  data: ListVersion;
}

export type SuspendedListEvent = SuspendedListHeld | SuspendedListConfirmed;

/** The lists of the registry that suspend series: of suspended packs, and of decisions. */
export const REGISTRY_LISTS = ['list', 'decisions'] as const;
export type RegistryList = (typeof REGISTRY_LISTS)[number];

/** One stream each: there is one list, whoever of our accounts reads it. */
export const SUSPENDED_LIST_STREAM = 'suspended-list';
export const DECISION_LIST_STREAM = 'suspended-list-decisions';

interface HeldList extends ListVersion {
  fetchId: string;
  series: number;
}

/** Entries without an id in the content of a list: how often each stands there, under its digest. */
export type UnnamedEntries = Record<Sha256, number>;

export type SuspendedListState =
  | { phase: 'never_held' }
  | {
      phase: 'believed' | 'doubted';
      /** The newest one. */
      newest: HeldList;
      /** The newest one that was not doubted, or was confirmed; null: there was none. */
      believed: HeldList | null;
      inForceSha256: Sha256;
    };

export const NO_LIST: SuspendedListState = { phase: 'never_held' };

/** Whether a list has an entry without an id that the believed one has not, or one of them more often. */
export const hasNewUnnamed = (unnamed: UnnamedEntries, believed: UnnamedEntries): boolean =>
  Object.entries(unnamed).some(([digest, count]) => count > (believed[digest] ?? 0));

export function evolveSuspendedList(state: SuspendedListState, event: SuspendedListEvent): SuspendedListState {
  switch (event.type) {
    case 'SuspendedListHeld': {
      const { fetchId, listSha256, fetchedAt, series, inForceSha256, doubt } = event.data;
      const newest = { fetchId, listSha256, fetchedAt, series };
      if (doubt === undefined) return { phase: 'believed', newest, believed: newest, inForceSha256 };
      const believed = state.phase === 'never_held' ? null : state.believed;
      return { phase: 'doubted', newest, believed, inForceSha256 };
    }
    case 'SuspendedListConfirmed':
      if (state.phase !== 'doubted') throw new Error(`SuspendedListConfirmed in phase ${state.phase}`);
      return { ...state, phase: 'believed', believed: state.newest };
    default:
      return neverReached(event, 'event of the suspended list');
  }
}

export type SuspendedListCommand =
  ({ type: 'Hold' } & SuspendedListHeld['data']) | { type: 'Confirm'; listSha256: Sha256 };

/**
 * The events that follow. One reading brings one version. A confirmation counts for the newest list alone, and only
 * while it is doubted.
 */
export function decideSuspendedList(state: SuspendedListState, command: SuspendedListCommand): SuspendedListEvent[] {
  switch (command.type) {
    case 'Hold': {
      const { type: _, ...data } = command;
      return state.phase !== 'never_held' && data.fetchId === state.newest.fetchId
        ? []
        : [{ type: 'SuspendedListHeld', data }];
    }
    case 'Confirm': {
      if (state.phase !== 'doubted' || state.newest.listSha256 !== command.listSha256) return [];
      const { listSha256, fetchedAt } = state.newest;
      return [{ type: 'SuspendedListConfirmed', data: { listSha256, fetchedAt } }];
    }
    default:
      return neverReached(command, 'command to the suspended list');
  }
}

/** So many series may leave a list without a doubt, however short it was, as long as one is left. */
const FEW = 2;

/**
 * Whether a list that leaves out so many of the series of the believed one is doubted. `isUnclear`: entries of it name
 * nothing, and were not in the believed one.
 */
export function doubtOf(
  believed: number,
  { series, vanished, isUnclear = false }: { series: number; vanished: number; isUnclear?: boolean },
): ListDoubt | undefined {
  if (believed > 0 && series === 0) return 'empty';
  if (vanished > FEW && vanished * 2 > believed) return 'shrunken';
  return isUnclear ? 'not_understood' : undefined;
}

export const seriesKey = ({ gtin, series }: ProductSeries): string => JSON.stringify([gtin, series]);

/** Series that are in the first list and not in the second. Letter by letter: look-alikes are others. */
export function seriesWithout<Series extends ProductSeries>(
  first: readonly Series[],
  second: readonly ProductSeries[],
): Series[] {
  const known = new Set(second.map(seriesKey));
  return first.filter((one) => !known.has(seriesKey(one)));
}

/** What a list names, each once, in one order: the same series give the same digest. */
export function seriesInOrder(series: Iterable<ProductSeries>): ProductSeries[] {
  const byKey = new Map([...series].map((one) => [seriesKey(one), { gtin: one.gtin, series: one.series }]));
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Cyrillic capitals and small letters that look like Latin ones, and the one that looks like a digit, to these. */
const LOOK_ALIKES = new Map([...'АВСЕНКМОРТХУасеорхуЗ'].map((letter, n) => [letter, 'ABCEHKMOPTXYaceopxy3'.charAt(n)]));

/** Whether two series differ only by letters that look the same. A person is told; nothing follows by itself. */
export const looksAlike = (a: string, b: string): boolean => a !== b && asLatin(a) === asLatin(b);

const asLatin = (text: string): string => [...text].map((letter) => LOOK_ALIKES.get(letter) ?? letter).join('');
