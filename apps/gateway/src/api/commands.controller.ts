import { Controller, Get, HttpStatus, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import type { Caller } from '../access/api-keys.js';
import { parseCommand } from '../intake/command-body.js';
import { Intake, type Acknowledgement } from '../intake/intake.js';
import { linesOf } from './ndjson.js';
import { asPedigreeError, problemOf } from './problem.filter.js';
import { DocumentByRequestId, RequestIdOfCommand } from './queries.js';

/** Commands of one NDJSON body that are under way at once. */
const NDJSON_CONCURRENCY = 64;
export const MAX_COMMAND_BYTES = 8 * 1024 * 1024;

@Controller('v1/commands')
export class CommandsController {
  constructor(
    @Inject(Intake) private readonly intake: Intake,
    @Inject(QueryBus) private readonly queries: QueryBus,
  ) {}

  /** One command as JSON: 202, or 200 for a repeat. Many as NDJSON: 200 and a line of result for each line, in their order. */
  @Post()
  @Allow('erp', 'operator')
  async post(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    if (request.headers['content-type']?.startsWith('application/x-ndjson')) {
      const results = this.takeLines(request.body as Readable, request.caller);
      await reply.status(HttpStatus.OK).header('content-type', 'application/x-ndjson').send(Readable.from(results));
      return;
    }
    const command = parseCommand((request.body as Buffer | undefined) ?? Buffer.alloc(0));
    const taken = await this.intake.take(command, request.caller.actor);
    const location = `/v1/commands/${encodeURIComponent(taken.commandId)}`;
    await reply.status(taken.repeated ? HttpStatus.OK : HttpStatus.ACCEPTED).header('location', location).send(acknowledgementBody(taken));
  }

  /** What became of a command: its document as it stands. */
  @Get(':commandId')
  @Allow('erp', 'operator', 'auditor')
  async show(@Param('commandId') commandId: string): Promise<object> {
    const requestId = await this.queries.execute<RequestIdOfCommand, string | undefined>(new RequestIdOfCommand(commandId));
    if (requestId === undefined) throw new PedigreeError('not_found', `no command ${commandId} was acknowledged`, { field: 'commandId', item: commandId });
    const document = await this.queries.execute<DocumentByRequestId, object | undefined>(new DocumentByRequestId(requestId));
    return { command_id: commandId, request_id: requestId, document: document ?? null };
  }

  private async *takeLines(body: Readable, caller: Caller): AsyncGenerator<string> {
    const underWay: Promise<object>[] = [];
    try {
      for await (const { line, bytes } of linesOf(body, MAX_COMMAND_BYTES)) {
        underWay.push(this.takeLine(line, bytes, caller));
        if (underWay.length >= NDJSON_CONCURRENCY) yield `${JSON.stringify(await underWay.shift())}\n`;
      }
    } catch (error) {
      underWay.push(Promise.resolve({ error: problemOf(asPedigreeError(error)) }));
    }
    while (underWay.length > 0) yield `${JSON.stringify(await underWay.shift())}\n`;
  }

  private async takeLine(line: number, bytes: Buffer, caller: Caller): Promise<object> {
    try {
      return { line, ...acknowledgementBody(await this.intake.take(parseCommand(bytes), caller.actor)) };
    } catch (error) {
      const known = asPedigreeError(error);
      return { line, error: problemOf(new PedigreeError(known.code, `line ${line}: ${known.message}`, { ...known.place, line })) };
    }
  }
}

const acknowledgementBody = (taken: Acknowledgement) => ({
  command_id: taken.commandId,
  request_id: taken.requestId,
  repeated: taken.repeated,
  document: `/v1/documents/${taken.requestId}`,
});
