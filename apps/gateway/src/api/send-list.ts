import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { invalidParameter } from '#kernel';
import type { ServiceLog } from '#service';
import type { ExportingRequest } from '../access/exports.js';
import type { Columns } from './columns.js';
import { asCsv } from './csv.js';
import { asExcel } from './excel.js';
import { asNdjson, type Page } from './ndjson.js';
import { FILE_TYPES, type FileFormat } from './file-types.js';
import { asGiven, cursorOf } from './list-cursor.js';
import { acceptsJson, wantedType } from './wanted-type.js';

/** One call for a list, and its answer. */
interface ListCall {
  request: ExportingRequest;
  reply: FastifyReply;
  log: Pick<ServiceLog, 'error'>;
}

/**
 * Answers with a page, or, as the caller accepts, with the whole list as NDJSON, or as CSV or Excel where it has
 * columns. The first page comes before the headers, and an Excel file is whole before them: what is wrong by then is
 * answered as a problem. The cursor that `pageAfter` gets and gives is the list's own.
 */
export async function sendList<T>(
  { request, reply, log }: ListCall,
  pageAfter: (cursor?: string) => Promise<Page<T>>,
  columns?: Columns<T>,
): Promise<void> {
  const counted = async (cursor?: string): Promise<Page<T>> => {
    await request.stillAllowed();
    const page = await pageAfter(cursor);
    request.exportedRows = (request.exportedRows ?? 0) + page.items.length;
    return page;
  };
  const format = formatOf(request, columns === undefined ? ['ndjson'] : FORMATS);
  refuseNoFile(request, format);
  const first = await counted(cursorOf(request));
  const send = (answer: unknown, type: FileFormat) =>
    reply.header('content-type', type === 'csv' ? `${FILE_TYPES.csv}; charset=utf-8` : FILE_TYPES[type]).send(answer);
  const stream = async (texts: AsyncGenerator<string>, type: FileFormat) => {
    const lines = Readable.from(texts);
    // The connection breaks off then, so that nobody takes the part for the whole.
    lines.on('error', (err) => log.error({ err, url: request.url }, 'list stream aborted'));
    await send(lines, type);
  };
  if (format === 'ndjson') return stream(asNdjson(first, counted), format);
  if (columns === undefined || format === undefined) return void (await reply.send(asGiven(request, first)));
  if (format === 'csv') return stream(asCsv(first, counted, columns), format);
  await send(await asExcel(first, counted, columns), format);
}

/** A file would begin in the middle, or be a page of JSON for who takes nothing but a table. */
function refuseNoFile(request: ExportingRequest, format: FileFormat | undefined): void {
  const { query, headers } = request;
  if (format !== undefined && (query as { cursor?: unknown }).cursor !== undefined)
    throw invalidParameter('cursor', `${FILE_TYPES[format]} has all rows, not those of a page: leave it out`);
  if (format === undefined && formatOf(request) !== undefined && !acceptsJson(headers.accept))
    throw invalidParameter('Accept', `this list is no table: take application/json or ${FILE_TYPES.ndjson}`);
}

/** Answers with the whole, or, as the caller accepts, with its rows as NDJSON, CSV or Excel. */
export async function sendRows<Answer, T>(
  call: ListCall,
  answer: Answer,
  { rows, columns }: { rows: (answer: Answer) => T[]; columns: Columns<T> },
): Promise<void> {
  if (formatOf(call.request) === undefined) await call.reply.send(answer);
  else await sendList(call, () => Promise.resolve({ items: rows(answer) }), columns);
}

const FORMATS = Object.keys(FILE_TYPES) as FileFormat[];

/** Of these formats the one in which the caller wants all rows as one file; undefined where it wants JSON as much. */
export function formatOf(
  { headers }: ExportingRequest,
  formats: readonly FileFormat[] = FORMATS,
): FileFormat | undefined {
  const types = formats.map((format) => FILE_TYPES[format]);
  const wanted = wantedType(headers.accept, types);
  return formats.find((format) => FILE_TYPES[format] === wanted);
}
