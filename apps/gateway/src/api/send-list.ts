import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { ServiceLog } from '#service';
import type { ExportingRequest } from '../access/exports.js';
import type { Columns } from './columns.js';
import { asCsv } from './csv.js';
import { asExcel } from './excel.js';
import { asNdjson, type Page } from './ndjson.js';
import { FILE_TYPES, type FileFormat } from './file-types.js';
import { asGiven, cursorOf } from './list-cursor.js';
import { wantedType } from './wanted-type.js';

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
  const first = await counted(cursorOf(request));
  const format = formatOf(request);
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

/** Answers with the whole, or, as the caller accepts, with its rows as NDJSON, CSV or Excel. */
export async function sendRows<Answer, T>(
  call: ListCall,
  answer: Answer,
  { rows, columns }: { rows: (answer: Answer) => T[]; columns: Columns<T> },
): Promise<void> {
  if (formatOf(call.request) === undefined) await call.reply.send(answer);
  else await sendList(call, () => Promise.resolve({ items: rows(answer) }), columns);
}

/** The format in which the caller accepts all rows as one file. */
export function formatOf({ headers }: ExportingRequest): FileFormat | undefined {
  const wanted = wantedType(headers.accept, Object.values(FILE_TYPES));
  return (Object.keys(FILE_TYPES) as FileFormat[]).find((format) => FILE_TYPES[format] === wanted);
}
