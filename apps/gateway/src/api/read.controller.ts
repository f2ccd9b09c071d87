import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import type { EvidenceStore } from '#evidence';
import { isSgtin, isSha256, isUuid, PedigreeError } from '#kernel';
import type { DocumentListQuery, DocumentSummary, OutcomeCounts, Page } from '#read-models';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { asNdjson } from './ndjson.js';
import { documentListParameters, historyParameters, parameters } from './parameters.js';
import { CountOutcomes, DocumentByRequestId, EVIDENCE, HistoryOfSgtin, ListDocuments } from './queries.js';

/** What auditors, operators and the ERP read. Lists stream as NDJSON when the caller accepts application/x-ndjson. */
@Controller('v1')
export class ReadController {
  constructor(
    @Inject(QueryBus) private readonly queries: QueryBus,
    @Inject(EVIDENCE) private readonly evidence: EvidenceStore,
  ) {}

  @Get('documents')
  @Allow('erp', 'operator', 'auditor')
  async documents(@Query() query: unknown, @Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { doc_type, registered_from, registered_to, ...rest } = parameters(documentListParameters, query);
    const wanted = withoutUndefined({ ...rest, docType: doc_type, registeredFrom: registered_from, registeredTo: registered_to }) as DocumentListQuery;
    const page = (cursor = wanted.cursor) =>
      this.queries.execute<ListDocuments, Page<DocumentSummary>>(new ListDocuments(cursor === undefined ? wanted : { ...wanted, cursor }));
    if (request.headers.accept?.includes('application/x-ndjson')) {
      await reply.header('content-type', 'application/x-ndjson').send(Readable.from(asNdjson(page)));
      return;
    }
    await reply.send(await page());
  }

  @Get('documents/:requestId')
  @Allow('erp', 'operator', 'auditor')
  async document(@Param('requestId') requestId: string): Promise<object> {
    if (!isUuid(requestId)) throw new PedigreeError('invalid_parameter', `requestId: ${requestId} is not a UUID`, { field: 'requestId', item: requestId });
    const document = await this.queries.execute<DocumentByRequestId, object | undefined>(new DocumentByRequestId(requestId.toLowerCase()));
    if (document === undefined) throw new PedigreeError('not_found', `no document has request_id ${requestId}`, { field: 'requestId', item: requestId });
    return document;
  }

  @Get('summary')
  @Allow('erp', 'operator', 'auditor')
  summary(): Promise<OutcomeCounts> {
    return this.queries.execute<CountOutcomes, OutcomeCounts>(new CountOutcomes());
  }

  @Get('packs/:sgtin/history')
  @Allow('operator', 'auditor')
  async history(@Param('sgtin') sgtin: string, @Query() query: unknown): Promise<object> {
    if (!isSgtin(sgtin)) {
      throw new PedigreeError('invalid_identifier', `${sgtin} is no SGTIN: 14 digits and 13 letters or digits`, { field: 'sgtin', item: sgtin });
    }
    const { as_of, known_at } = parameters(historyParameters, query);
    const history = await this.queries.execute<HistoryOfSgtin, object | undefined>(new HistoryOfSgtin(sgtin, withoutUndefined({ asOf: as_of, knownAt: known_at })));
    if (history === undefined) throw new PedigreeError('not_found', `no document of ours has named ${sgtin}`, { field: 'sgtin', item: sgtin });
    return history;
  }

  @Get('evidence/:sha256')
  @Allow('operator', 'auditor')
  async blob(@Param('sha256') sha256: string, @Res() reply: FastifyReply): Promise<void> {
    if (!isSha256(sha256)) throw new PedigreeError('invalid_parameter', 'sha256: must be 64 lower-case hexadecimal digits', { field: 'sha256', item: sha256 });
    const blob = await this.evidence.get(sha256);
    if (blob === undefined) throw new PedigreeError('not_found', `no evidence ${sha256}`, { field: 'sha256', item: sha256 });
    // Evidence is foreign text: never rendered by a browser, always offered as a file.
    await reply
      .header('content-type', blob.mediaType)
      .header('content-disposition', `attachment; filename="${sha256}"`)
      .header('x-content-type-options', 'nosniff')
      .header('content-security-policy', "default-src 'none'; sandbox")
      .send(blob.bytes);
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

const withoutUndefined = <T extends object>(value: T): Partial<Defined<T>> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Partial<Defined<T>>;
