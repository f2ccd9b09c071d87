import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { invalidParameter, PedigreeError, sha256Hex } from '#kernel';
import { MAX_LARGE_COMMAND_BYTES } from '../../../gateway/src/api/body-limits.js';
import type { Acknowledgement, GatewayClient } from '../gateway-client.js';
import { goOnWithoutReader } from '../lost-reader.js';
import { out, table } from '../print.js';

/** The gateway takes no larger command; a larger file is refused here, before it is read. */
const MAX_FILE_BYTES = MAX_LARGE_COMMAND_BYTES;

export interface SendOptions {
  account?: string;
  json?: boolean;
}

interface Sent extends Partial<Acknowledgement> {
  source: string;
  error?: string;
}

/**
 * Sends XML files and ERP commands (JSON or NDJSON, `-` for standard input). Returns 0 only when each was acknowledged.
 */
export async function send(gateway: GatewayClient, files: string[], options: SendOptions): Promise<number> {
  // What was given to be sent is sent, whoever reads the results.
  goOnWithoutReader();
  const results: Sent[] = [];
  for (const file of files) {
    for await (const result of sendFile(gateway, file, options.account)) {
      results.push(result);
      if (options.json === true) out(JSON.stringify(result));
    }
  }
  if (options.json !== true) {
    out(
      table(
        ['source', 'command', 'request_id', 'result'],
        results.map((one) => [
          one.source,
          one.command_id,
          one.request_id,
          one.error ?? `${one.repeated === true ? 'known already' : 'acknowledged'}${warned(one)}`,
        ]),
      ),
    );
  }
  return results.length > 0 && results.every((one) => one.error === undefined) ? 0 : 1;
}

const warned = ({ warnings = [] }: Sent): string => warnings.map(({ code, count }) => `; ${code}: ${count}`).join('');

async function* sendFile(gateway: GatewayClient, file: string, account: string | undefined): AsyncGenerator<Sent> {
  try {
    if (file === '-' || file.endsWith('.ndjson') || file.endsWith('.jsonl')) yield* sendLines(gateway, file, account);
    else yield { source: file, ...(await gateway.command(await commandIn(file), account)) };
  } catch (error) {
    yield {
      source: file,
      error: error instanceof PedigreeError ? `${error.code}: ${error.message}` : (error as Error).message,
    };
  }
}

/** The lines go out as they are, and the gateway answers for each: a bad one keeps no other back. */
async function* sendLines(gateway: GatewayClient, file: string, account: string | undefined): AsyncGenerator<Sent> {
  for await (const { line, ...result } of gateway.sendLines(
    file === '-' ? process.stdin : createReadStream(file),
    account,
  )) {
    const source = line === undefined ? file : `${file}:${line}`;
    yield 'error' in result
      ? { source, error: `${result.error.code}: ${result.error.detail.replace(/^line \d+: /, '')}` }
      : { source, ...result };
  }
}

/**
 * The command in a file: JSON as it is, or one around the XML. The content names that: the same file again is the same
 * command, and is not sent twice.
 */
async function commandIn(file: string): Promise<string> {
  const bytes = await readWhole(file);
  const text = textOf(file, bytes);
  return text.trimStart().startsWith('{')
    ? text
    : JSON.stringify({ command_id: `file-${sha256Hex(bytes)}`, type: 'send_document', xml: text });
}

export async function readWhole(file: string): Promise<Buffer> {
  const { size } = await stat(file).catch((error: Error) => {
    throw invalidParameter(file, error.message);
  });
  if (size > MAX_FILE_BYTES)
    throw new PedigreeError('body_too_large', `${file} has ${size} bytes; at most ${MAX_FILE_BYTES} are taken`, {
      field: file,
    });
  if (size === 0) throw new PedigreeError('missing_body', `${file} is empty`, { field: file });
  return readFile(file);
}

/** UTF-8 without a byte order mark. Another encoding is refused: read as UTF-8 its letters would be lost. */
export function textOf(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Whatever is not UTF-8 comes back as other bytes: the first difference is the place.
    const again = Buffer.from(bytes.toString('utf8'));
    const offset = bytes.findIndex((byte, index) => byte !== again[index]);
    const line = bytes.subarray(0, offset).filter((byte) => byte === 10).length + 1;
    const place = `at byte ${offset} (line ${line})`;
    const message = `${file} is not UTF-8, ${place}; is it windows-1251? Convert it to UTF-8 first`;
    throw new PedigreeError('invalid_parameter', message, { field: file, line });
  }
}
