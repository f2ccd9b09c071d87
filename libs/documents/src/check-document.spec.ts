import { describe, expect, it, jest } from '@jest/globals';
import { diag } from 'libxml2-wasm';
import { readdirSync, readFileSync } from 'node:fs';
import { documentTypeOf } from './catalogue/catalogue.js';
import { checkDocument } from './check-document.js';
import { readDocument } from './read-document.js';
import { builtInSchemas } from './schemas/schema-sets.js';
import { PedigreeError } from '#kernel';

const fixtures = new URL('../fixtures/', import.meta.url);
const fixture = (name: string): Buffer => readFileSync(new URL(name, fixtures));
const fixtureOf = (docType: number): Buffer =>
  fixture(readdirSync(fixtures).find((name) => name.startsWith(`${docType}-`)) as string);

const fixtureTypes = readdirSync(fixtures).flatMap((name) => documentTypeOf(Number.parseInt(name, 10)) ?? []);

function refusal(run: () => unknown): PedigreeError {
  try {
    run();
  } catch (error) {
    if (error instanceof PedigreeError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
const changed = (docType: number, from: string | RegExp, to: string): Buffer => {
  const before = fixtureOf(docType).toString('utf8');
  const after = before.replace(from, to);
  if (after === before) throw new Error(`the fixture of ${docType} does not hold ${String(from)}`);
  return Buffer.from(after);
};

it('given another user of the parser in the same process, what that told it stays known', async () => {
  // As in a process that has compiled no schema.
  jest.resetModules();
  const { XmlBufferInputProvider, XmlDocument, xmlRegisterInputProvider, XsdValidator } = await import('libxml2-wasm');
  const fresh = await import('./check-document.js');
  const schema = (content: string) =>
    Buffer.from(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">${content}</xs:schema>`);
  xmlRegisterInputProvider(
    new XmlBufferInputProvider({ 'other:/part.xsd': schema('<xs:element name="a" type="xs:string"/>') }),
  );
  fresh.checkDocument(fixtureOf(415));
  const including = XmlDocument.fromBuffer(schema('<xs:include schemaLocation="part.xsd"/>'), {
    url: 'other:/whole.xsd',
  });
  const validator = XsdValidator.fromDoc(including);
  validator.dispose();
  including.dispose();
});

describe('given the example of each supported type', () => {
  it.each(fixtureTypes.map((type) => [type.docType, type] as const))(
    '%d passes, and reads as when only read',
    (docType, type) => {
      const bytes = fixtureOf(docType);
      const facts = checkDocument(bytes);
      expect(facts).toEqual(readDocument(bytes));
      expect(facts).toMatchObject({
        docType,
        element: type.element,
        schemaVersion: '1.38',
        subjectId: '00000000100930',
      });
    },
  );

  it('each receipt passes the receipt schema, and a wrong one does not', () => {
    const set = builtInSchemas().forVersion('1.38');
    for (const name of ['accepted', 'partial', 'rejected'])
      expect(set.violations(fixture(`receipt-${name}.xml`))).toEqual([]);
    const wrong = Buffer.from(fixture('receipt-accepted.xml').toString('utf8').replace('>Accepted<', '>Perhaps<'));
    expect(set.violations(wrong)).not.toEqual([]);
  });
});

const PARTICIPANT = 'a9f1c2d4-5b6e-4f70-8a91-b2c3d4e5f607';

describe('given a document that breaks the schema', () => {
  it.each([
    ['a missing field', 415, /\s*<doc_num>.*<\/doc_num>/, '', /\/documents\/move_order/, 6],
    [
      'fields in another order',
      431,
      /(<subject_id>.*<\/subject_id>)(\s*)(<receiver_id>.*<\/receiver_id>)/,
      '$3$2$1',
      /receiver_id/,
      3,
    ],
    ['an unknown field', 701, '<order_details>', '<colour>red</colour><order_details>', /colour/, 6],
    ['a date without a zone', 415, '2026-11-20T10:15:00+03:00', '2026-11-20T10:15:00', /operation_date/, 5],
    [
      'an operation of the year 1',
      415,
      '2026-11-20T10:15:00+03:00',
      '0001-01-01T00:00:00+03:00',
      /^\/documents\/move_order\/operation_date$/,
      5,
    ],
    ['an operation of the year 2101', 415, '2026-11-20T', '2101-01-01T', /operation_date/, 5],
    ['an operation on a day that is none', 415, '2026-11-20T', '2026-02-30T', /operation_date/, 5],
    ['an operation in a zone that is none', 415, '10:15:00+03:00', '10:15:00+16:00', /operation_date/, 5],
    ['an operation at hour 24', 415, 'T10:15:00', 'T24:00:00', /operation_date/, 5],
    ['a day that is none', 415, '20.11.2026', '32.11.2026', /doc_date/, 7],
    ['a price with three decimals', 415, '120.50', '120.505', /cost/, 15],
    ['a reason of return in words', 391, '<reason_return>1<', '<reason_return>a mistake<', /reason_return/, 6],
    [
      'a participant as the receiver',
      415,
      '<receiver_id>00000000100931<',
      `<receiver_id>${PARTICIPANT}<`,
      /receiver_id/,
      4,
    ],
    ['a return that is a sale', 417, '<turnover_type>2<', '<turnover_type>1<', /turnover_type/, 8],
    ['a company without its KPP', 542, /\s*<kpp>.*<\/kpp>/, '', /destruction_org\/ul/, 7],
    ['a day that no month has', 415, '20.11.2026', '31.02.2026', /doc_date/, 7],
    ['a leap day of a common year', 415, '20.11.2026', '29.02.2027', /doc_date/, 7],
    ['a pack twice', 417, 'PEDIGREE00002', 'PEDIGREE00001', /sgtin\[2\]/, 12],
    [
      'a country by three letters',
      552,
      '<order_details>',
      '<export_country_code>RUS</export_country_code><order_details>',
      /export_country_code/,
      8,
    ],
    ['an unknown withdrawal type', 552, '<withdrawal_type>7<', '<withdrawal_type>25<', /withdrawal_type/, 7],
    ['a part that is none', 552, '1/3', 'a third', /withdrawal_part|sgtin/, 10],
    ['an attribute that is none', 911, '<content>', '<content colour="red">', /content/, 6],
    ['a doc_num with outer blanks', 415, '<doc_num>', '<doc_num> ', /doc_num/, 6],
  ])('%s is refused with the element and the line', (_, docType, from, to, element, line) => {
    const error = refusal(() => checkDocument(changed(docType, from, to)));
    expect(error.code).toBe('schema_violation');
    expect(error.place.element).toMatch(element);
    expect(error.place.line).toBe(line);
    expect(error.message).toContain(`line ${line}`);
  });

  it.each([391, 552, 251, 252, 701, 911, 912, 913, 914])(
    '%d may speak for a participant, not only for a place',
    (docType) => {
      const spoken = changed(docType, '<subject_id>00000000100930<', `<subject_id>${PARTICIPANT}<`);
      expect(checkDocument(spoken).subjectId).toBe(PARTICIPANT);
    },
  );

  it.each([
    ['a negative price', 415, '120.50', '-120.50'],
    ['a message of 255 characters', 10311, 'msg-1', 'm'.repeat(255)],
    ['a leap day', 415, '20.11.2026', '29.02.2028'],
  ])('%s is allowed', (_, docType, from, to) => {
    expect(() => checkDocument(changed(docType, from, to))).not.toThrow();
  });

  it('another schema version is named', () => {
    expect(refusal(() => checkDocument(changed(415, 'version="1.38"', 'version="1.20"'))).message).toContain('1.20');
  });

  const row = (cost: string, n: number): string =>
    `<union><sgtin>04601234567893PEDIGREE${String(n).padStart(5, '0')}</sgtin><cost>${cost}</cost>` +
    '<vat_value>1.00</vat_value></union>\n';
  const rows = (cost: string): string => Array.from({ length: 20_000 }, (_, n) => row(cost, n)).join('');
  const ofRows = (content: string): Buffer =>
    changed(415, /<order_details>[\s\S]*<\/order_details>/, `<order_details>\n${content}</order_details>`);

  it('the same mistake in thousands of rows is told once, and costs no more than a few good documents', () => {
    const good = ofRows(rows('1.00'));
    const bad = ofRows(rows('1,00'));
    checkDocument(good);
    const started = process.cpuUsage();
    checkDocument(good);
    const between = process.cpuUsage(started).user;
    const error = refusal(() => checkDocument(bad));
    const whole = process.cpuUsage(started).user;
    expect(error.message).toMatch(/line 13, .*union\[1\]\/cost: "1,00" in <cost> .*\(and more\)$/);
    expect(whole - between).toBeLessThan(4 * between);
  });

  it('one mistake in the last of many rows is found with its line', () => {
    const error = refusal(() => checkDocument(ofRows(rows('1.00') + row('1,00', 20_000))));
    expect(error.place).toEqual({ line: 20_013, element: '/documents/move_order/order_details/union[20001]/cost' });
  });

  it('packs that stand twice, late in a long list, are refused as fast', () => {
    const unique = ofRows(rows('1.00'));
    const repeated = ofRows(
      Array.from({ length: 25_000 }, (_, n) => row('1.00', n < 13_000 ? n : n - 13_000)).join(''),
    );
    checkDocument(unique);
    const started = process.cpuUsage();
    checkDocument(unique);
    const between = process.cpuUsage(started).user;
    const error = refusal(() => checkDocument(repeated));
    expect(process.cpuUsage(started).user - between).toBeLessThan(20 * between);
    expect(error.message).toMatch(
      /^line 13013, .*union\[13001\]: the pack 04601234567893PEDIGREE00000 stands here twice \(and more\)$/,
    );
  });

  it('a large document without its last field is refused for that', () => {
    const packs = Array.from({ length: 5_000 }, (_, n) => `<sgtin>04601234567893PEDIGREE0${1_000 + n}</sgtin>`);
    const error = refusal(() =>
      checkDocument(changed(10311, /<signs>[\s\S]*<\/device_info>/, `<signs>${packs.join('')}</signs>`)),
    );
    expect(error.message).toContain('device_info');
  });
});

it('given good and bad documents, none is left in the memory of the validator', () => {
  checkDocument(fixtureOf(415));
  diag.configure({ enabled: true });
  try {
    checkDocument(fixtureOf(415));
    checkDocument(fixtureOf(914));
    refusal(() => checkDocument(changed(415, '120.50', 'much')));
    const left = diag.report() as Record<string, unknown>;
    expect(Object.keys(left).filter((name) => name !== 'XsdValidator')).toEqual([]);
  } finally {
    diag.configure({ enabled: false });
  }
});
