import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { PedigreeError, sha256Hex } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import { out, table } from '../print.js';

/** The gateway takes no larger command; a larger file is refused here, before it is read. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;

export interface SendOptions {
  account?: string;
  json?: boolean;
}

interface Sent {
  source: string;
  command_id?: string;
  request_id?: string;
  repeated?: boolean;
  error?: string;
}

/** Sends XML files and ERP commands (JSON or NDJSON, `-` for standard input). Returns 0 only when each was acknowledged. */
export async function send(gateway: GatewayClient, files: string[], options: SendOptions): Promise<number> {
  const results: Sent[] = [];
  for (const file of files) {
    for await (const result of sendFile(gateway, file, options)) {
      results.push(result);
      if (options.json === true) out(JSON.stringify(result));
    }
  }
  if (options.json !== true) {
    out(table(['source', 'command', 'request_id', ''], results.map((one) => [one.source, one.command_id, one.request_id, one.error ?? (one.repeated === true ? 'known already' : 'acknowledged')])));
  }
  return results.length > 0 && results.every((one) => one.error === undefined) ? 0 : 1;
}

async function* sendFile(gateway: GatewayClient, file: string, options: SendOptions): AsyncGenerator<Sent> {
  const sources: string[] = [];
  const named = async function* () {
    for await (const { source, command } of commandsIn(file, options)) {
      sources.push(source);
      yield command;
    }
  };
  try {
    for await (const result of gateway.send(named())) {
      const source = sources.shift() ?? file;
      yield 'error' in result ? { source, error: `${result.error.code}: ${result.error.detail.replace(/^line \d+: /, '')}` } : { source, ...result };
    }
  } catch (error) {
    yield { source: file, error: error instanceof PedigreeError ? `${error.code}: ${error.message}` : (error as Error).message };
  }
}

async function* commandsIn(file: string, options: SendOptions): AsyncGenerator<{ source: string; command: object }> {
  const account = options.account === undefined ? {} : { account: options.account };
  if (file === '-' || file.endsWith('.ndjson') || file.endsWith('.jsonl')) {
    yield* commandLines(file, account);
    return;
  }
  const bytes = await readWhole(file);
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  if (text.trimStart().startsWith('{')) yield { source: file, command: { ...account, ...(parse(text, { source: file, line: 1 }) as object) } };
  // The content names the command: the same file again is the same command, and is not sent twice.
  else yield { source: file, command: { command_id: `file-${sha256Hex(bytes)}`, type: 'send_document', ...account, xml: text } };
}

async function readWhole(file: string): Promise<Buffer> {
  const { size } = await stat(file).catch((error: Error) => {
    throw new PedigreeError('invalid_parameter', `${file}: ${error.message}`, { field: file });
  });
  if (size > MAX_FILE_BYTES) throw new PedigreeError('body_too_large', `${file} has ${size} bytes; at most ${MAX_FILE_BYTES} are taken`, { field: file });
  if (size === 0) throw new PedigreeError('missing_body', `${file} is empty`, { field: file });
  return readFile(file);
}

async function* commandLines(file: string, account: object): AsyncGenerator<{ source: string; command: object }> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    number += 1;
    const place = { source: `${file}:${number}`, line: number };
    if (line.trim() !== '') yield { source: place.source, command: { ...account, ...(parse(line, place) as object) } };
  }
}

function parse(text: string, place: { source: string; line: number }): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PedigreeError('invalid_json', `${place.source}: ${(error as Error).message}`, { line: place.line });
  }
}
