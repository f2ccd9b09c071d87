import { accountStream, decideAccount, evolveAccount, NEW_ACCOUNT, type AccountEvent } from '#domain';
import { newEvent, type Actor, type EventStore, type NewEvent, type Says } from '#event-store';
import { PedigreeError, type Clock } from '#kernel';
import { accountStanding, type AccountStanding } from '#read-models';
import type { Trouble } from '#service';
import type { PostgresTaskQueue } from '#tasks';
import { streamEvents } from '../stream-events.js';
import { lookAgain } from '../watch/look-again.js';

/** An account, with the documents and groups that wait in its lanes. */
export interface AccountEntry extends AccountStanding {
  waiting: number;
}

export interface AccountsOptions extends Says {
  store: Pick<EventStore, 'readStream' | 'append'>;
  queue: Pick<PostgresTaskQueue, 'queueFigures'>;
  /** Names of the configured accounts. */
  accounts: string[];
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

/** The lanes that claim nothing while their account is paused. */
const SENDING_LANES = ['send', 'upload', 'group_check', 'group_start'];
const LOOK_EVERY_MS = 2_000;
const MOST_CONFLICTS = 5;

const DAY_MS = 86_400_000;
/** As early as the alert CertificateEndsSoon. */
const CERTIFICATE_WARNING_MS = 30 * DAY_MS;

function endingCertificate(account: string, validTo: Date, now: Date): Trouble[] {
  const leftMs = validTo.getTime() - now.getTime();
  if (leftMs >= CERTIFICATE_WARNING_MS) return [];
  const since = new Date(validTo.getTime() - CERTIFICATE_WARNING_MS).toISOString();
  return [
    {
      name: `certificate of ${account}`,
      since,
      reason:
        `it ends at ${validTo.toISOString()}, in ${Math.max(0, Math.floor(leftMs / DAY_MS))} days; the account is ` +
        'paused then: order a new one',
    },
  ];
}

/** Shows how accounts stand and has a paused one go on. Workers follow the log: they need not be told. */
export class Accounts {
  private standings: AccountStanding[] = [];

  constructor(private readonly options: AccountsOptions) {}

  get names(): readonly string[] {
    return this.options.accounts;
  }

  async list(): Promise<AccountEntry[]> {
    const [standings, { lanes }] = await Promise.all([this.look(), this.options.queue.queueFigures()]);
    const waiting = (account: string): number =>
      lanes
        .filter(({ lane }) => SENDING_LANES.some((method) => lane === `${account}/${method}`))
        .reduce((sum, { ready }) => sum + ready, 0);
    return standings.map((one) => ({ ...one, waiting: waiting(one.account) }));
  }

  /** Has it go on, for a reason that is kept. The same again changes nothing. Throws PedigreeError `not_found`. */
  async resume(account: string, reason: string, actor: Actor): Promise<AccountEntry> {
    if (!this.options.accounts.includes(account))
      throw new PedigreeError('not_found', `there is no account ${account}`, { field: 'name', item: account });
    await this.appendResumption(account, reason, actor);
    const found = (await this.list()).find((one) => one.account === account);
    if (found === undefined) throw new Error(`account ${account} is not listed`);
    return found;
  }

  troubles(): Trouble[] {
    return this.standings.flatMap(({ account, state, cause, text, since = '', certificate }) => {
      if (state === 'paused') return [{ name: `account ${account}`, since, reason: `paused (${cause}): ${text}` }];
      return certificate === undefined
        ? []
        : endingCertificate(account, new Date(certificate.validTo), this.options.clock.now());
    });
  }

  async look(): Promise<AccountStanding[]> {
    this.standings = await Promise.all(
      this.options.accounts.map((account) => accountStanding(this.options.store, account)),
    );
    return this.standings;
  }

  /** Keeps what health tells up to date, until `signal`. Never rejects. */
  watch(signal: AbortSignal): Promise<void> {
    const failure = 'the accounts could not be looked at';
    return lookAgain(() => this.look(), { ...this.options, everyMs: LOOK_EVERY_MS, signal, failure });
  }

  private async appendResumption(account: string, reason: string, actor: Actor): Promise<void> {
    const { store } = this.options;
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const recorded = await streamEvents<AccountEvent>(store, accountStream(account));
      const state = recorded.reduce(evolveAccount, NEW_ACCOUNT);
      const events = decideAccount(state, { type: 'Resume', account });
      const last = recorded.at(-1);
      if (events.length === 0 || last === undefined) return;
      const appended = await store.append(
        accountStream(account),
        last.version,
        events.map((event) => this.envelope(event, { account, reason, actor })),
      );
      if (appended.kind === 'appended') return;
    }
    throw new PedigreeError('unavailable', `account ${account} changes all the time; try again`, { item: account });
  }

  private envelope(
    event: AccountEvent,
    { account, ...act }: { account: string; reason: string; actor: Actor },
  ): NewEvent {
    const ids = { correlationId: account, causationId: `resume_account:${account}` };
    return newEvent(event, { says: this.options, ...act, at: this.options.clock.now(), ...ids });
  }
}
