import { Controller, Get, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PedigreeError } from '#kernel';
import { INSTALLATION_ID } from './queries.js';

/** A map, and no object: in an object any caller finds `constructor`. */
const MEDIA_TYPES = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
]);

const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Pedigree API</title><link rel="icon" href="data:,"><link rel="stylesheet" \
href="/docs/swagger-ui.css"></head>
<body><div id="ui"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script></body>
</html>`;
const START = `SwaggerUIBundle({ url: '/v1/openapi.json', dom_id: '#ui' });`;

/**
 * The page's own scripts and nothing else, in no frame; what it draws itself has styles in place. Its questions go to
 * this API alone.
 */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src " +
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

/**
 * The build lays the page's files beside the program (apps/cli/bin/compile.mjs); the sources take them from the
 * package, which is one of development.
 */
const filesFolder = (): string =>
  import.meta.url.endsWith('.ts')
    ? dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    : fileURLToPath(new URL('../../swagger-ui', import.meta.url));

/** The API's description (OpenAPI 3.1) and a page to read it. */
@Controller()
export class DocumentationController {
  private readonly held = new Map<string, Buffer>();
  private description: Buffer | undefined;
  private readonly folder = filesFolder();

  constructor(@Inject(INSTALLATION_ID) private readonly installationId: string) {}

  @Get('v1/openapi.json')
  async openApi(@Res() reply: FastifyReply): Promise<void> {
    // Anybody may ask, without a key: it is made once, at the first question, for the start need not wait for it.
    const { openApiDocument } = await import('./openapi.js');
    this.description ??= Buffer.from(JSON.stringify(openApiDocument(this.installationId)));
    await reply.header('content-type', 'application/json; charset=utf-8').send(this.description);
  }

  @Get('docs')
  async page(@Res() reply: FastifyReply): Promise<void> {
    await reply.headers(HEADERS).header('content-type', 'text/html; charset=utf-8').send(PAGE);
  }

  @Get('docs/:file')
  async file(@Param('file') file: string, @Res() reply: FastifyReply): Promise<void> {
    if (file === 'start.js')
      return void (await reply.headers(HEADERS).header('content-type', 'text/javascript').send(START));
    const mediaType = MEDIA_TYPES.get(file);
    if (mediaType === undefined) throw new PedigreeError('not_found', `no file ${file}`);
    await reply
      .headers(HEADERS)
      .header('content-type', mediaType)
      .send(await this.bytesOf(file));
  }

  /**
   * Read once and whole: a stream that fails before anybody listens to it would end the process, and a copy for each
   * reader would fill the memory.
   */
  private async bytesOf(file: string): Promise<Buffer> {
    const bytes = this.held.get(file) ?? (await readFile(join(this.folder, file)));
    this.held.set(file, bytes);
    return bytes;
  }
}
