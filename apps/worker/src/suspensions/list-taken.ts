import {
  hasNewUnnamed,
  type ListDoubt,
  type ListVersion,
  type SuspendedListHeld,
  type SuspendedListState,
  type SuspensionCommand,
  type UnnamedEntries,
} from '#domain';
import type { EvidenceStore } from '#evidence';
import { sha256Hex } from '#kernel';
import type { Pool } from '#postgres';
import { unnamedOfList } from '#read-models';
import type { SuspendedListRepository, SuspensionRepository } from './repositories.js';

/** What taking a list over takes. */
export interface TakeContext {
  pool: Pool;
  evidence: EvidenceStore;
  profile: { name: string };
  suspensions: { one: SuspensionRepository; list: SuspendedListRepository };
  warn(about: object, message: string): void;
  /** Packs of a list that are held at a time. For tests; the usual number is that of `countPacks`. */
  packsAtOnce?: number;
}

/** What was read is no list that can be taken over, however often that is tried. */
export class UnusableList extends Error {}

/** Different entries without an id that are told apart. A list with more of them is doubted, whatever was confirmed. */
const MOST_UNNAMED = 10_000;

/** Entries of a list without an id: nobody knows what they are about, so nothing follows from them. */
export class Unnamed {
  count = 0;
  private first: string | undefined;
  private areTooMany = false;
  /** Under its digest, how often each stands in the list. */
  private readonly byDigest = new Map<string, number>();

  add(page: readonly string[]): void {
    for (const one of page) {
      const digest = sha256Hex(Buffer.from(one));
      const before = this.byDigest.get(digest);
      if (before !== undefined || this.byDigest.size < MOST_UNNAMED) this.byDigest.set(digest, (before ?? 0) + 1);
      else this.areTooMany = true;
      this.first ??= one;
      this.count += 1;
    }
  }

  /** For the content of the list, so that its digest covers them; none where all have an id. */
  get part(): { unnamed?: UnnamedEntries } {
    return this.count === 0 ? {} : { unnamed: Object.fromEntries(this.byDigest) };
  }

  /** In the figures of the list: with so many entries that have an id and say nothing; none where all is understood. */
  figures(unclear = 0): Pick<ListTaken['figures'], 'notUnderstood' | 'unnamed'> {
    const { count } = this;
    return {
      ...(unclear + count === 0 ? {} : { notUnderstood: unclear + count }),
      ...(count === 0 ? {} : { unnamed: count }),
    };
  }

  /** Whether any of them is not among those of the believed list: it may be what still suspends a series. */
  async isUnclear({ evidence }: Pick<TakeContext, 'evidence'>, state: SuspendedListState): Promise<boolean> {
    if (this.count === 0) return false;
    if (this.areTooMany) return true;
    const believed = state.phase === 'never_held' ? null : state.believed;
    const { unnamed = {} } = this.part;
    return hasNewUnnamed(unnamed, believed === null ? {} : await unnamedOfList(evidence, believed.listSha256));
  }

  /** Tells of them in the log. */
  warn({ warn }: Pick<TakeContext, 'warn'>, fetchId: string): void {
    const { count, first } = this;
    if (count > 0)
      warn({ fetchId, count, first }, 'entries of a list of suspensions have no id: nobody knows what they are about');
  }
}

/** What follows from a list that was read whole. */
export interface ListTaken {
  /** Its content, and what counts with us from here on: canonical JSON of it is evidence. */
  content: object;
  inForce: object;
  figures: Pick<
    SuspendedListHeld['data'],
    'series' | 'packs' | 'packsWithoutSeries' | 'decisions' | 'notUnderstood' | 'unnamed'
  >;
  /** When its first page came: what happened after that may be missing. */
  fetchedAt: Date;
  appeared: number;
  vanished: number;
  doubt: ListDoubt | undefined;
  commands(version: ListVersion): SuspensionCommand[];
}
