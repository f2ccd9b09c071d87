import type { Command } from 'commander';
import type { z } from 'zod';
import { defined } from '#kernel';
import type { packChecks, packPage, seriesFile, stockPage } from '#read-models';
import type { GatewayClient } from '../gateway-client.js';
import { facts, fittingTable, out, say, sayKnownAt, sayMore, table } from '../print.js';
import { CURSOR_OPTION, JSON_OPTION, type Action } from './action.js';
import { showAnswer, withFiles, writtenToFile, type FileOptions } from './list-file.js';

interface PackFilter extends FileOptions {
  gtin?: string;
  series?: string;
  seriesUnknown?: boolean;
  place?: string;
  status?: string;
  expiresWithin?: string;
  json?: boolean;
}
type ListOptions = PackFilter & { container?: string; document?: string; limit: string; cursor?: string };
type StockOptions = PackFilter & { by?: string };
type CheckOptions = FileOptions & { for: string; place: string; day?: string; json?: boolean };
type SeriesOptions = FileOptions & { json?: boolean };

const withPackFilter = (command: Command): Command =>
  withFiles(command)
    .option('--gtin <gtin>', 'only packs of this product')
    .option('--series <series>', 'only packs of this series')
    .option('--series-unknown', 'only packs whose series no document has told')
    .option('--place <place>', 'only packs that stand at this place, or are on their way to it')
    .option('--status <status>', 'only packs in this status, such as in_circulation')
    .option('--expires-within <days>', 'only packs that may be used for so many days more at most')
    .option(...JSON_OPTION);

/** `pedigree packs`, `stock`, `check` and `series`. */
export function addPackListCommands(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  withPackFilter(pedigree.command('packs').description('list packs as they stand now, by SGTIN'))
    .option('--container <sscc>', 'only what this container holds')
    .option('--document <id>', 'only packs that this document names, by its request_id or the id of the registry')
    .option('--limit <n>', 'packs of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .action(action((options: ListOptions) => listPacks(gateway(), options)));
  withPackFilter(pedigree.command('stock').description('count packs that stand alike'))
    .option('--by <parts>', 'told apart by some of place,gtin,series,expires_on,status')
    .action(action((options: StockOptions) => showStock(gateway(), options)));
  withFiles(pedigree.command('check'))
    .description('say whether packs may be moved here now, and why not; status 2 unless all may')
    .argument('<code...>', 'SGTINs, or scans of their codes')
    .requiredOption('--for <purpose>', 'receive, pick, ship, return or sell')
    .requiredOption('--place <place>', 'the branch that asks')
    .option('--day <day>', 'the day there, by which packs have expired, as YYYY-MM-DD; default: that of this computer')
    .option(...JSON_OPTION)
    .action(action((codes: string[], options: CheckOptions) => checkPacks(gateway(), codes, options)));
  withFiles(pedigree.command('series'))
    .description('show what was received of a series and what became of it')
    .argument('<gtin>')
    .argument('<series>')
    .option(...JSON_OPTION)
    .action(
      action((gtin: string, series: string, options: SeriesOptions) =>
        showAnswer(
          gateway(),
          { path: `/v1/series/${encodeURIComponent(gtin)}/${encodeURIComponent(series)}`, show: printSeries },
          options,
        ),
      ),
    );
}

function parametersOf(filter: PackFilter, more: Record<string, string | undefined>): string {
  const { gtin, series, place, status, expiresWithin, seriesUnknown } = filter;
  const unknown = seriesUnknown === true ? 'true' : undefined;
  const given = { gtin, series, place, status, series_unknown: unknown, expires_within: expiresWithin, ...more };
  return new URLSearchParams(defined(given) as Record<string, string>).toString();
}

function listPacks(gateway: GatewayClient, options: ListOptions): Promise<number> {
  const { container, document, cursor, limit } = options;
  const whole = `/v1/packs?${parametersOf(options, { container, document })}`;
  const path = `/v1/packs?${parametersOf(options, { container, document, cursor, limit })}`;
  return showAnswer(gateway, { path, whole, show: printPacks }, options);
}

function printPacks(page: z.infer<typeof packPage>): void {
  const rows = page.items.map((one) => [
    ...[one.sgtin, one.uncertain === true ? `${one.status ?? ''} (uncertain)` : one.status, one.place],
    ...[one.series, one.expires_on, one.container, `${one.told_by.doc_type} ${one.told_by.request_id ?? ''}`],
  ]);
  const head = ['sgtin', 'status', 'place', 'series', 'until', 'container', 'told by'];
  out(fittingTable(head, rows, 4));
  sayKnownAt(page.known_at);
  sayMore(page.next_cursor);
}

async function showStock(gateway: GatewayClient, options: StockOptions): Promise<number> {
  const path = `/v1/stock?${parametersOf(options, { by: options.by })}`;
  if (await writtenToFile(gateway, { path }, options)) return 0;
  const stock = (await gateway.raw(path)) as z.infer<typeof stockPage>;
  const rows = stock.items.map((one) => [one.place, one.gtin, one.series, one.expires_on, one.status, one.packs]);
  out(
    options.json === true
      ? JSON.stringify(stock)
      : table(['place', 'gtin', 'series', 'until', 'status', 'packs'], rows),
  );
  say(`${stock.packs} packs, ${stock.series_unknown} of them of an unknown series`);
  return 0;
}

/** The day that the calendar of this computer shows, as YYYY-MM-DD. */
const dayHere = (at: Date): string =>
  new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 'YYYY-MM-DD'.length);

