import { Readable } from 'node:stream';
import { request } from 'undici';
import { PedigreeError, type ErrorCode } from '#kernel';

/** One line of the answer to NDJSON commands. */
export type CommandResult =
  | { line: number; command_id: string; request_id: string; repeated: boolean }
  | { line?: number; error: { code: ErrorCode; detail: string; status: number; field?: string; line?: number; item?: string } };

const JSON_TIMEOUT_MS = 30_000;

/** The gateway's API as the command line uses it. Errors arrive as the PedigreeError that the gateway meant. */
export class GatewayClient {
  constructor(
    private readonly url: string,
    private readonly apiKey?: string,
  ) {}

  /** Sends commands as they come, and yields a result for each, in their order. */
  async *send(commands: Iterable<object> | AsyncIterable<object>): AsyncGenerator<CommandResult> {
    const lines = async function* () {
      for await (const command of commands) yield `${JSON.stringify(command)}\n`;
    };
    const { statusCode, body } = await request(`${this.url}/v1/commands`, {
      method: 'POST',
      headers: { ...this.headers(), 'content-type': 'application/x-ndjson' },
      body: Readable.from(lines()),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    if (statusCode !== 200) throw problem(await body.text(), statusCode);
    yield* jsonLines<CommandResult>(body);
  }

  /** GET, as JSON. Throws the gateway's error, for example `not_found`. */
  async get<T>(path: string): Promise<T> {
    const options = { headers: this.headers(), headersTimeout: JSON_TIMEOUT_MS, bodyTimeout: JSON_TIMEOUT_MS };
    const { statusCode, body } = await request(`${this.url}${path}`, options);
    const text = await body.text();
    if (statusCode !== 200) throw problem(text, statusCode);
    return JSON.parse(text) as T;
  }

  /** All items of a list, streamed. */
  async *list<T>(path: string): AsyncGenerator<T> {
    const { statusCode, body } = await request(`${this.url}${path}`, { headers: { ...this.headers(), accept: 'application/x-ndjson' } });
    if (statusCode !== 200) throw problem(await body.text(), statusCode);
    yield* jsonLines<T>(body);
  }

  private headers(): Record<string, string> {
    return this.apiKey === undefined ? {} : { authorization: `Bearer ${this.apiKey}` };
  }
}

async function* jsonLines<T>(body: Readable): AsyncGenerator<T> {
  let pending = '';
  body.setEncoding('utf8');
  for await (const chunk of body) {
    const parts = (pending + String(chunk)).split('\n');
    pending = parts.pop() ?? '';
    for (const part of parts) yield JSON.parse(part) as T;
  }
  if (pending !== '') yield JSON.parse(pending) as T;
}

function problem(text: string, statusCode: number): Error {
  try {
    const { code, detail, field, line, item } = JSON.parse(text) as { code: ErrorCode; detail: string; field?: string; line?: number; item?: string };
    return new PedigreeError(code, detail, { ...(field === undefined ? {} : { field }), ...(line === undefined ? {} : { line }), ...(item === undefined ? {} : { item }) });
  } catch {
    return new Error(`the gateway answered ${statusCode}: ${text.slice(0, 500)}`);
  }
}
