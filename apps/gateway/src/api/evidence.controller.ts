import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { documentStream } from '#domain';
import type { EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, isSha256, PedigreeError } from '#kernel';
import { digestsIn, historyOf } from '#read-models';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { AccessLog } from '../access/access-log.js';
import { evidenceParameters } from './access-parameters.js';
import { parameters } from './parameters.js';
import { EVIDENCE, STORE } from './queries.js';

/** Evidence, byte for byte. Who opened it is in the log before its bytes go out. */
@Controller('v1/evidence')
export class EvidenceController {
  constructor(
    @Inject(EVIDENCE) private readonly evidence: EvidenceStore,
    @Inject(STORE) private readonly store: EventStore,
    @Inject(AccessLog) private readonly accessLog: AccessLog,
  ) {}

  @Get(':sha256')
  @Allow('operator', 'auditor')
  async blob(@Req() request: CallerRequest, @Res() reply: FastifyReply): Promise<void> {
    const { sha256 } = request.params as { sha256: string };
    if (!isSha256(sha256))
      throw new PedigreeError('invalid_parameter', 'sha256: must be 64 lower-case hexadecimal digits', {
        field: 'sha256',
        item: sha256,
      });
    const { document, reason } = parameters(evidenceParameters, request.query);
    const blob = await this.evidence.get(sha256);
    if (blob === undefined)
      throw new PedigreeError('not_found', `no evidence ${sha256}`, { field: 'sha256', item: sha256 });
    if (document !== undefined) await this.refuseUnnamed(sha256, document);
    const opened = { openedSha256: sha256, mediaType: blob.mediaType, byteLength: blob.bytes.length };
    const address = request.raw.socket.remoteAddress ?? 'unknown';
    const by = { actor: request.caller.actor, reason };
    await this.accessLog.evidenceOpened({ ...opened, ...defined({ document }), address }, by);
    await sendBlob(reply, sha256, blob);
  }

  /** The log would tell of a document that has nothing to do with it. */
  private async refuseUnnamed(sha256: string, document: string): Promise<void> {
    const events = await historyOf(this.store, documentStream(document));
    if (!events.some(({ data }) => digestsIn(data).includes(sha256)))
      throw new PedigreeError('invalid_parameter', `document: ${document} names no evidence ${sha256}`, {
        field: 'document',
        item: document,
      });
  }
}

type Blob = NonNullable<Awaited<ReturnType<EvidenceStore['get']>>>;

/** Evidence is foreign text: never rendered by a browser, always offered as a file. */
async function sendBlob(reply: FastifyReply, sha256: string, { mediaType, bytes }: Blob): Promise<void> {
  await reply
    .header('content-type', mediaType)
    .header('content-disposition', `attachment; filename="${sha256}"`)
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', "default-src 'none'; sandbox")
    .send(bytes);
}
