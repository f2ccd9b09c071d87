import { Controller, Get, HttpStatus, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { z } from 'zod';
import { PedigreeError } from '#kernel';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { parseCommand } from '../intake/command-body.js';
import { ArrivalOrder, type Place } from '../intake/arrival-order.js';
import { Intake } from '../intake/intake.js';
import { acknowledgementOf } from './acknowledgement.js';
import type { commandAnswer } from './answers.js';
import { MAX_COMMAND_BYTES, type BodyLimits, type ReadRequest } from './body-limits.js';
import { groupAnswer, isGroupKind } from './group-answer.js';
import { documentAnswer } from './document-answer.js';
import { arriving, linesOf, type Line } from './ndjson.js';
import { commandParameters, commandPath, parameters } from './parameters.js';
import { reportProblem } from './problem.filter.js';
import { inTraceOf } from '../watch/caller-trace.js';
import { BODY_LIMITS, FindCommand, LOG } from './queries.js';
import { resultsOf } from './result-lines.js';

/** Commands of one NDJSON body that are under way at once. */
const NDJSON_CONCURRENCY = 64;
/**
 * Their bytes together, as a part of what all bodies may hold: a client that sends large ones waits a little instead of
 * filling the memory for all.
 */
const NDJSON_PART = 1 / 8;

@Controller('v1/commands')
export class CommandsController {
  constructor(
    @Inject(Intake) private readonly intake: Intake,
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(LOG) private readonly log: ServiceLog,
    @Inject(BODY_LIMITS) private readonly limits: BodyLimits,
  ) {}

  /**
   * One command as JSON: 202, or 200 for a repeat. Many as NDJSON: 200 and a line of result for each line, in their
   * order.
   */
  @Post()
  @Allow('erp', 'operator')
  async post(@Req() request: CallerRequest, @Query() query: unknown, @Res() reply: FastifyReply): Promise<void> {
    const { account } = parameters(commandParameters, query);
    if (request.headers['content-type']?.startsWith('application/x-ndjson'))
      return this.postLines(request, account, reply);
    const command = parseCommand((request.body as Buffer | undefined) ?? Buffer.alloc(0), account);
    const taken = await inTraceOf(request.headers.traceparent, () => this.intake.take(command, request.caller.actor));
    const location = `/v1/commands/${encodeURIComponent(taken.commandId)}`;
    await reply
      .status(taken.repeated ? HttpStatus.OK : HttpStatus.ACCEPTED)
      .header('location', location)
      .send(acknowledgementOf(taken));
  }

  /** What became of a command: its document, or its group, as it stands. */
  @Get(':commandId')
  @Allow('erp', 'operator', 'auditor')
  async show(@Param() path: unknown): Promise<z.infer<typeof commandAnswer>> {
    const { commandId } = parameters(commandPath, path);
    const command = await this.queries.execute(new FindCommand({ commandId }));
    if (command !== undefined && isGroupKind(command.kind)) {
      const group = await groupAnswer(this.queries, command.requestId, command);
      if (group !== undefined) return { command_id: commandId, request_id: command.requestId, group };
    }
    const document = command === undefined ? undefined : await documentAnswer(this.queries, command.requestId, command);
    if (command === undefined || document === undefined)
      throw new PedigreeError('not_found', `no command ${commandId} was acknowledged`, {
        field: 'commandId',
        item: commandId,
      });
    return { command_id: commandId, request_id: command.requestId, document };
  }

  private async postLines(request: CallerRequest, account: string | undefined, reply: FastifyReply): Promise<void> {
    const { idleMs, maxUnreadResults, readPatienceMs, mostHeldBytes } = this.limits;
    const { bodyShare } = request as CallerRequest & ReadRequest;
    const lines = linesOf(arriving(request.body as Readable, idleMs), MAX_COMMAND_BYTES, bodyShare);
    const first = await lines.next();
    if (first.done === true)
      throw new PedigreeError('missing_body', 'the body holds no line; send one command a line', { field: '' });
    const { method, url } = request;
    const order = new ArrivalOrder();
    const results = resultsOf(startingWith(first.value, lines), {
      concurrency: NDJSON_CONCURRENCY,
      maxBytesUnderWay: mostHeldBytes * NDJSON_PART,
      giveBack: (bytes) => bodyShare.giveBack(bytes),
      maxUnread: maxUnreadResults,
      patienceMs: readPatienceMs,
      take: (line) => this.takeLine(line, request, { account, place: order.place() }),
      refusal: (error) => ({ error: reportProblem(error, this.log, { method, url }) }),
    });
    await reply
      .status(HttpStatus.OK)
      .header('content-type', 'application/x-ndjson')
      .send(Readable.from(asText(results)));
  }

  private async takeLine(
    { line, bytes }: Line,
    request: CallerRequest,
    { account, place }: { account: string | undefined; place: Place },
  ): Promise<object> {
    const { method, url, caller } = request;
    try {
      await request.stillAllowed();
      if (bytes === 'no_room') throw (request as CallerRequest & ReadRequest).bodyShare.full();
      if (bytes === 'too_long')
        throw new PedigreeError(
          'body_too_large',
          `longer than ${MAX_COMMAND_BYTES} bytes; a longer command goes by itself, as JSON`,
        );
      const taken = await this.intake.take(parseCommand(bytes, account), caller.actor, { place });
      return { line, ...acknowledgementOf(taken) };
    } catch (error) {
      return { line, error: reportProblem(error, this.log, { method, url, line }) };
    } finally {
      place.leave();
    }
  }
}

async function* startingWith(first: Line, rest: AsyncIterable<Line>): AsyncGenerator<Line> {
  yield first;
  yield* rest;
}

async function* asText(results: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const result of results) yield `${JSON.stringify(result)}\n`;
}
