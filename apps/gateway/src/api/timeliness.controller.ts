import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined } from '#kernel';
import type { timeliness } from '#read-models';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { columnsOf, type Columns } from './columns.js';
import type { Page } from './ndjson.js';
import { parameters, timelinessParameters } from './parameters.js';
import { ListTimeliness, LOG } from './queries.js';
import { formatOf, sendList } from './send-list.js';
import { snakeCase } from './snake-case.js';

type Report = z.infer<typeof timeliness>;

/** When documents were due, and whether that was kept. */
@Controller('v1/reports')
export class TimelinessController {
  constructor(
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Get('timeliness')
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { doc_type: docType, operation_from, operation_to, ...rest } = parameters(timelinessParameters, query);
    const given = { ...rest, docType, operationFrom: operation_from, operationTo: operation_to };
    const now = new Date();
    const pageAfter = async (cursor?: string): Promise<Report> =>
      snakeCase(await this.queries.execute(new ListTimeliness(defined({ ...given, cursor }), now)));
    const isFileOfLate = rest.late === true && formatOf(request) !== undefined;
    const rowsAfter = isFileOfLate ? async (cursor?: string) => orWhyNone(await pageAfter(cursor)) : pageAfter;
    await sendList<Row>({ request, reply, log: this.log }, rowsAfter, COLUMNS);
  }
}

type Item = Report['items'][number];
type Row = Partial<Item> & Pick<Item, 'as_of' | 'up_to'>;

/** Without a calendar nothing is late: a file without a row would say that all was in time. */
const orWhyNone = (page: Report): Page<Row> =>
  page.calendar === undefined
    ? { items: [{ state: 'not_known', why: 'no_calendar', as_of: page.as_of, up_to: page.up_to }] }
    : page;

/** Every line names the calendar that it rests on, and what that says of itself. */
const COLUMNS: Columns<Row> = {
  ...columnsOf<Row>(
    'role',
    'channel',
    'request_id',
    'document_id',
    'command_id',
    'reference',
    'account',
    'doc_type',
    'doc_num',
  ),
  ...columnsOf<Row>(
    'operation_date',
    'known_at',
    'sent_at',
    'accepted_at',
    'outcome',
    'state',
    'why',
    'started_at',
    'due_at',
  ),
  clause: ({ due_by }) => due_by?.clause,
  clause_edition: ({ due_by }) => due_by?.edition,
  calendar: ({ calendar }) => calendar?.name,
  calendar_edition: ({ calendar }) => calendar?.edition,
  fictitious: ({ calendar }) => calendar?.fictitious,
  ...columnsOf<Row>('met_when', 'done_at', 'days_late', 'cause', 'cause_since', 'sentence', 'items', 'items_answered'),
  ...columnsOf<Row>('answered_by', 'replaced_by', 'as_of', 'up_to'),
};
