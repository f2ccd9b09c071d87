import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { invalidConfiguration, PedigreeError } from '#kernel';
import { FILE_TYPES, type FileFormat } from '../../../gateway/src/api/file-types.js';
import type { GatewayClient } from '../gateway-client.js';
import { out, say, write } from '../print.js';
import type { JsonFlag } from './action.js';
import { mustHaveFolder, writeWhole } from './whole-file.js';

/** In which formats an answer is wanted as a file: the path of each, `-` for standard output. */
export type FileOptions = Partial<Record<FileFormat, string>> & { cursor?: string | undefined };

const NAMES: Record<FileFormat, string> = { csv: 'CSV', ndjson: 'NDJSON', excel: 'an Excel file' };

/** Adds `--csv`, `--ndjson` and `--excel` to a command whose answer has rows. */
export function withFiles(command: Command): Command {
  for (const [format, name] of Object.entries(NAMES))
    command.option(`--${format} <file>`, `write all rows to a file as ${name}; - is standard output`);
  return command;
}

/** Writes the whole answer to a file, where that is asked for. The question is a GET, or a POST of this body. */
export async function writtenToFile(
  gateway: GatewayClient,
  { path, body }: { path: string; body?: object },
  options: FileOptions,
): Promise<boolean> {
  const chosen = chosenFile(options);
  if (chosen === undefined) return false;
  const { format, file } = chosen;
  const rows = await gateway.stream(path, FILE_TYPES[format], body);
  if (file === '-' && format === 'excel') await pipeline(rows, process.stdout, { end: false });
  else await writeText(rows, file);
  return true;
}

/**
 * Prints an answer of the gateway, as JSON or by `show`, or has it written to a file. `whole`: where the answer with
 * all rows is, if `path` names a page.
 */
export async function showAnswer<Answer>(
  gateway: GatewayClient,
  { path, whole = path, show }: { path: string; whole?: string; show: (answer: Answer) => void },
  options: FileOptions & JsonFlag,
): Promise<number> {
  if (await writtenToFile(gateway, { path: whole }, options)) return 0;
  const answer = await gateway.raw(path);
  if (options.json === true) out(JSON.stringify(answer));
  else show(answer as Answer);
  return 0;
}

/** Writes an answer to a file, once it is whole; `-` is standard output, as text. */
export async function writeText(rows: Readable, file: string): Promise<void> {
  if (file === '-') {
    for await (const text of rows.setEncoding('utf8')) await write(String(text));
    return;
  }
  await writeWhole(rows, file);
  say(`written to ${file}`);
}

/**
 * The format and the file that were asked for.
 * @throws PedigreeError `invalid_configuration` for several, and for a page: the file would begin in the middle.
 */
export function chosenFile(options: FileOptions): { format: FileFormat; file: string } | undefined {
  const [format, second] = (Object.keys(FILE_TYPES) as FileFormat[]).filter((one) => options[one] !== undefined);
  if (format === undefined) return undefined;
  if (second !== undefined)
    throw new PedigreeError('invalid_configuration', `--${format} and --${second}: choose one`, {
      field: `--${second}`,
    });
  if (options.cursor !== undefined)
    throw invalidConfiguration('--cursor', `--${format} has all rows, not those of a page: leave it out`);
  const file = options[format] as string;
  if (file === '-' && format === 'excel' && process.stdout.isTTY)
    throw invalidConfiguration('--excel', 'a terminal cannot show it, name a file');
  if (file !== '-') mustHaveFolder(`--${format}`, file);
  return { format, file };
}
