import type { Clock } from '#kernel';
import type { Trouble } from '#service';
import type { ApiKeys, KeyStanding } from './api-keys.js';

export interface KeyWatchOptions {
  keys: Pick<ApiKeys, 'standing'>;
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

const LOOK_EVERY_MS = 60_000;
const NO_KEY = 'every API key is revoked, so nobody can call; make one on the host: pedigree keys add NAME --role admin';

/** Tells health and the log that no key is left: the API stays shut then, and only the host can open it. */
export class KeyWatch {
  private standing: KeyStanding | undefined;

  constructor(private readonly options: KeyWatchOptions) {}

  async look(): Promise<void> {
    const standing = await this.options.keys.standing();
    if (standing.kind === 'all_revoked' && this.standing?.kind !== 'all_revoked') this.options.log.warn({ since: standing.since }, NO_KEY);
    this.standing = standing;
  }

  troubles(): Trouble[] {
    return this.standing?.kind === 'all_revoked' ? [{ name: 'api keys', since: this.standing.since.toISOString(), reason: NO_KEY }] : [];
  }

  /** Looks at once, and then each minute until `signal`. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    while (!signal.aborted) {
      await this.look().catch((err: unknown) => log.warn({ err }, 'the API keys could not be looked at'));
      await clock.wait(LOOK_EVERY_MS, signal);
    }
  }
}
