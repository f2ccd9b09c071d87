import { ParseOption, XmlDocument } from 'libxml2-wasm';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInSet, checkDocument, SchemaSet, SchemaSets } from '#documents';
import { readFacts } from '../../libs/documents/test/facts.js';
import { foreignSchemasOf } from '../../libs/documents/test/foreign-schemas.js';
import { thisMachine, type BenchReport } from './report.js';

const SIZES = [100, 25_000];
const WARM_UP = 2;
const ROUNDS = 15;

/**
 * Documents checked per second, of 100 and of 25,000 items, by the built-in and by a hundred-file schema set, next to
 * the bare validator on the same bytes: parsed, validated, thrown away.
 */
export async function validate({ quick }: { quick: boolean }): Promise<BenchReport> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-bench-'));
  try {
    for (const [name, text] of foreignSchemasOf(readFacts())) writeFileSync(join(folder, name), text);
    const foreign = new SchemaSet({ folder, name: 'hundred_files', versions: ['1.38'] });
    const report: BenchReport = { bench: 'validate', figures: {}, ceilings: {}, ratios: {}, machine: thisMachine() };
    for (const set of [builtInSet(), foreign]) {
      const name = set === foreign ? 'hundred_files' : 'built_in';
      for (const items of SIZES) measure(report, { set, label: `${name}_${items}`, items, quick });
    }
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Measured {
  set: SchemaSet;
  label: string;
  items: number;
  quick: boolean;
}

/** Both by turns, so that what disturbs the machine disturbs both; of all rounds the one in the middle counts. */
function measure({ figures, ceilings, ratios }: BenchReport, { set, label, items, quick }: Measured): void {
  const bytes = documentOf(items);
  const schemas = new SchemaSets([set]);
  const validator = set.validator();
  const perRound = Math.max(1, Math.round((quick ? 2_000 : 10_000) / items));
  const timed = (work: () => void): number => {
    const started = performance.now();
    for (let n = 0; n < perRound; n += 1) work();
    return performance.now() - started;
  };
  const check = (): void => void checkDocument(bytes, schemas);
  const bare = (): void => {
    const document = XmlDocument.fromBuffer(bytes, { option: ParseOption.XML_PARSE_BIG_LINES });
    validator.validate(document);
    document.dispose();
  };
  // What the engine has not compiled yet is slow: the first rounds are not counted.
  const rounds = Array.from({ length: WARM_UP + ROUNDS }, () => ({ checked: timed(check), bare: timed(bare) }));
  const middle = (value: (round: (typeof rounds)[number]) => number): number =>
    rounds
      .slice(WARM_UP)
      .map(value)
      .sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number;
  const rate = (ms: number): number => (perRound * 1_000) / ms;
  const checkedPerSecond = rate(middle(({ checked }) => checked));
  figures[`${label}_documents_per_second`] = rounded(checkedPerSecond);
  figures[`${label}_mb_per_second`] = rounded((checkedPerSecond * bytes.length) / 1e6);
  ceilings[`${label}_bare_documents_per_second`] = rounded(rate(middle((round) => round.bare)));
  ratios[`${label}_of_bare`] = Math.round(1_000 * middle((round) => round.bare / round.checked)) / 1_000;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** A shipment (415) of so many packs with their prices. */
function documentOf(items: number): Buffer {
  const rows = Array.from(
    { length: items },
    (_, n) =>
      `<union><sgtin>04601234567893BENCH${String(n).padStart(8, '0')}</sgtin><cost>120.50</cost>` +
      '<vat_value>10.95</vat_value></union>\n',
  );
  return Buffer.from(
    '<documents version="1.38"><move_order action_id="415"><subject_id>00000000100101</subject_id>' +
      '<receiver_id>00000000200101</receiver_id><operation_date>2026-03-02T10:00:00+03:00</operation_date>' +
      '<doc_num>A-1</doc_num><doc_date>02.03.2026</doc_date><turnover_type>1</turnover_type><source>1</source>' +
      `<contract_type>1</contract_type><order_details>\n${rows.join('')}</order_details></move_order></documents>`,
  );
}
