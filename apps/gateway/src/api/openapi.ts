import { z } from 'zod';
import { commandBody } from '../intake/command-body.js';
import { DEFAULT_BODY_LIMITS } from './body-limits.js';
import { accessPaths } from './openapi-access.js';
import { casePaths } from './openapi-cases.js';
import { stockUploadPaths } from './openapi-stock-uploads.js';
import { suspensionPaths } from './openapi-suspensions.js';
import { documentPaths } from './openapi-documents.js';
import { evidencePaths } from './openapi-evidence.js';
import { pathExamples } from './openapi-examples.js';
import { operationPaths } from './openapi-operations.js';
import { packPaths } from './openapi-packs.js';
import { outcomePaths } from './openapi-outcomes.js';
import { reportPaths } from './openapi-reports.js';
import { answerSchemas, problemSchema, TAGS } from './openapi-parts.js';

const { mostHeldBytes } = DEFAULT_BODY_LIMITS;
const ABOUT = `Commands to, and answers about, the registry of marked medicines. The key is asked before a body is \
read. The bodies of all requests together hold at most ${mostHeldBytes} bytes in memory: one that does not fit in is \
answered 503 \`backlog_full\` with Retry-After, on any route that takes a body; 413, 415 and 408 are said for bodies \
that are too large, of another type, or too slow.

The examples are of the sandbox and its sample world: with \`npm start\` they work as they stand, those of \`POST \
/v1/commands\` first, and the ids in the other routes are those of their documents. A registry of the state gets what \
you send here, so do not try them there.`;

const paths = {
  ...documentPaths,
  ...outcomePaths,
  ...packPaths,
  ...evidencePaths,
  ...reportPaths,
  ...casePaths,
  ...accessPaths,
  ...suspensionPaths,
  ...stockUploadPaths,
  ...operationPaths,
} as unknown as Record<string, Record<string, Operation>>;

/** Query parameters of a route by their names, as of GET `/v1/documents/{requestId}`; undefined where nothing tells. */
export function queryParametersOf(method: string, path: string): ReadonlySet<string> | undefined {
  const operation = paths[path]?.[method.toLowerCase()];
  return operation && new Set(operation.parameters?.flatMap((one) => (one.in === 'query' ? [one.name] : [])));
}

/** The paths, each parameter in them with the id that the examples have made in this installation. */
function pathsWithExamples(installationId: string): object {
  const examples = pathExamples(installationId);
  const filled = (operation: Operation): Operation => {
    const parameters = operation.parameters?.map((one) => {
      const example = one.in === 'path' ? examples[operation.operationId]?.[one.name] : undefined;
      return example === undefined ? one : { ...one, example };
    });
    return { ...operation, ...(parameters === undefined ? {} : { parameters }) };
  };
  const entries = Object.entries(paths);
  return Object.fromEntries(
    entries.map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, one]) => [method, filled(one)])),
    ]),
  );
}

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
}

/**
 * The API as OpenAPI 3.1. Request shapes come from the very schemas that check the requests; examples name what they
 * make in this installation.
 */
export function openApiDocument(installationId: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pedigree',
      version: '1',
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This gateway' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: pathsWithExamples(installationId),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key. Until the first one is made none is needed on loopback, by calls that this machine ' +
            'makes: a Host or Origin of another name, and what a proxy passes on, is answered 403.',
        },
      },
      schemas: { Command: z.toJSONSchema(commandBody, { io: 'input' }), ...answerSchemas, Problem: problemSchema },
    },
  };
}
