import { Controller, HttpCode, HttpStatus, Inject, Post, Req } from '@nestjs/common';
import type { z } from 'zod';
import type { DocumentJson, SchemaSets } from '#documents';
import { PedigreeError } from '#kernel';
import { Allow, type CallerRequest } from '../access/access.guard.js';
import { isXml } from './body-limits.js';
import { jsonBody } from './json-body.js';
import { SCHEMAS } from './queries.js';
import { validateBody, validatedJson, validatedXml, type validation } from './validation.js';

/** Says all that is wrong with a document, and neither keeps nor sends it. */
@Controller('v1')
export class ValidateController {
  constructor(@Inject(SCHEMAS) private readonly schemas: SchemaSets) {}

  @Post('validate')
  @HttpCode(HttpStatus.OK)
  @Allow('erp', 'operator', 'auditor')
  validate(@Req() request: CallerRequest): z.infer<typeof validation> {
    const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
    if (body.length === 0) throw new PedigreeError('missing_body', 'send a document, as XML or as JSON', { field: '' });
    if (isXml(request)) return validatedXml(body, this.schemas);
    return validatedJson(jsonBody(validateBody, body) as DocumentJson, this.schemas);
  }
}
