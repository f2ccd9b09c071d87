import { Readable } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import { camelCase, type Snake } from '../../gateway/src/api/snake-case.js';
import { defined, PedigreeError, type ErrorCode } from '#kernel';
import { addressWithoutSecrets, sentenceOf } from '#service';

/** One line of the answer to NDJSON commands. */
type CommandResult =
  | ({ line: number } & Acknowledgement)
  | {
      line?: number;
      error: { code: ErrorCode; detail: string; status: number; field?: string; line?: number; item?: string };
    };

export interface Acknowledgement {
  command_id: string;
  request_id: string;
  repeated: boolean;
  warnings?: { code: string; count: number }[];
}

/** What is said when a document is resent; with neither `xml` nor `document` the same document. */
export interface Resend {
  reason: string;
  account?: string;
  xml?: string;
  document?: object;
}

/** A refusal, as the gateway writes it (RFC 9457). */
interface Problem {
  code: ErrorCode;
  detail: string;
  field?: string;
  line?: number;
  item?: string;
}

const JSON_TIMEOUT_MS = 30_000;
const LIMITS = { headersTimeout: JSON_TIMEOUT_MS, bodyTimeout: JSON_TIMEOUT_MS };
const JSON_BODY = { 'content-type': 'application/json' };
const NDJSON = 'application/x-ndjson';
/** Of a page that is no answer of ours so much is read, to show its beginning. */
const MOST_SHOWN_BYTES = 16_384;

/** The gateway's API as the command line uses it. Errors arrive as the PedigreeError that the gateway meant. */
export class GatewayClient {
  constructor(
    private readonly url: string,
    private readonly apiKey?: string,
  ) {}

  /** The address as it may be shown. */
  private get where(): string {
    return addressWithoutSecrets(this.url).replace(/\/$/, '');
  }

  /** Sends commands as they come, and yields a result for each, in their order. */
  send(commands: Iterable<object> | AsyncIterable<object>): AsyncGenerator<CommandResult> {
    const lines = async function* () {
      for await (const command of commands) yield `${JSON.stringify(command)}\n`;
    };
    return this.sendLines(Readable.from(lines()));
  }

  /**
   * Sends NDJSON as it is: what is wrong with a line is said by the gateway, and the other lines are taken. `account`
   * is for commands that name none.
   */
  async *sendLines(lines: Readable, account?: string): AsyncGenerator<CommandResult> {
    const answer = await this.call(commandsPath(account), {
      method: 'POST',
      headers: { 'content-type': NDJSON },
      body: lines,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    yield* jsonLines<CommandResult>(await this.answered(answer, NDJSON));
  }

  /** Sends one command, JSON as it is. */
  async command(json: string | Uint8Array, account?: string): Promise<Acknowledgement> {
    const { statusCode, body } = await this.call(commandsPath(account), {
      method: 'POST',
      headers: JSON_BODY,
      body: json,
      ...LIMITS,
    });
    const text = await textOf(body);
    if (statusCode !== 200 && statusCode !== 202) throw this.problem(text, statusCode);
    return this.parsed(text, statusCode) as Acknowledgement;
  }

  /** GET, with the names that our own code uses. Throws the gateway's error, for example `not_found`. */
  async get<T>(path: string): Promise<T> {
    return camelCase<T>((await this.raw(path)) as Snake<T>);
  }

  /**
   * GET, as the API writes it: for programs that read our output.
   * @param accept the media type that is wanted, where the API has several.
   */
  async raw(path: string, accept?: string): Promise<unknown> {
    const { statusCode, body } = await this.call(path, { ...LIMITS, ...(accept && { headers: { accept } }) });
    const text = await textOf(body);
    if (statusCode !== 200) throw this.problem(text, statusCode);
    return this.parsed(text, statusCode);
  }

  /** A whole answer as a file of this media type, by GET, or by POST of a body; it breaks off when it fails. */
  async stream(path: string, accept: string, posted?: object): Promise<Readable> {
    const answer = await this.call(
      path,
      posted === undefined
        ? { headers: { accept } }
        : { method: 'POST', headers: { ...JSON_BODY, accept }, body: JSON.stringify(posted) },
    );
    return Readable.from(wholeOf(await this.answered(answer, accept)), { objectMode: false });
  }

  /**
   * Changes something by a body of JSON, and gives the answer as the API writes it; undefined where there is none.
   * `isLong`: the answer is waited for without a limit.
   */
  async change(
    method: 'POST' | 'DELETE',
    path: string,
    body?: object,
    { isLong = false }: { isLong?: boolean } = {},
  ): Promise<unknown> {
    const { statusCode, body: answer } = await this.call(path, {
      method,
      ...(body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) }),
      ...(isLong ? { headersTimeout: 0, bodyTimeout: 0 } : LIMITS),
    });
    const text = await textOf(answer);
    if (statusCode < 200 || statusCode > 299) throw this.problem(text, statusCode);
    return text === '' ? undefined : this.parsed(text, statusCode);
  }