async function checkPacks(gateway: GatewayClient, codes: string[], options: CheckOptions): Promise<number> {
  const asked = { purpose: options.for, place: options.place, day: options.day ?? dayHere(new Date()), codes };
  // The status is that of the answer in JSON, also where a file is written: whoever goes on by it reads no file.
  const checks = (await gateway.change('POST', '/v1/packs/checks', asked)) as z.infer<typeof packChecks>;
  if (!(await writtenToFile(gateway, { path: '/v1/packs/checks', body: asked }, options)))
    out(options.json === true ? JSON.stringify(checks) : checksTable(checks));
  say(`our record holds what the registry had accepted until ${checks.newest_accepted_at ?? '(nothing yet)'}`);
  if (checks.advice_only) say('for a sale this is advice only: the till asks the registry');
  return checks.items.every(({ answer }) => answer === 'yes') ? 0 : 2;
}

const checksTable = ({ items }: z.infer<typeof packChecks>): string =>
  table(
    ['pack', 'may', 'why'],
    items.map(({ code, sgtin, answer, reasons }) => [
      ...[sgtin ?? code, answer, reasons.map(({ sentence }) => sentence).join(' ')],
    ]),
  );

function printSeries(file: z.infer<typeof seriesFile>): void {
  out(
    facts([
      ['packs', file.packs],
      ['received', file.received_packs],
      ['until', file.expires_on.join(', ')],
      ...Object.entries(file.totals).filter(([, packs]) => packs > 0),
    ]),
  );
  const sources = file.received.map(({ packs, by }) => [
    ...[by.accepted_at, by.counterparty_id ?? by.subject_id, `${by.doc_type} ${by.title}`, by.request_id, packs],
  ]);
  out(`\n${table(['accepted', 'from', 'document', 'request_id', 'packs'], sources)}`);
  if (file.received_more_at !== undefined)
    say(`${file.sources - sources.length} more documents, of ${file.received_in_more} packs: --csv FILE writes all`);
  const fates = file.fates.map(({ fate, status, place, packs, branches }) => [
    ...[fate, status, place, branches.map(({ branch }) => branch).join(' '), packs],
  ]);
  out(`\n${table(['became', 'status', 'place', 'branch', 'packs'], fates)}`);
  if (file.suspension !== undefined) out(`\n${suspensionText(file.suspension)}`);
}

function suspensionText({ by, packs, on_hand: onHand }: NonNullable<z.infer<typeof seriesFile>['suspension']>): string {
  const inForce = by.length === 0 ? '' : `the series, by ${by.join(', ')}; `;
  return `suspended: ${inForce}${packs} packs by documents, ${onHand} of the series on hand`;
}
