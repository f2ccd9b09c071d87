import { randomUUID } from 'node:crypto';
import { decideAccount, type AccountCause, type AccountCommand, type AccountPaused, type AccountState } from '#domain';
import type { Actor } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Clock } from '#kernel';
import { certificateFacts, certificateFault, type AccountFault } from '#registry-client';
import type { AccountRepository } from './account-repository.js';
import { registryActor, SYSTEM } from '../aggregate/aggregate-repository.js';

/** How old what this process knows of an account may be: within this time it hears of a pause by another process. */
const LOOK_AGAIN_MS = 500;

export interface AccountGatesOptions {
  accounts: AccountRepository;
  evidence: Pick<EvidenceStore, 'put'>;
  /** The configured user of each account. */
  users: ReadonlyMap<string, string>;
  /** DER of the certificate that an account signs with, as far as it is known; the same one is the same Buffer. */
  certificateOf(account: string): Buffer | undefined;
  /** The profile's name, in whose name the registry speaks. */
  profile: string;
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

/** What is shown of a paused account. */
export interface PausedAccount {
  account: string;
  cause: AccountCause;
  text: string;
  /** When this process saw it first. */
  seenAt: Date;
}

/**
 * Whether anything may be sent through an account. The log is asked, and not a read model: a pause must not depend on
 * how far a projection is. Each look holds the certificate against the clock and the configured user too, so an ended
 * one pauses its account before the next claim.
 */
export class AccountGates {
  /** Stands for a lease in the ids of events: what two processes find is no repeat of each other. */
  private readonly holder = randomUUID();
  private readonly lookedAtMs = new Map<string, number>();
  private readonly looking = new Map<string, Promise<void>>();
  private readonly restsUntilMs = new Map<string, number>();
  private readonly noted = new Map<string, Buffer>();
  private readonly paused = new Map<string, PausedAccount>();

  constructor(private readonly options: AccountGatesOptions) {}

  /** Looks at every account before anything is done. */
  async open(): Promise<void> {
    for (const account of this.options.users.keys()) await this.isPaused(account);
  }

  async isPaused(account: string): Promise<boolean> {
    const { accounts, clock } = this.options;
    if (clock.monotonicMs() - (this.lookedAtMs.get(account) ?? -Infinity) >= LOOK_AGAIN_MS) this.look(account);
    await this.looking.get(account);
    return this.seen(account, await accounts.state(account));
  }

  /** True while the account is paused, or its signer rests. */
  async isHeld(account: string): Promise<boolean> {
    return (
      (await this.isPaused(account)) || this.options.clock.monotonicMs() < (this.restsUntilMs.get(account) ?? -Infinity)
    );
  }

  /** A signer that did not sign is left alone for so long, by all documents of its account in this process. */
  rest(account: string, restMs: number): void {
    this.restsUntilMs.set(account, this.options.clock.monotonicMs() + restMs);
  }

  /** Pauses an account on the registry's word. */
  async pause(
    account: string,
    fault: AccountFault,
    by: { taskKey: string; answerSha256?: string; requestId?: string },
  ): Promise<boolean> {
    const { taskKey, ...named } = by;
    return this.decide(
      account,
      { type: 'Pause', ...becauseOf(account, fault), ...named },
      { taskKey, actor: registryActor(this.options.profile) },
    );
  }

  /** A refused sign-in, which no task waits for. What cannot be recorded now comes again with the next sign-in. */
  noteSignInRefused(account: string, fault: AccountFault): void {
    this.pause(account, fault, { taskKey: `sign_in:${account}` }).catch((error: unknown) =>
      this.options.log.warn({ account, err: error }, 'could not record a refused sign-in'),
    );
  }

  /** Pauses an account because of what we found ourselves. */
  async pauseBySystem(account: string, fault: AccountFault & { thumbprint?: string }, taskKey: string): Promise<void> {
    const thumbprint = fault.thumbprint === undefined ? {} : { thumbprint: fault.thumbprint };
    await this.decide(
      account,
      { type: 'Pause', ...becauseOf(account, fault), ...thumbprint },
      { taskKey, actor: SYSTEM },
    );
  }

  /** Accounts that are paused, as this process last saw them. */
  pausedAccounts(): PausedAccount[] {
    return [...this.paused.values()];
  }

  /** Of many who ask at once one looks, and the others wait for it. */
  private look(account: string): void {
    this.lookedAtMs.set(account, this.options.clock.monotonicMs());
    const look = this.options.accounts
      .stateInLog(account)
      .then(() => this.checkCertificate(account))
      .finally(() => this.looking.get(account) === look && this.looking.delete(account));
    this.looking.set(account, look);
  }

  private async checkCertificate(account: string): Promise<void> {
    const { accounts, clock, users } = this.options;
    const der = this.options.certificateOf(account);
    if (der === undefined) return;
    const { validFrom, validTo, ...facts } = certificateFacts(der);
    if (this.noted.get(account) !== der) {
      const certificateSha256 = await this.options.evidence.put(der, 'application/pkix-cert');
      const certificate = {
        ...facts,
        certificateSha256,
        validFrom: validFrom.toISOString(),
        validTo: validTo.toISOString(),
      };
      await this.decide(
        account,
        { type: 'NoteCertificate', account, certificate },
        { taskKey: `note_certificate:${account}:${certificateSha256}`, actor: SYSTEM },
      );
      this.noted.set(account, der);
    }
    const fault = certificateFault({ ...facts, validFrom, validTo }, users.get(account) ?? '', clock.now());
    if (fault === undefined) return;
    const command: AccountCommand = {
      type: 'Pause',
      account,
      cause: 'certificate',
      ...fault,
      thumbprint: facts.thumbprint,
    };
    // Found at every look: the log is troubled only with what is news.
    if (decideAccount(await accounts.state(account), command).length === 0) return;
    await this.decide(account, command, {
      taskKey: `check_certificate:${account}:${fault.code}:${facts.thumbprint}`,
      actor: SYSTEM,
    });
  }

  private async decide(
    account: string,
    command: AccountCommand,
    cause: { taskKey: string; actor: Actor },
  ): Promise<boolean> {
    const { state, events } = await this.options.accounts.execute(account, command, { ...cause, lease: this.holder });
    if (events.some((event) => event.type === 'AccountPaused'))
      this.options.log.warn(
        { account, ...(state.phase === 'paused' ? { cause: state.because.cause, text: state.because.text } : {}) },
        'an account was paused: its documents wait until somebody resumes it',
      );
    return this.seen(account, state);
  }

  private seen(account: string, state: AccountState): boolean {
    if (state.phase !== 'paused') this.paused.delete(account);
    else if (!this.paused.has(account))
      this.paused.set(account, {
        account,
        cause: state.because.cause,
        text: state.because.text,
        seenAt: this.options.clock.now(),
      });
    return state.phase === 'paused';
  }
}

const becauseOf = (
  account: string,
  { cause, code, text }: AccountFault,
): Pick<AccountPaused['data'], 'account' | 'cause' | 'code' | 'text'> => ({ account, cause, code, text });
