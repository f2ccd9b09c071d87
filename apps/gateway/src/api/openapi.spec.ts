import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';
import { checkDocument } from '#documents';
import { openApiDocument } from './openapi.js';

const INSTALLATION = '5e2d7c10-0000-4000-8000-000000000001';

interface Schema {
  description?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}
interface Content {
  schema: Schema;
  examples?: Record<string, { summary: string; value: unknown }>;
}
interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  parameters?: { name: string; in: string; description?: string; example?: unknown; schema: Schema }[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<
    string,
    {
      description: string;
      headers?: Record<string, { description: string }>;
      content?: Record<string, { schema: Schema; example?: unknown }>;
    }
  >;
}
interface Api {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const api = JSON.parse(JSON.stringify(openApiDocument(INSTALLATION))) as Api;
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, ...operation })),
);

const ajv = new Ajv2020({ strict: false, formats: { uuid: true, 'date-time': true, binary: true } });
ajv.addSchema({ $id: 'api', ...(api as object) });
/** What is wrong with a value by a schema of the description. */
function faults(schema: object, value: unknown): string | undefined {
  const resolved = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
  return ajv.validate(resolved, value) ? undefined : ajv.errorsText();
}

/** Paths of fields that nothing is said of. */
function undescribed(schema: Schema, path = ''): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, one]) => [
    ...(one.description === undefined ? [`${path}/${name}`] : []),
    ...undescribed(one, `${path}/${name}`),
  ]);
  return [
    ...own,
    ...[...(schema.items === undefined ? [] : [schema.items]), ...(schema.anyOf ?? [])].flatMap((one) =>
      undescribed(one, path),
    ),
  ];
}

describe('the description of the API', () => {
  it('is OpenAPI 3.1', async () => {
    expect(await new Validator().validate(structuredClone(api) as never)).toEqual({ valid: true });
  });

  it('names every operation, and no name changes once it was published', () => {
    const published = JSON.parse(
      readFileSync(new URL('../../test/operation-ids.json', import.meta.url), 'utf8'),
    ) as Record<string, string>;
    expect(Object.fromEntries(operations.map((one) => [one.operationId, one.route]))).toEqual(published);
    expect(new Set(operations.map((one) => one.operationId)).size).toBe(operations.length);
  });

  it('says of every operation that takes a key how it answers without one, of another role, and after wrong ones', () => {
    const lacking = operations.filter(({ responses }) => [401, 403, 429].some((status) => !(status in responses)));
    expect(lacking.map((one) => one.route)).toEqual(['GET /health/live', 'GET /health/ready']);
  });

  it('has a part of the page for every operation, and none that is empty', () => {
    expect([...new Set(operations.flatMap((one) => one.tags))].sort()).toEqual(api.tags.map((tag) => tag.name).sort());
    expect(api.tags.filter((tag) => tag.description.length < 20)).toEqual([]);
    expect(operations.filter((one) => one.tags.length !== 1)).toEqual([]);
  });
});

describe.each(operations)('$route', ({ summary, parameters = [], requestBody, responses }) => {
  it('says what it does, what each parameter means, and each answer with its headers', () => {
    const headers = Object.values(responses).flatMap((one) => Object.values(one.headers ?? {}));
    const said = [
      summary,
      ...[...parameters, ...Object.values(responses), ...headers].map(
        (one) => one.description ?? `nothing is said of ${JSON.stringify(one)}`,
      ),
    ];
    expect(said.filter((one) => one.length < 12 || one.includes('undefined') || one.startsWith('nothing'))).toEqual([]);
    expect(
      parameters.filter(
        (one) => one.schema.default !== undefined && faults(one.schema, one.schema.default) !== undefined,
      ),
    ).toEqual([]);
    const shown = Object.values(responses)
      .flatMap((one) => Object.values(one.content ?? {}))
      .filter((one) => one.example !== undefined);
    expect(shown.flatMap((one) => faults(one.schema, one.example) ?? [])).toEqual([]);
    expect(
      parameters.flatMap((one) => (one.example === undefined ? [] : (faults(one.schema, one.example) ?? []))),
    ).toEqual([]);
  });

  it('has an example for each body, by its own schema, and says what every field of it means', () => {
    for (const [mediaType, { schema, examples = {} }] of Object.entries(requestBody?.content ?? {})) {
      expect([mediaType, Object.keys(examples).length]).not.toEqual([mediaType, 0]);
      const resolved =
        mediaType === 'application/json' && '$ref' in schema ? (api.components.schemas['Command'] as Schema) : schema;
      expect(undescribed(resolved)).toEqual([]);
      for (const [name, { summary: what, value }] of Object.entries(examples))
        expect([name, what, faults(schema, value)]).toEqual([name, expect.stringMatching(/.{3}/), undefined]);
    }
  });
});

it('the XML of an example is valid by its schema', () => {
  const xml = Object.values(
    api.paths['/v1/commands']?.['post']?.requestBody?.content['application/json']?.examples ?? {},
  ).flatMap(({ value }) => (value as { xml?: string }).xml ?? []);
  expect(xml).toHaveLength(1);
  for (const one of xml) expect(() => checkDocument(Buffer.from(one))).not.toThrow();
});
