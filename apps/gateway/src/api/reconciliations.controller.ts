import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined } from '#kernel';
import { wordsForFinding, type Finding, type RunShown } from '#reconciliation';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Reconciliations } from '../reconciliations/reconciliations.js';
import { jsonBody } from './json-body.js';
import {
  parameters,
  reconciliationBody,
  reconciliationFindingParameters,
  reconciliationListParameters,
  reconciliationPath,
} from './parameters.js';
import type { reconciliation, reconciliationDetail, reconciliationPage } from './reconciliation-answers.js';
import { snakeCase } from './snake-case.js';

/** Comparisons of what we hold with what the registry shows. */
@Controller('v1/reconciliations')
export class ReconciliationsController {
  constructor(@Inject(Reconciliations) private readonly reconciliations: Reconciliations) {}

  @Post()
  @HttpCode(202)
  @Allow('operator')
  async request(
    @Req() request: CallerRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof reconciliation>> {
    const { reason } = jsonBody(reconciliationBody, request.body);
    const run = await this.reconciliations.request(reason, request.caller.actor);
    void reply.header('location', `/v1/reconciliations/${run.runId}`);
    return runAnswer(run);
  }

  @Get()
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown): Promise<z.infer<typeof reconciliationPage>> {
    const { runs, next } = await this.reconciliations.list(parameters(reconciliationListParameters, query));
    return { items: runs.map(runAnswer), ...defined({ next_before: next }) };
  }

  @Get(':runId')
  @Allow('operator', 'auditor')
  async show(@Param() path: unknown, @Query() query: unknown): Promise<z.infer<typeof reconciliationDetail>> {
    const { runId } = parameters(reconciliationPath, path);
    const page = parameters(reconciliationFindingParameters, query);
    const run = await this.reconciliations.find(runId);
    const found = await this.reconciliations.findings(run, page);
    const last = found.at(-1);
    return {
      ...runAnswer(run),
      findings: found.map(findingAnswer),
      ...(found.length === page.limit && last !== undefined ? { next_after: last.n } : {}),
    };
  }
}

function runAnswer(run: RunShown): z.infer<typeof reconciliation> {
  const { runId, kind, state, requestedAt, actor, reason, started, completed, completedAt, findingsRemovedAt } = run;
  const request = {
    id: runId,
    kind,
    state,
    requested_at: requestedAt.toISOString(),
    requested_by: actor.name,
    reason,
    ...defined({ problem: run.problem, progress: state === 'requested' ? run.progress : undefined }),
    ...(findingsRemovedAt === undefined ? {} : { findings_removed_at: findingsRemovedAt.toISOString() }),
  };
  if (run.packs !== undefined && completedAt !== undefined)
    return { ...request, packs: packsAnswer(run.packs, completedAt) };
  if (started === undefined || completed === undefined || completedAt === undefined) return request;
  const { asOf, positions, inputsDigest } = started;
  const { findings, counts, notOurs, digest } = completed;
  return {
    ...request,
    result: {
      completed_at: completedAt.toISOString(),
      as_of: asOf,
      positions,
      inputs_digest: inputsDigest,
      findings,
      counts: snakeCase(counts),
      not_ours: notOurs,
      digest,
    },
  };
}

function packsAnswer(
  { started, completed }: NonNullable<RunShown['packs']>,
  completedAt: Date,
): NonNullable<z.infer<typeof reconciliation>['packs']> {
  const { moment, places, sides, recordAt, inputsDigest } = started;
  const { findings, counts, quieted, unseen, calls, digest } = completed;
  return {
    ...{ completed_at: completedAt.toISOString(), as_of: moment, places, sides: defined(sides) },
    ...defined({ record_at: recordAt }),
    ...{ inputs_digest: inputsDigest, findings, counts, explained: quieted, not_looked_for: unseen, calls, digest },
  };
}

function findingAnswer({
  n,
  finding,
}: {
  n: number;
  finding: Finding;
}): z.infer<typeof reconciliationDetail>['findings'][number] {
  const { kind, reasonCode, requestId, documentId, account, docType, detail } = finding;
  return {
    n,
    kind,
    reason_code: reasonCode,
    request_id: requestId,
    ...defined({ document_id: documentId, account, doc_type: docType }),
    ...wordsForFinding(finding),
    detail: snakeCase(detail),
  };
}
