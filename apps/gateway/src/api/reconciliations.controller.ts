import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { defined } from '#kernel';
import { foreignCursor } from '#read-models';
import { FINDING_COLUMNS, wordsForFinding, type Finding, type FindingRow, type RunShown } from '#reconciliation';
import type { ServiceLog } from '#service';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { Reconciliations } from '../reconciliations/reconciliations.js';
import { jsonBody } from './json-body.js';
import {
  parameters,
  reconciliationFindingParameters,
  reconciliationListParameters,
  reconciliationPath,
} from './parameters.js';
import type { reconciliation, reconciliationDetail, reconciliationPage } from './reconciliation-answers.js';
import { columnsOf, type Columns } from './columns.js';
import type { Page } from './ndjson.js';
import { LOG } from './queries.js';
import { findingListParameters, reconciliationBody, refuseOfOtherKind } from './reconciliation-parameters.js';
import { sendList } from './send-list.js';
import { snakeCase } from './snake-case.js';

type DocumentFinding = NonNullable<z.infer<typeof reconciliationDetail>['findings']>[number];

function numberIn(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor);
  throw foreignCursor();
}

/** Comparisons of what we hold with what the registry shows. */
@Controller('v1/reconciliations')
export class ReconciliationsController {
  constructor(
    @Inject(Reconciliations) private readonly reconciliations: Reconciliations,
    @Inject(LOG) private readonly log: ServiceLog,
  ) {}

  @Post()
  @HttpCode(202)
  @Allow('operator')
  async request(
    @Req() request: CallerRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof reconciliation>> {
    const { reason, packs } = jsonBody(reconciliationBody, request.body);
    const { actor } = request.caller;
    const run = await (packs === undefined
      ? this.reconciliations.request(reason, actor)
      : this.reconciliations.requestPacks(reason, packs, actor));
    void reply.header('location', `/v1/reconciliations/${run.runId}`);
    return runAnswer(run);
  }

  @Get()
  @Allow('operator', 'auditor')
  async list(@Query() query: unknown): Promise<z.infer<typeof reconciliationPage>> {
    const { runs, next } = await this.reconciliations.list(parameters(reconciliationListParameters, query));
    return { items: runs.map(runAnswer), ...defined({ next_before: next }) };
  }

  @Get(':runId/findings')
  @Allow('operator', 'auditor')
  async findings(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { runId } = parameters(reconciliationPath, request.params);
    const asked = parameters(findingListParameters, query);
    const run = await this.reconciliations.findWithFindings(runId);
    refuseOfOtherKind(asked, run.kind);
    const call = { request, reply, log: this.log };
    if (run.kind === 'packs') {
      const pageAfter = (cursor?: string) => this.reconciliations.packFindings(run, { ...asked, cursor });
      return sendList(call, pageAfter, PACK_COLUMNS);
    }
    const pageAfter = async (cursor?: string): Promise<Page<DocumentFinding>> => {
      const found = await this.reconciliations.findings(run, { ...asked, after: numberIn(cursor) });
      const last = found.length === asked.limit ? found.at(-1)?.n : undefined;
      return { items: found.map(findingAnswer), ...(last === undefined ? {} : { next_cursor: String(last) }) };
    };
    return sendList(call, pageAfter, DOCUMENT_COLUMNS);
  }

  @Get(':runId')
  @Allow('operator', 'auditor')
  async show(@Param() path: unknown, @Query() query: unknown): Promise<z.infer<typeof reconciliationDetail>> {
    const { runId } = parameters(reconciliationPath, path);
    const page = parameters(reconciliationFindingParameters, query);
    const run = await this.reconciliations.find(runId);
    // An empty list would say that nothing was found.
    if (run.kind === 'packs') return runAnswer(run);
    const found = await this.reconciliations.findings(run, page);
    const last = found.at(-1);
    return {
      ...runAnswer(run),
      findings: found.map(findingAnswer),
      ...(found.length === page.limit && last !== undefined ? { next_after: last.n } : {}),
    };
  }
}

const DOCUMENT_COLUMNS: Columns<DocumentFinding> = {
  ...columnsOf<DocumentFinding>('n', 'kind', 'reason_code', 'request_id', 'document_id', 'account', 'doc_type'),
  ...columnsOf<DocumentFinding>('sentence', 'remedy'),
  detail: ({ detail }) => JSON.stringify(detail),
};
const PACK_COLUMNS: Columns<FindingRow> = Object.fromEntries(
  FINDING_COLUMNS.map((name) => [name, (row: FindingRow) => row[name] ?? undefined]),
);

function runAnswer(run: RunShown): z.infer<typeof reconciliation> {
  const { runId, kind, state, requestedAt, actor, reason, started, completed, completedAt, findingsRemovedAt } = run;
  const request = {
    id: runId,
    kind,
    state,
    requested_at: requestedAt.toISOString(),
    requested_by: actor.name,
    reason,
    ...defined({ problem: run.problem }),
    ...(state === 'requested' ? defined({ progress: run.progress, estimate: estimateOf(run) }) : {}),
    ...(run.dryRun === true ? { dry_run: true as const } : {}),
    ...(findingsRemovedAt === undefined ? {} : { findings_removed_at: findingsRemovedAt.toISOString() }),
  };
  if (run.packs !== undefined && completedAt !== undefined)
    return { ...request, packs: packsAnswer(run.packs, completedAt) };
  if (started === undefined || completed === undefined || completedAt === undefined) return request;
  const { asOf, positions, inputsDigest } = started;
  const { findings, findingsLeftOut, counts, notOurs, digest } = completed;
  return {
    ...request,
    result: {
      completed_at: completedAt.toISOString(),
      as_of: asOf,
      positions,
      inputs_digest: inputsDigest,
      findings,
      ...defined({ findings_left_out: findingsLeftOut }),
      counts: snakeCase(counts),
      not_ours: notOurs,
      digest,
    },
  };
}

const estimateOf = ({ estimate }: RunShown) => (estimate === undefined ? undefined : snakeCase(estimate));

function packsAnswer(
  { started, completed }: NonNullable<RunShown['packs']>,
  completedAt: Date,
): NonNullable<z.infer<typeof reconciliation>['packs']> {
  const { moment, places, sides, recordAt, standsOn, inputsDigest, registryUnconfirmed } = started;
  const { findings, counts, quieted, unseen, registryNamedOnly, calls, reading, digest } = completed;
  return {
    ...{ completed_at: completedAt.toISOString(), as_of: moment, places, sides: defined(sides) },
    ...defined({ record_at: recordAt, stands_on: standsOn, registry_unconfirmed: registryUnconfirmed }),
    ...defined({ registry_named_only: registryNamedOnly, reading: reading && snakeCase(reading) }),
    ...{ inputs_digest: inputsDigest, findings, counts, explained: quieted, not_looked_for: unseen, calls, digest },
  };
}

function findingAnswer({ n, finding }: { n: number; finding: Finding }): DocumentFinding {
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
