import { defined, type Clock } from '#kernel';
import type { Caller } from '../call/caller.js';
import type { ReadOutcome } from '../call/read-outcome.js';
import { Lists } from '../lists/lists.js';
import type { ListFilter, ListRecord } from '../lists/table.js';
import type { WalkOutcome } from '../lists/walk-pages.js';
import { AgedCache, type Aged } from './cache.js';
import { Exports } from './exports.js';
import { Groups } from './groups.js';
import { LargeDocuments } from './large-documents.js';
import { SgtinRegistry } from './sgtin-registry.js';
import { SsccRegistry } from './sscc.js';

/** All operations of the interface beside those of a document's own life, by noun (registry-interface 4). */
export class RegistryOperations {
  readonly lists: Lists;
  readonly groups: Groups;
  readonly largeDocuments: LargeDocuments;
  readonly sgtins: SgtinRegistry;
  readonly ssccs: SsccRegistry;
  readonly exports: Exports;

  constructor(caller: Caller) {
    this.lists = new Lists(caller);
    this.groups = new Groups(caller);
    this.largeDocuments = new LargeDocuments(caller);
    this.sgtins = new SgtinRegistry(caller);
    this.ssccs = new SsccRegistry(caller);
    this.exports = new Exports(caller);
  }
}

type Failed<T> = Exclude<WalkOutcome<T> | ReadOutcome<T>, { kind: 'complete' | 'ok' }>;
/** What the directory knows, with its age; or why it knows nothing. */
export type DirectoryAnswer<T> = { kind: 'known'; known: Aged<T> } | { kind: 'failed'; failure: Failed<unknown> };

type Directories = 'users' | 'branches';
interface Question<N extends Directories> {
  account: string;
  filter?: ListFilter<N>;
}

/**
 * Users, branches and products as the registry last told them, with their age (registry-interface 8: cache frequent
 * results). While the registry is away the old answer stays, and says that it is old.
 */
export class Directory {
  private readonly userLists: AgedCache<Question<'users'>, ListRecord<'users'>[], Failed<unknown>>;
  private readonly branchLists: AgedCache<Question<'branches'>, ListRecord<'branches'>[], Failed<unknown>>;
  private readonly productCards: AgedCache<{ account: string; gtin: string }, ListRecord<'products'>, Failed<unknown>>;

  /** @param options.maxAgeMs How old an answer may be before the registry is asked again. */
  constructor(operations: RegistryOperations, options: { maxAgeMs: number; clock: Clock; maxEntries?: number }) {
    this.userLists = listCache(operations.lists, 'users', options);
    this.branchLists = listCache(operations.lists, 'branches', options);
    this.productCards = new AgedCache({
      ...options,
      fetch: async ({ account, gtin }) => {
        const outcome = await operations.sgtins.product(account, gtin);
        return outcome.kind === 'ok'
          ? { kind: 'value', value: outcome.value }
          : { kind: 'failed', failure: outcome, problem: wordsOf(outcome) };
      },
    });
  }

  users(account: string, filter?: ListFilter<'users'>): Promise<DirectoryAnswer<ListRecord<'users'>[]>> {
    return this.userLists.get({ account, ...defined({ filter }) });
  }

  branches(account: string, filter?: ListFilter<'branches'>): Promise<DirectoryAnswer<ListRecord<'branches'>[]>> {
    return this.branchLists.get({ account, ...defined({ filter }) });
  }

  product(account: string, gtin: string): Promise<DirectoryAnswer<ListRecord<'products'>>> {
    return this.productCards.get({ account, gtin });
  }
}

function listCache<N extends Directories>(
  lists: Lists,
  name: N,
  options: { maxAgeMs: number; clock: Clock; maxEntries?: number },
): AgedCache<Question<N>, ListRecord<N>[], Failed<unknown>> {
  return new AgedCache({
    ...options,
    fetch: async ({ account, filter }) => {
      // Whoever asks the directory waits for it: an old answer now is better than a new one after many repeats.
      const walk = await lists.walk(account, name, { patient: false, ...defined({ filter }) });
      return walk.kind === 'complete'
        ? { kind: 'value', value: walk.items }
        : { kind: 'failed', failure: walk, problem: wordsOf(walk) };
    },
  });
}

/** Why there is no answer, in one line. */
function wordsOf(failure: Failed<unknown>): string {
  if (failure.kind === 'stopped') return wordsOf(failure.outcome);
  return `${failure.kind}: ${'text' in failure ? failure.text : failure.reason}`;
}
