import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PedigreeError } from '#kernel';
import { openApiDocument } from './openapi.js';

const FILES: Record<string, string> = { 'swagger-ui.css': 'text/css', 'swagger-ui-bundle.js': 'text/javascript' };

const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Pedigree API</title><link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="ui"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script></body>
</html>`;
const START = `SwaggerUIBundle({ url: '/v1/openapi.json', dom_id: '#ui' });`;

/** The API's description (OpenAPI 3.1) and a page to read it. */
@Controller()
export class DocumentationController {
  private readonly folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

  @Get('v1/openapi.json')
  openApi(): object {
    return openApiDocument();
  }

  @Get('docs')
  async page(@Res() reply: FastifyReply): Promise<void> {
    await reply.header('content-type', 'text/html; charset=utf-8').send(PAGE);
  }

  @Get('docs/:file')
  async file(@Param('file') file: string, @Res() reply: FastifyReply): Promise<void> {
    if (file === 'start.js') return void (await reply.header('content-type', 'text/javascript').send(START));
    const mediaType = FILES[file];
    if (mediaType === undefined) throw new PedigreeError('not_found', `no file ${file}`);
    await reply.header('content-type', mediaType).send(createReadStream(join(this.folder, file)));
  }
}
