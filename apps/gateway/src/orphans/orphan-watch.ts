import type { Clock } from '#kernel';
import type { Orphan } from '#read-models';
import type { Trouble } from '#service';
import { lookAgain } from '../watch/look-again.js';
import { LookTrouble } from '../watch/look-trouble.js';

export interface OrphanWatchOptions {
  /** Finds what nothing carries on, the oldest first, at most 1,000. */
  find(): Promise<Orphan[]>;
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

/** A look reads every task and every open document: too dear for each scrape, and for each question after health. */
const LOOK_EVERY_MS = 60_000;
/** More would not fit into the sentence. */
const MOST_NAMED = 3;
const NOT_LOOKED = 'nobody could look for orphans';

/** Looks for orphans now and then. Health and metrics tell what the newest look has found, whoever made it. */
export class OrphanWatch {
  private newest: Orphan[] | undefined;
  private readonly trouble: LookTrouble;

  constructor(private readonly options: OrphanWatchOptions) {
    this.trouble = new LookTrouble('orphan watch', NOT_LOOKED, options.clock);
  }

  async look(): Promise<Orphan[]> {
    this.newest = await this.trouble.trying(() => this.options.find());
    return this.newest;
  }

  /** How many were found last; undefined before the first look. */
  found(): number | undefined {
    return this.newest?.length;
  }

  /** While nobody can look, what was found before stands. */
  troubles(): Trouble[] {
    return [...this.trouble.troubles(), ...this.orphans()];
  }

  private orphans(): Trouble[] {
    const [oldest, ...others] = this.newest ?? [];
    if (oldest === undefined) return [];
    const count = others.length + 1;
    const named = [oldest, ...others]
      .slice(0, MOST_NAMED)
      .map(({ kind, id }) => `${kind} ${id}`)
      .join(', ');
    const rest = count > MOST_NAMED ? ` and ${count - MOST_NAMED} more` : '';
    const reason =
      `nothing carries on ${count} ${count === 1 ? 'document or group that is' : 'documents or groups that are'} ` +
      `not concluded; pedigree tasks --orphans lists them: ${named}${rest}`;
    return [{ name: 'orphans', since: oldest.since.toISOString(), reason }];
  }

  /** Looks at once, and then each minute until `signal`. Never rejects. */
  watch(signal: AbortSignal): Promise<void> {
    return lookAgain(() => this.look(), { ...this.options, everyMs: LOOK_EVERY_MS, signal, failure: NOT_LOOKED });
  }
}