  /** PUT of bytes with their digest (RFC 9530). */
  async put(path: string, bytes: Uint8Array, sha256: string): Promise<void> {
    const digest = `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
    const headers = { 'content-type': 'application/octet-stream', 'content-digest': digest };
    const { statusCode, body } = await this.call(path, { method: 'PUT', headers, body: bytes, ...LIMITS });
    const text = await textOf(body);
    if (statusCode !== 204) throw this.problem(text, statusCode);
  }

  /** Has a failed task tried again, for a reason that is kept. */
  async retry(key: string, reason: string): Promise<void> {
    await this.change('POST', '/v1/operations/retries', { key, reason });
  }

  /** Has a dead letter put back into the queue, for a reason that is kept. */
  async replay(id: string, reason: string): Promise<void> {
    await this.change('POST', `/v1/operations/dead-letters/${encodeURIComponent(id)}/replays`, { reason });
  }

  /** Has a dead letter discarded, for a reason that is kept. */
  async discard(id: string, reason: string): Promise<void> {
    await this.change('POST', `/v1/operations/dead-letters/${encodeURIComponent(id)}/discards`, { reason });
  }

  /** Sends a rejected or failed document again, for a reason that is kept. */
  async resend(requestId: string, asked: Resend): Promise<Acknowledgement> {
    return (await this.change(
      'POST',
      `/v1/documents/${encodeURIComponent(requestId)}/resends`,
      asked,
    )) as Acknowledgement;
  }

  /** Resumes a group that halted, for a reason that is kept. */
  async resume(groupId: string, resumption: object): Promise<Acknowledgement> {
    return (await this.change(
      'POST',
      `/v1/groups/${encodeURIComponent(groupId)}/resumptions`,
      resumption,
    )) as Acknowledgement;
  }

  /** All items of a list, streamed, with the names that our own code uses. Throws when the list breaks off. */
  async *list<T>(path: string): AsyncGenerator<T> {
    const answer = await this.call(path, { headers: { accept: NDJSON } });
    for await (const item of jsonLines<Snake<T>>(await this.answered(answer, NDJSON))) yield camelCase<T>(item);
  }

  /** The body of an answer of this media type: a page to sign in, say, must not become the file that was asked for. */
  private async answered({ statusCode, headers, body }: Dispatcher.ResponseData, wanted: string): Promise<Readable> {
    if (statusCode !== 200) throw this.problem(await textOf(body), statusCode);
    const type = String(headers['content-type'] ?? 'no media type');
    if (type.split(';')[0]?.trim().toLowerCase() === wanted) return body;
    throw this.notOfAGateway(await beginningOf(body), `${statusCode}, ${type}`);
  }

  private parsed(text: string, statusCode: number): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw this.notOfAGateway(text, statusCode);
    }
  }

  private problem(text: string, statusCode: number): PedigreeError {
    const { code, detail, field, line, item } = (this.parsed(text, statusCode) ?? {}) as Partial<Problem>;
    if (typeof code !== 'string' || typeof detail !== 'string') return this.notOfAGateway(text, statusCode);
    return new PedigreeError(code, detail, {
      ...defined({ field, line, item }),
    });
  }

  /** A proxy, a page to sign in, or another server speaks for it. */
  private notOfAGateway(text: string, status: number | string): PedigreeError {
    const said = text.trim() === '' ? '' : `: ${sentenceOf({ message: text })}`;
    return new PedigreeError(
      'unavailable',
      `what is at ${this.where} does not answer as a gateway does; is that its address? It answered ${status}${said}`,
    );
  }

  private async call(
    path: string,
    options: Omit<Dispatcher.RequestOptions, 'path' | 'method' | 'origin'> & { method?: Dispatcher.HttpMethod },
  ): Promise<Dispatcher.ResponseData> {
    const headers = {
      ...(options.headers as Record<string, string> | undefined),
      ...(this.apiKey === undefined ? {} : { authorization: `Bearer ${this.apiKey}` }),
    };
    try {
      return await request(`${this.url}${path}`, { ...options, headers });
    } catch (error) {
      if (isOfFile(error)) throw error;
      throw new PedigreeError('unavailable', `the gateway at ${this.where} does not answer: ${sentenceOf(error)}`);
    }
  }
}

const commandsPath = (account: string | undefined): string =>
  `/v1/commands${account === undefined ? '' : `?account=${encodeURIComponent(account)}`}`;

const textOf = (body: Dispatcher.ResponseData['body']): Promise<string> =>
  body.text().catch((error: unknown) => Promise.reject(brokenOff(error)));

async function beginningOf(body: Readable): Promise<string> {
  let begun = Buffer.alloc(0);
  for await (const chunk of wholeOf(body)) {
    begun = Buffer.concat([begun, chunk as Buffer]);
    if (begun.length >= MOST_SHOWN_BYTES) break;
  }
  return begun.toString();
}

/** A file that we read while it is sent may fail as well: that is not the gateway's fault. */
const isOfFile = (error: unknown): boolean => (error as NodeJS.ErrnoException).path !== undefined;

const brokenOff = (error: unknown): PedigreeError =>
  new PedigreeError('unavailable', `the answer of the gateway was cut off: ${sentenceOf(error)}`);

async function* wholeOf(body: Readable): AsyncGenerator<unknown> {
  try {
    yield* body;
  } catch (error) {
    throw isOfFile(error) ? error : brokenOff(error);
  }
}

async function* jsonLines<T>(body: Readable): AsyncGenerator<T> {
  let pending = '';
  body.setEncoding('utf8');
  for await (const chunk of wholeOf(body)) {
    const parts = (pending + String(chunk)).split('\n');
    pending = parts.pop() ?? '';
    for (const part of parts) yield JSON.parse(part) as T;
  }
  if (pending !== '') yield JSON.parse(pending) as T;
}
