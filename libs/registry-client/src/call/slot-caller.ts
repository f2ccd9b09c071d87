import { defined, type Clock } from '#kernel';
import { intervalFromText, type CallBudgets } from '#tasks';
import type { Dispatcher } from 'undici';
import type { Log } from '../log.js';
import type { Profile } from '../profile.js';
import type { OperationName } from '../profile-names.js';
import { CallCounts } from './call-counts.js';
import { retryAfterMs } from './classify.js';
import { readErrorBody } from './error-body.js';
import { exchange, type AnswerFile, type Exchange } from './exchange.js';
import type { RequestParts } from './requests.js';

/** A request to the registry itself, or to the address that a link of it resolved to. */
export interface Target extends Omit<RequestParts, 'body'> {
  origin: string;
  /** JSON, or the bytes of an upload. */
  body?: string | Uint8Array;
  /** Names in lower case; they win over those that every call has, but for the token. */
  headers?: Record<string, string>;
}

export interface Call {
  target: Target;
  token?: string;
  /** Monotonic moment after which the request must not be written any more. */
  notAfterMonotonicMs?: number | undefined;
  /** A good answer goes to a file, and may take so long. */
  into?: DownloadTo | undefined;
}

export interface DownloadTo extends AnswerFile {
  timeoutMs: number;
}

export interface SlotCallerOptions {
  profile: Profile;
  budgets: CallBudgets;
  clock: Clock;
  dispatcher: Dispatcher;
  log: Log;
  maxJsonBytes?: number;
}

const JSON_BYTES = 16 * 1024 * 1024;
const XML_BYTES = 128 * 1024 * 1024;

const isSignIn = (operation: OperationName): boolean => operation === 'sign_in_code' || operation === 'sign_in_token';

const endedMs = (result: Exchange, clock: Clock): number =>
  result.kind === 'answered' ? result.raw.receivedMonotonicMs : clock.monotonicMs();

const REMOVED = Buffer.from('[removed]');
const TOO_LATE = 'the slot came too late for this attempt';

/**
 * An answer that repeats what was sent has the token in it, which must reach no event, no log and no evidence. It is
 * taken out here, before anybody reads, logs or keeps the answer (decision 107).
 */
function withoutToken(result: Exchange, token: string | undefined): Exchange {
  if (result.kind === 'failed' || token === undefined || token === '') return result;
  const { body } = result.raw;
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = body.indexOf(token); at >= 0; at = body.indexOf(token, from)) {
    parts.push(body.subarray(from, at), REMOVED);
    from = at + Buffer.byteLength(token);
  }
  if (from === 0) return result;
  return { ...result, raw: { ...result.raw, body: Buffer.concat([...parts, body.subarray(from)]) } };
}

/** Makes single calls within the budget of their account and method. */
export class SlotCaller {
  readonly counts = new CallCounts();

  constructor(private readonly options: SlotCallerOptions) {}

  /** Waits for the slot, makes the call at once, learns from a 429, counts it. Never throws. */
  async call(account: string, operation: OperationName, what: Call): Promise<Exchange> {
    const result = await this.make(account, operation, what);
    this.counts.add(account, operation, result);
    return result;
  }

  private async make(account: string, operation: OperationName, what: Call): Promise<Exchange> {
    const { profile, budgets, clock } = this.options;
    const { notAfterMonotonicMs = Infinity } = what;
    try {
      await this.slotBy(account, operation, notAfterMonotonicMs);
    } catch (error) {
      return { kind: 'failed', written: false, reason: `no slot: ${(error as Error).message}` };
    }
    if (clock.monotonicMs() > notAfterMonotonicMs) return { kind: 'failed', written: false, reason: TOO_LATE };
    const written = budgets.writing(account, operation);
    let writtenMs = NaN;
    const answered = await exchange(
      this.options.dispatcher,
      { ...what.target, headers: this.headers(operation, what) },
      {
        clock,
        onWrite: () => {
          writtenMs = clock.monotonicMs();
          budgets.called(account, operation);
          written();
        },
        timeoutMs:
          what.into?.timeoutMs ??
          (isSignIn(operation) ? profile.rules.signInTimeoutMs : profile.rules.requestTimeoutMs),
        notAfterMonotonicMs,
        into: what.into,
        maxAnswerBytes: this.answersBytes(operation) ? XML_BYTES : (this.options.maxJsonBytes ?? JSON_BYTES),
      },
    );
    written();
    const result = withoutToken(answered, what.token);
    // A call without an answer may have been read at any moment until its connection broke.
    if (!Number.isNaN(writtenMs)) budgets.answered(account, operation, endedMs(result, clock) - writtenMs);
    if (result.kind === 'answered' && result.raw.httpStatus === 429) await this.learn(account, operation, result);
    return result;
  }

  /** Whose time runs out leaves the queue: a slot that came too late would be lost to those behind (decision 122). */
  private async slotBy(account: string, operation: OperationName, untilMs: number): Promise<void> {
    const { budgets, clock } = this.options;
    if (untilMs === Infinity) return budgets.takeSlot(account, operation);
    const [late, granted] = [new AbortController(), new AbortController()];
    void clock.wait(untilMs - clock.monotonicMs(), granted.signal).then(() => late.abort(new Error(TOO_LATE)));
    await budgets.takeSlot(account, operation, late.signal).finally(() => granted.abort());
  }

  private answersBytes(operation: OperationName): boolean {
    return (
      operation === 'fetch_link' ||
      operation === 'export_file' ||
      this.options.profile.operations[operation].answersWith === 'body'
    );
  }

  private headers(operation: OperationName, { target, token }: Call): Record<string, string> {
    const { header, prefix } = this.options.profile.authorization;
    return {
      accept: this.answersBytes(operation) ? '*/*' : 'application/json',
      // Without it any coding would do (RFC 9110, 12.5.3), and none is undone here.
      'accept-encoding': 'identity',
      ...(target.body === undefined ? {} : { 'content-type': 'application/json;charset=UTF-8' }),
      ...target.headers,
      ...(token === undefined ? {} : { [header]: prefix + token }),
    };
  }

  private async learn(
    account: string,
    operation: OperationName,
    answer: Extract<Exchange, { kind: 'answered' }>,
  ): Promise<void> {
    const { text } = readErrorBody(answer.raw, this.options.profile.fields);
    const intervalMs = intervalFromText(text);
    const retryMs = retryAfterMs(answer.retryAfter, this.options.clock.now());
    const told = {
      ...defined({ intervalMs, retryAfterMs: retryMs }),
    };
    // A registry may repeat what it was sent, and a sign-in sends secrets.
    this.options.log.warn(
      { account, operation, ...told, ...(isSignIn(operation) ? {} : { text }) },
      'the registry limits our calls',
    );
    await this.options.budgets
      .learnFrom429(account, operation, told)
      .catch((error: Error) =>
        this.options.log.warn(
          { account, operation, error: error.message },
          'could not store the interval that a 429 told',
        ),
      );
  }
}
