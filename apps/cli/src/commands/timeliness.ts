import type { Command } from 'commander';
import { defined } from '#kernel';
import type { Timeliness } from '#read-models';
import type { Snake } from '../../../gateway/src/api/snake-case.js';
import type { GatewayClient } from '../gateway-client.js';
import { fittingTable, instant, out, sayKnownAt, sayMore } from '../print.js';
import { CURSOR_OPTION, JSON_OPTION, type Action } from './action.js';
import { agoAsMoments, momentOf } from './documents.js';
import { showAnswer, withFiles, type FileOptions } from './list-file.js';

interface TimelinessOptions extends FileOptions {
  role?: string;
  account?: string;
  type?: string;
  since?: string;
  until?: string;
  late?: boolean;
  limit: string;
  cursor?: string;
  json?: boolean;
}

/** `pedigree timeliness`. */
export function addTimelinessCommand(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  withFiles(pedigree.command('timeliness'))
    .description('when documents were due, when that was met, how late, and why; the newest day first')
    .option('--late', 'only what is late, met or not')
    .option('--role <role>', 'sender (ours to send) or receiver (told to us, and ours to answer)')
    .option('--type <type>', 'type of document, such as 415')
    .option('--account <name>', 'registry account')
    .option(
      '--since <when>',
      'claimed (or else known) then or later: a date, an instant, or how long ago (90m, 24h, 7d)',
    )
    .option('--until <when>', 'claimed before that')
    .option('--limit <n>', 'documents of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(action((options: TimelinessOptions) => showTimeliness(gateway(), options)));
}

function showTimeliness(gateway: GatewayClient, options: TimelinessOptions): Promise<number> {
  const now = new Date();
  const show = (told: Snake<Timeliness>): void => {
    print(told);
    sayMore(told.next_cursor, agoAsMoments(options, now));
  };
  return showAnswer(gateway, { path: `/v1/reports/timeliness?${queryOf(options, now)}`, show }, options);
}

function queryOf(options: TimelinessOptions, now: Date): URLSearchParams {
  const { type, since, until, late, role, account, limit, cursor } = options;
  const given = {
    role,
    account,
    doc_type: type,
    late: late === true ? 'true' : undefined,
    operation_from: momentOf('--since', since, now),
    operation_to: momentOf('--until', until, now),
    limit,
    cursor,
  };
  return new URLSearchParams(defined(given));
}

function print({ calendar, as_of: asOf, up_to: upTo, items }: Snake<Timeliness>): void {
  if (calendar === undefined) out('no calendar of deadlines is set (DEADLINE_CALENDAR): nobody can tell what is late');
  else out(`by the calendar "${calendar.name}", edition ${calendar.edition}, as of ${instant(asOf) ?? ''}`);
  if (calendar?.fictitious !== undefined) out(calendar.fictitious);
  sayKnownAt(upTo);
  const rows = items.map((one) => [
    one.request_id ?? one.document_id,
    one.doc_type,
    one.why ?? one.state,
    one.operation_date,
    instant(one.due_at),
    instant(one.done_at),
    one.days_late,
    one.due_by?.clause,
    one.sentence,
  ]);
  const head = ['document', 'type', 'state', 'operation_date', 'due', 'done', 'days late', 'clause', 'cause'];
  out(fittingTable(head, rows, 7));
}
