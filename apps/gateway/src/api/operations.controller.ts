import { Controller, Get, HttpCode, Inject, Post, Query, Req } from '@nestjs/common';
import type { z } from 'zod';
import type { RecordedChange } from '#configuration';
import { actorShown } from '#event-store';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Operations, parkedKey } from '../operations/operations.js';
import type { Orphan } from '#read-models';
import type { ProgramStanding } from '../programs/program-watch.js';
import type { SubscriptionStanding } from '../programs/subscription-standings.js';
import type { configurationChanges, failedTasks, operationsStatus, orphanList, parkedInstances } from './answers.js';
import { jsonBody } from './json-body.js';
import { configurationParameters, parameters, replanBody, retryBody } from './parameters.js';
import { snakeCase } from './snake-case.js';

/** For operators: how the machinery stands, and what to do with tasks that were given up and with what is parked. */
@Controller('v1/operations')
export class OperationsController {
  constructor(@Inject(Operations) private readonly operations: Operations) {}

  @Get()
  @Allow('operator', 'auditor')
  async status(): Promise<z.infer<typeof operationsStatus>> {
    const { programs, subscriptions, ...rest } = await this.operations.status();
    return {
      ...snakeCase(rest),
      programs: programs.map(programAnswer),
      subscriptions: subscriptions.map(subscriptionAnswer),
    };
  }

  @Get('failed-tasks')
  @Allow('operator', 'auditor')
  async failed(): Promise<z.infer<typeof failedTasks>> {
    const tasks = await this.operations.failedTasks();
    return {
      items: tasks.map(({ key, kind, lane, attempts, failedAt, error }) => ({
        key,
        kind,
        lane,
        attempts,
        failed_at: failedAt.toISOString(),
        error,
      })),
    };
  }

  @Get('parked')
  @Allow('operator', 'auditor')
  async parked(): Promise<z.infer<typeof parkedInstances>> {
    const instances = await this.operations.parked();
    return {
      items: instances.map(({ saga, key, stream, version, position, held, error, attempts, parkedAt, triedAt }) => ({
        key: parkedKey({ saga, key }),
        saga,
        stream,
        version,
        position: position.toString(),
        held,
        error,
        attempts,
        parked_at: parkedAt.toISOString(),
        tried_at: triedAt.toISOString(),
      })),
    };
  }

  @Get('orphans')
  @Allow('operator', 'auditor')
  async orphans(): Promise<z.infer<typeof orphanList>> {
    return { items: (await this.operations.orphans()).map(orphanAnswer) };
  }

  @Post('replans')
  @HttpCode(200)
  @Allow('operator')
  async replan(@Req() request: CallerRequest): Promise<z.infer<typeof orphanList>> {
    const { reason } = jsonBody(replanBody, request.body);
    return { items: (await this.operations.replanOrphans(reason, request.caller.actor)).map(orphanAnswer) };
  }

  @Get('configuration')
  @Allow('auditor', 'operator')
  async configuration(@Query() query: unknown): Promise<z.infer<typeof configurationChanges>> {
    const { changes, hasMore } = await this.operations.configuration(parameters(configurationParameters, query));
    const oldest = changes.at(-1);
    return {
      items: changes.map(changeAnswer),
      ...(hasMore && oldest !== undefined ? { next_before: oldest.version } : {}),
    };
  }

  @Post('retries')
  @HttpCode(204)
  @Allow('operator')
  async retry(@Req() request: CallerRequest): Promise<void> {
    const { key, reason } = jsonBody(retryBody, request.body);
    await this.operations.retry(key, reason, request.caller.actor);
  }
}

type Status = z.infer<typeof operationsStatus>;

const programAnswer = ({ processes, ...program }: ProgramStanding): Status['programs'][number] => ({
  ...program,
  processes: processes.map(({ process, state, startedAt, seenAt }) => ({
    process,
    state,
    started_at: startedAt.toISOString(),
    seen_at: seenAt.toISOString(),
  })),
});

const subscriptionAnswer = ({
  position,
  lag,
  lagUnit,
  updatedAt,
  since,
  ...rest
}: SubscriptionStanding): Status['subscriptions'][number] => ({
  ...rest,
  position: position.toString(),
  lag: lag.toString(),
  lag_unit: lagUnit,
  updated_at: updatedAt.toISOString(),
  ...(since === undefined ? {} : { since: since.toISOString() }),
});

const orphanAnswer = ({ since, version: _, ...rest }: Orphan): z.infer<typeof orphanList>['items'][number] => ({
  ...rest,
  since: since.toISOString(),
});

function changeAnswer({
  state,
  local = {},
  position,
  at,
  actor,
  ...rest
}: RecordedChange): z.infer<typeof configurationChanges>['items'][number] {
  const { kind, name, authenticatedBy } = actorShown(actor);
  return {
    ...snakeCase(rest),
    position: position.toString(),
    at: at.toISOString(),
    actor: { kind, name, authenticated_by: authenticatedBy },
    fields: Object.keys(state).length,
    local: Object.entries(local).map(([field, value]) => ({ field, value })),
  };
}
