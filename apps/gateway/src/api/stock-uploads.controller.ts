import { Controller, Get, HttpCode, HttpStatus, Inject, Param, Post, Put, Req } from '@nestjs/common';
import type { z } from 'zod';
import { PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { StockUploads } from '../stock-uploads/stock-uploads.js';
import { jsonBody } from './json-body.js';
import { uuidParameter } from './parameters.js';
import { snakeCase } from './snake-case.js';
import type { stockUpload } from './stock-upload-answers.js';
import { contentDigest, partNumber, stockUploadBody } from './stock-upload-parameters.js';

type Answer = z.infer<typeof stockUpload>;

/** Stock files of whoever cannot write into the folder of the reconciler. */
@Controller('v1/stock-uploads')
export class StockUploadsController {
  constructor(@Inject(StockUploads) private readonly uploads: StockUploads) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @Allow('erp', 'operator')
  async begin(@Req() request: CallerRequest): Promise<Answer> {
    const { moment = null, ...file } = jsonBody(stockUploadBody, request.body);
    return snakeCase(await this.uploads.begin({ ...file, moment }, request.caller.actor));
  }

  @Get(':uploadId')
  @Allow('erp', 'operator', 'auditor')
  async show(@Param('uploadId') id: string): Promise<Answer> {
    return snakeCase(await this.uploads.one(uuidParameter('uploadId', id)));
  }

  @Put(':uploadId/parts/:n')
  @HttpCode(HttpStatus.NO_CONTENT)
  @Allow('erp', 'operator')
  async put(@Param('uploadId') id: string, @Param('n') n: string, @Req() request: CallerRequest): Promise<void> {
    const { body, headers } = request;
    const sha256 = contentDigest(headers['content-digest']);
    if (!Buffer.isBuffer(body) || headers['content-type']?.startsWith('application/octet-stream') !== true)
      throw new PedigreeError('missing_body', 'the bytes of the part are missing: send application/octet-stream');
    await this.uploads.put(uuidParameter('uploadId', id), partNumber(n), { bytes: body, sha256 });
  }

  @Post(':uploadId/finish')
  @HttpCode(HttpStatus.OK)
  @Allow('erp', 'operator')
  async finish(@Param('uploadId') id: string, @Req() request: CallerRequest): Promise<Answer> {
    return snakeCase(await this.uploads.finish(uuidParameter('uploadId', id), request.caller.actor));
  }
}
