import type { Command } from 'commander';
import { z } from 'zod';
import { defined, invalidConfiguration } from '#kernel';
import type { DocumentSummary } from '#read-models';
import type { Snake } from '../../../gateway/src/api/snake-case.js';
import type { GatewayClient } from '../gateway-client.js';
import { fittingTable, instant, out, sayMore } from '../print.js';
import { CURSOR_OPTION, JSON_OPTION, type Action } from './action.js';

/** Which documents are meant, as the command line says it. */
export interface DocumentFilter {
  outcome?: string;
  cause?: string;
  phase?: string;
  account?: string;
  type?: string;
  reference?: string;
  since?: string;
  until?: string;
}

interface ListOptions extends DocumentFilter {
  limit: string;
  cursor?: string;
  json?: boolean;
}

/** `pedigree documents`. */
export function addDocumentsCommand(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  withDocumentFilter(pedigree.command('documents').description('list documents, the newest first'))
    .option('--phase <phase>', 'waiting, held, ready, sending, uploading, unconfirmed, sent, received or concluded')
    .option('--account <name>', 'registry account')
    .option('--reference <text>', "the ERP's own reference")
    .option('--limit <n>', 'documents of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(action((options: ListOptions) => listDocuments(gateway(), options)));
}

/** The filters that a list and a resend in bulk have in common. */
export const withDocumentFilter = (command: Command): Command =>
  command
    .option('--outcome <outcome>', 'accepted, partial, rejected or failed')
    .option('--cause <cause>', 'why it failed: registry_failed, send_refused, predecessor_failed or not_processed')
    .option('--type <type>', 'type of document, such as 415')
    .option('--since <when>', 'registered then or later: a date, an instant, or how long ago (90m, 24h, 7d)')
    .option('--until <when>', 'registered before that');

/** Prints a page of the list, and how to get the next one. */
async function listDocuments(gateway: GatewayClient, options: ListOptions): Promise<number> {
  const now = new Date();
  const query = filterParameters(options, now);
  query.set('limit', options.limit);
  if (options.cursor !== undefined) query.set('cursor', options.cursor);
  const page = await gateway.raw(`/v1/documents?${query.toString()}`);
  if (options.json === true) {
    out(JSON.stringify(page));
    return 0;
  }
  const { items, next_cursor: next } = page as { items: Snake<DocumentSummary>[]; next_cursor?: string };
  out(documentsTable(items));
  sayMore(next, agoAsMoments(options, now));
  return 0;
}

/**
 * Where the terminal is too narrow for all columns, those that let one go on: `pedigree document` and --json tell the
 * rest.
 */
export function documentsTable(items: Snake<DocumentSummary>[]): string {
  const rows = items.map((one) => [
    one.request_id,
    one.cause ?? one.outcome ?? one.phase,
    one.doc_type,
    one.reference ?? one.command_id,
    one.account,
    instant(one.registered_at),
    one.resent_as === undefined ? undefined : `sent again as ${one.resent_as}`,
  ]);
  return fittingTable(['request_id', 'state', 'type', 'reference', 'account', 'registered', ''], rows, 4);
}

/** As the API takes it. Throws PedigreeError that names the option. */
export function filterParameters({ type, since, until, ...plain }: DocumentFilter, now: Date): URLSearchParams {
  const { outcome, cause, phase, account, reference } = plain;
  const given = {
    outcome,
    cause,
    phase,
    account,
    reference,
    doc_type: type,
    registered_from: momentOf('--since', since, now),
    registered_to: momentOf('--until', until, now),
  };
  return new URLSearchParams(defined(given));
}

const AGO = /^(\d{1,6})([mhd])$/;
const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * What the next page has to be asked with: a time ago is another moment by then, and a cursor fits one question alone.
 */
export const agoAsMoments = ({ since, until }: { since?: string; until?: string }, now: Date): string =>
  Object.entries({ '--since': since, '--until': until })
    .filter(([, text = '']) => AGO.test(text))
    .map(([option, text]) => ` ${option} ${momentOf(option, text, now)}`)
    .join('');

/** A moment as an option names it, in ISO 8601. Throws PedigreeError that names the option. */
export function momentOf(option: string, text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = AGO.exec(text) ?? [];
  if (count !== undefined) return new Date(now.getTime() - Number(count) * (UNIT_MS[unit] ?? 0)).toISOString();
  const isWhole = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  // JavaScript takes 30 February for 2 March.
  const isDay = z.iso.date().safeParse(text.slice(0, 10)).success;
  if (isWhole && isDay && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw invalidConfiguration(
    option,
    `${text} is not a date (2026-03-01, in UTC), instant with a zone (2026-03-01T09:00:00+03:00) or time ` +
      'ago (90m, 24h, 7d)',
  );
}
