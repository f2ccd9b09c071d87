import { ExpiryNews, type Clock } from '#kernel';
import type { ServiceLog, Trouble } from '#service';
import type { KeyRegister } from './key-register.js';
import type { ApiKeyRow } from './key-table.js';
import { MAKE_A_KEY } from './local-call.js';
import { lookAgain } from '../watch/look-again.js';

export interface KeyWatchOptions {
  register: Pick<KeyRegister, 'catchUp'>;
  list(): Promise<ApiKeyRow[]>;
  /** Whether a call without a key is refused. */
  isKeyed(): Promise<boolean>;
  clock: Clock;
  log: Pick<ServiceLog, 'warn'>;
}

/** A key whose revocation did not reach the table, because somebody died in between, works at most so much longer. */
const LOOK_EVERY_MS = 5_000;
const NO_KEY = `no API key is valid, so nobody can call; make one on the host: ${MAKE_A_KEY}`;
/** More would not fit into the sentence. */
const MOST_NAMED = 10;

/**
 * Keeps the table of keys up to the log, records what has expired, and tells health, metrics and the log what a person
 * must do: no key is left, so that only the host can open the API; keys are suspended; a key expires soon.
 */
export class KeyWatch {
  private keys: ApiKeyRow[] = [];
  private trouble: Trouble | undefined;
  private readonly expiryNews = new ExpiryNews();

  constructor(private readonly options: KeyWatchOptions) {}

  async look(): Promise<void> {
    const { list, isKeyed, clock, log } = this.options;
    this.keys = await list();
    const reason = this.reason(await isKeyed());
    if (reason !== undefined && reason !== this.trouble?.reason) log.warn({}, reason);
    this.trouble =
      reason === undefined
        ? undefined
        : { name: 'api keys', since: this.trouble?.since ?? clock.now().toISOString(), reason };
    for (const { name, expiresAt } of this.keys.filter((one) => one.standing === 'valid')) {
      const warning = expiresAt === null ? undefined : this.expiryNews.of(name, expiresAt, clock.now());
      if (warning !== undefined) log.warn({ key: name, expiresAt, ...warning }, `the API key ${name} expires soon`);
    }
  }

  troubles(): Trouble[] {
    return this.trouble === undefined ? [] : [this.trouble];
  }

  /** `expiresSeconds`: until the first of the valid keys expires. */
  figures(): { suspended: number; expiresSeconds: number | undefined } {
    const ends = this.keys.flatMap(({ standing, expiresAt }) =>
      standing === 'valid' && expiresAt !== null ? [expiresAt.getTime()] : [],
    );
    const expiresSeconds =
      ends.length === 0 ? undefined : (Math.min(...ends) - this.options.clock.now().getTime()) / 1_000;
    return { suspended: this.named('suspended').length, expiresSeconds };
  }

  /** Looks at once, and then every few seconds until `signal`. Never rejects. */
  watch(signal: AbortSignal): Promise<void> {
    const { register, clock, log } = this.options;
    const look = async (): Promise<void> => {
      // A log that is away must not keep anybody from hearing how the keys stand.
      await register
        .catchUp()
        .catch((err: unknown) => log.warn({ err }, 'could not bring the table of API keys up to the log'));
      await this.look();
    };
    return lookAgain(look, {
      everyMs: LOOK_EVERY_MS,
      clock,
      signal,
      log,
      failure: 'the API keys could not be looked at',
    });
  }

  private named(standing: ApiKeyRow['standing']): string[] {
    return this.keys.filter((one) => one.standing === standing).map((one) => one.name);
  }

  private reason(isKeyed: boolean): string | undefined {
    const suspended = this.named('suspended');
    if (suspended.length > 0) {
      const names = suspended.slice(0, MOST_NAMED).join(', ');
      const more = suspended.length > MOST_NAMED ? ` and ${suspended.length - MOST_NAMED} more` : '';
      return (
        'API keys are suspended since a backup was restored, which may be older than their revocation: ' +
        `${names}${more}; on the host say of each pedigree keys confirm NAME --reason TEXT, or revoke it`
      );
    }
    return isKeyed && this.named('valid').length === 0 ? NO_KEY : undefined;
  }
}
