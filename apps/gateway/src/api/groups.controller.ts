import { Controller, Get, HttpStatus, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined, PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Intake, type Acknowledgement } from '../intake/intake.js';
import { acknowledgementOf } from './acknowledgement.js';
import { groupAnswer } from './group-answer.js';
import type { group, groupPage } from './group-answers.js';
import { jsonBody } from './json-body.js';
import { pageOf } from './list-cursor.js';
import { groupListParameters, parameters, resumptionBody, uuidParameter } from './parameters.js';
import { GroupById, ListGroups } from './queries.js';
import { snakeCase } from './snake-case.js';

/** Groups of documents that the registry processes in order, and the way on from one that halted. */
@Controller('v1/groups')
export class GroupsController {
  constructor(
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(Intake) private readonly intake: Intake,
  ) {}

  @Get()
  @Allow('erp', 'operator', 'auditor')
  async groups(@Query() query: unknown, @Req() request: CallerRequest): Promise<z.infer<typeof groupPage>> {
    const wanted = parameters(groupListParameters, query);
    return pageOf(request, async (cursor) =>
      snakeCase(await this.queries.execute(new ListGroups(defined({ ...wanted, cursor })))),
    );
  }

  @Get(':groupId')
  @Allow('erp', 'operator', 'auditor')
  async group(@Param('groupId') groupId: string): Promise<z.infer<typeof group>> {
    const found = await groupAnswer(this.queries, uuidParameter('groupId', groupId));
    if (found === undefined) throw noGroup(groupId);
    return found;
  }

  /**
   * Resumes a halted group: the corrected member is sent, then the rest in order. The same command as the ERP's
   * `resume_group`.
   */
  @Post(':groupId/resumptions')
  @Allow('erp', 'operator')
  async resume(
    @Param('groupId') groupId: string,
    @Req() request: CallerRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { command_id, account, ...resume } = jsonBody(resumptionBody, request.body);
    const halted = await this.queries.execute(new GroupById(uuidParameter('groupId', groupId)));
    if (halted === undefined) throw noGroup(groupId);
    const body = {
      command_id: command_id ?? `resume-${halted.groupId}`,
      type: 'resume_group' as const,
      ...defined({ account }),
      after: [],
      resume: { group: halted.commandId, ...resume },
    };
    const taken = await this.intake.take(body, request.caller.actor).catch((error: unknown) => {
      throw asGivenHere(error);
    });
    await reply
      .status(taken.repeated ? HttpStatus.OK : HttpStatus.ACCEPTED)
      .header('location', `/v1/groups/${taken.requestId}`)
      .send(acknowledgementOf({ ...taken, ...warningsAsGivenHere(taken) }));
  }
}

const noGroup = (groupId: string): PedigreeError =>
  new PedigreeError('not_found', `no group has the id ${groupId}`, { field: 'groupId', item: groupId });

/** The command that was made of the body has its parts one step deeper: the caller is told what he wrote. */
const fieldGivenHere = (field: string): string => field.replace(/^\/resume/, '');

const warningsAsGivenHere = ({ warnings }: Acknowledgement): Pick<Acknowledgement, 'warnings'> =>
  defined({
    warnings: warnings?.map(({ places, ...warning }) => ({
      ...warning,
      places: places.map(({ field, item }) => ({ field: fieldGivenHere(field), item })),
    })),
  });

function asGivenHere(error: unknown): unknown {
  if (!(error instanceof PedigreeError) || error.place.field?.startsWith('/resume') !== true) return error;
  return new PedigreeError(error.code, fieldGivenHere(error.message), {
    ...error.place,
    field: fieldGivenHere(error.place.field),
  });
}
