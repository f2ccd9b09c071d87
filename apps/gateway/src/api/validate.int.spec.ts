import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addSchemaSet } from '#documents';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { arrival, SGTIN, TestHarness } from '../../test/test-harness.js';
import { gatewayConfig } from '../config.js';
import { startGateway } from '../gateway.js';

const builtIn = fileURLToPath(new URL('../../../../libs/documents/schemas/1.38/', import.meta.url));
const XSD = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">';

let harness: TestHarness;
let folder: TemporaryFolder;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  folder = await temporaryFolder();
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});

async function validated(body: string, type = 'application/xml') {
  const answer = await fetch(`${harness.gateway.url}/v1/validate`, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

describe('POST /v1/validate', () => {
  it('a good document is valid, and by which set', async () => {
    for (const type of ['application/xml', 'text/xml; charset=utf-8'])
      expect(await validated(arrival(), type)).toEqual({
        status: 200,
        body: { valid: true, schema_set: 'pedigree-1.38', version: '1.38', doc_type: 701, problems: [], more: false },
      });
  });

  it('all that is wrong is told with line, path and a sentence, and nothing is kept', async () => {
    const wrong = `\n${arrival('<sgtin>0460</sgtin>\n<colour>red</colour>').replace('00000000100101', '1')}`;
    expect(await validated(wrong)).toMatchObject({
      status: 200,
      body: {
        valid: false,
        problems: [
          { line: 2, path: '/documents/accept/subject_id' },
          {
            line: 2,
            path: '/documents/accept/order_details/sgtin',
            sentence: '<sgtin> has 4 characters and must have 27',
          },
          { line: 3, path: '/documents/accept/order_details/colour' },
        ],
      },
    });
    const { rows } = await harness.db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM command');
    expect(rows[0]?.n).toBe(0n);
  });

  it('a document as JSON is built and judged, without lines that nobody has seen', async () => {
    const document = {
      action_id: 701,
      subject_id: '00000000100101',
      counterparty_id: '00000000200101',
      operation_date: '2026-01-15T09:00:00+03:00',
      order_details: { sgtin: [SGTIN, SGTIN] },
    };
    const json = 'application/json';
    expect((await validated(JSON.stringify(document), json)).body).toMatchObject({
      valid: false,
      problems: [{ path: '/documents/accept/order_details/sgtin[2]', sentence: `the pack ${SGTIN} stands here twice` }],
    });
    // As in a command: a scan is read, and what is none stays what it is.
    const scan = '010460123456789321PEDIGREE00001\u001d91EE06';
    const scanned = { ...document, operation_date: '2026-11-20T10:15:00+03:00', order_details: { sgtin: [scan] } };
    expect((await validated(JSON.stringify(scanned), json)).body).toMatchObject({ valid: true, problems: [] });
    const both = { ...document, order_details: { sgtin: [scan, '0460'] } };
    expect((await validated(JSON.stringify(both), json)).body).toMatchObject({
      problems: [
        { path: '/documents/accept/order_details/sgtin[2]', sentence: '<sgtin> has 4 characters and must have 27' },
      ],
    });
    const unknown = await validated(JSON.stringify({ ...document, colour: 'red' }), json);
    expect(unknown).toMatchObject({ status: 200, body: { problems: [{ path: '/colour' }] } });
    expect((unknown.body['problems'] as { sentence: string }[])[0]?.sentence).toMatch(
      /^is not a field here; known are/,
    );
  });

  it('what is no request is refused, and XML is taken here alone', async () => {
    expect(await validated('', 'application/xml')).toMatchObject({ status: 400, body: { code: 'missing_body' } });
    expect(await validated('{"action_id":', 'application/json')).toMatchObject({
      status: 400,
      body: { code: 'invalid_json' },
    });
    expect(await validated('x', 'text/plain')).toMatchObject({ status: 415 });
    const { status } = await fetch(`${harness.gateway.url}/v1/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/xml' },
      body: arrival(),
    });
    expect(status).toBe(415);
  });
});

describe('SCHEMA_DIR', () => {
  const configured = (dir: string) => gatewayConfig({ ...harness.environment, SCHEMA_DIR: dir });

  it('gives the sets by which documents of their versions are judged, before the built-in one', async () => {
    const dir = join(folder.path, 'added');
    await addSchemaSet(dir, { folder: builtIn, name: 'industry', versions: ['1.37'] });
    const { schemas } = configured(dir);
    expect(schemas.forVersion('1.37').name).toBe('industry');
    expect(schemas.forVersion('1.38').name).toBe('pedigree-1.38');
    expect(schemas.describe()).toMatchObject([
      { name: 'industry', versions: ['1.37'], sha256: schemas.forVersion('1.38').digest },
      { name: 'pedigree-1.38' },
    ]);
  });

  it('with a set that cannot be read, or not be compiled, the gateway does not start, and says file and line', async () => {
    const dir = join(folder.path, 'bad');
    mkdirSync(dir);
    const write = (text: string): void => writeFileSync(join(dir, 'a.xsd'), text);
    write(`${XSD}\n<xs:include schemaLocation="b.xsd"/></xs:schema>`);
    expect(() => configured(dir)).toThrow(/^SCHEMA_DIR: a.xsd, line 2: include of b.xsd/);
    write(`${XSD}\n<xs:element name="documents"><xs:complexType><xs:choice>\n<xs:element name="accept" type="no"/>
      </xs:choice></xs:complexType></xs:element></xs:schema>`);
    await expect(startGateway(configured(dir))).rejects.toThrow(/^SCHEMA_DIR: a.xsd, line 3: /);
  });
});
