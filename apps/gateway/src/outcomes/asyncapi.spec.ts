import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import * as formats from 'ajv-formats';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parse, stringify } from 'yaml';
import { asyncApiDocument } from './asyncapi.js';

const PAGE = new URL('../../../../docs/asyncapi.yaml', import.meta.url);
const HEAD =
  '# Written from apps/gateway/src/outcomes/asyncapi.ts. After a change there: WRITE_ASYNCAPI=1 npm run jest -- ' +
  'apps/gateway/src/outcomes/asyncapi.spec.ts\n';
const AGAIN =
  'docs/asyncapi.yaml is not what the code says; write it anew: WRITE_ASYNCAPI=1 npm run jest -- ' +
  'apps/gateway/src/outcomes/asyncapi.spec.ts';

const written = `${HEAD}${stringify(asyncApiDocument(), { lineWidth: 0, aliasDuplicateObjects: false })}`;

/** The schema of AsyncAPI 3 itself, of draft 7. */
function validator(): (document: unknown) => string {
  const require = createRequire(import.meta.url);
  const schema = JSON.parse(readFileSync(require.resolve('@asyncapi/specs/schemas/3.0.0.json'), 'utf8')) as object;
  // It brings draft 7 itself, as one of its definitions.
  const ajv = new Ajv({ strict: false, meta: false, validateSchema: false });
  (formats.default as unknown as { default: (ajv: Ajv) => void }).default(ajv);
  const validate = ajv.compile(schema);
  return (document) => (validate(document) ? '' : ajv.errorsText(validate.errors));
}

interface Described {
  asyncapi: string;
  channels: Record<string, { messages: Record<string, { $ref: string }> }>;
  components: { messages: Record<string, { payload: object }> };
}

describe('docs/asyncapi.yaml', () => {
  const errorsOf = validator();

  it('is what the code says', () => {
    if (process.env['WRITE_ASYNCAPI'] === '1') writeFileSync(PAGE, written);
    const differs = readFileSync(PAGE, 'utf8') === written ? '' : AGAIN;
    expect(differs).toBe('');
  });

  it('is AsyncAPI 3, by the schema of its own authors, which refuses another document', () => {
    const document = parse(readFileSync(PAGE, 'utf8')) as Described;
    expect(errorsOf(document)).toBe('');
    expect(errorsOf({ ...document, asyncapi: '9.9.9' })).not.toBe('');
    expect(errorsOf({ ...document, channels: { commands: { messages: 'none' } } })).not.toBe('');
  });

  it('has a payload that can be compiled for each message, and no message that no channel carries', () => {
    const { channels, components } = asyncApiDocument() as Described;
    const carried = Object.values(channels).flatMap(({ messages }) =>
      Object.values(messages).map(({ $ref }) => $ref.split('/').at(-1)),
    );
    expect(carried.sort()).toEqual(Object.keys(components.messages).sort());
    const ajv = new Ajv({ strict: false, formats: { uuid: true, 'date-time': true } });
    for (const { payload } of Object.values(components.messages)) expect(typeof ajv.compile(payload)).toBe('function');
  });
});
