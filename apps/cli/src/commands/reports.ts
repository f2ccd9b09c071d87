import type { Command } from 'commander';
import type { z } from 'zod';
import { defined } from '#kernel';
import type {
  expiringPacksShape,
  mockRecallDetail,
  mockRecallPage,
  overdueTransfersShape,
  overridesShape,
  unmovedPacksShape,
} from '#read-models';
import type { GatewayClient } from '../gateway-client.js';
import { facts, instant, out, sayMore, table } from '../print.js';
import { CURSOR_OPTION, JSON_OPTION, REASON_OPTION, type Action, type JsonFlag, type ReasonFlag } from './action.js';
import { agoAsMoments, momentOf } from './documents.js';
import { showAnswer, withFiles, writtenToFile, type FileOptions } from './list-file.js';

type Flags = FileOptions & JsonFlag & Record<string, string | boolean | undefined>;
type Gateway = () => GatewayClient;

/** `pedigree reports`: packs that rest, expire or wait, and what persons overrode. */
export function addReportCommands(pedigree: Command, action: Action, gateway: Gateway): void {
  const reports = pedigree.command('reports').description('packs that rest, expire or wait, and what persons overrode');
  const shelf = (name: string, does: string, days: string): Command =>
    withFiles(reports.command(name))
      .description(does)
      .option('--days <n>', 'how many days', days)
      .option('--gtin <gtin>', 'only packs of this product')
      .option('--series <series>', 'only packs of this series')
      .option('--place <place>', 'only packs at this place')
      .option('--by <parts>', 'what lines are told apart by: place,gtin,series,expires_on,status,sgtin')
      .option(...JSON_OPTION);
  shelf('unmoved', 'packs on our shelves that nothing has moved for so long', '180').action(
    action((flags: Flags) => report(gateway(), { path: 'unmoved-packs', query: flags, show: showUnmoved }, flags)),
  );
  shelf('expiring', 'packs on our shelves that expire so soon, or have expired', '90').action(
    action((flags: Flags) => report(gateway(), { path: 'expiring-packs', query: flags, show: showExpiring }, flags)),
  );
  withFiles(reports.command('transfers'))
    .description('what was sent or received, and is not accepted for so long')
    .option('--days <n>', 'how many days', '30')
    .option('--direction <direction>', 'sent (a partner is awaited) or received (we are)')
    .option('--partner <place>', 'only from or to this place')
    .option(...JSON_OPTION)
    .action(
      action((flags: Flags) =>
        report(gateway(), { path: 'overdue-transfers', query: flags, show: showTransfers }, flags),
      ),
    );
  addOverrides(reports, action, gateway);
}

function addOverrides(reports: Command, action: Action, gateway: Gateway): void {
  withFiles(reports.command('overrides'))
    .description('who overrode what, and why, the newest first')
    .option('--kind <kind>', 'waiver, release, confirmation, end, resend, retry, discard or log')
    .option('--actor <name>', 'only this person, program or API key')
    .option('--since <when>', 'then or later: a date, an instant, or how long ago (90m, 24h, 7d)')
    .option('--until <when>', 'before that')
    .option('--limit <n>', 'lines of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(
      action(({ since, until, ...flags }: Flags & { since?: string; until?: string }) => {
        const now = new Date();
        const query = { ...flags, from: momentOf('--since', since, now), to: momentOf('--until', until, now) };
        const show = (told: z.infer<typeof overridesShape>): void => {
          showOverrides(told);
          sayMore(told.next_cursor, agoAsMoments(defined({ since, until }), now));
        };
        return report(gateway(), { path: 'overrides', query, show }, flags);
      }),
    );
}

const PARAMETERS = [
  ...(['days', 'gtin', 'series', 'place', 'by', 'direction', 'partner', 'kind', 'actor', 'from', 'to'] as const),
  ...(['limit', 'cursor'] as const),
];

function report(
  gateway: GatewayClient,
  { path, query, show }: { path: string; query: object; show: (answer: never) => void },
  flags: Flags,
): Promise<number> {
  const given = query as Record<string, string | undefined>;
  const named = Object.fromEntries(PARAMETERS.flatMap((one) => (given[one] === undefined ? [] : [[one, given[one]]])));
  const asked = `/v1/reports/${path}?${new URLSearchParams(named as Record<string, string>)}`;
  return showAnswer(gateway, { path: asked, show }, flags);
}

const pinOf = ({ as_of: asOf, known_at: knownAt }: { as_of: string; known_at: string }): string =>
  `as of ${instant(asOf) ?? ''}, as known at log position ${knownAt}`;

function showUnmoved(told: z.infer<typeof unmovedPacksShape>): void {
  out(`${told.packs} packs without movement since ${instant(told.moved_before) ?? ''}, ${pinOf(told)}`);
  const rows = told.items.map((one) => [
    ...[one.place, one.gtin, one.series, one.expires_on, one.status, one.sgtin, one.packs],
    ...[instant(one.first_moved_at), instant(one.last_moved_at)],
  ]);
  out(table(['place', 'gtin', 'series', 'expires', 'status', 'sgtin', 'packs', 'moved first', 'moved last'], rows));
}

function showExpiring(told: z.infer<typeof expiringPacksShape>): void {
  out(`${told.packs} packs expire by ${told.expires_by}, ${told.expired} of them have, ${pinOf(told)}`);
  if (told.expiry_unknown > 0) out(`of ${told.expiry_unknown} packs no document has told when they expire`);
  const rows = told.items.map((one) => [
    ...[one.expires_on, one.expired ? 'expired' : '', one.place, one.gtin, one.series, one.status, one.sgtin],
    one.packs,
  ]);
  out(table(['expires', '', 'place', 'gtin', 'series', 'status', 'sgtin', 'packs'], rows));
}

function showTransfers(told: z.infer<typeof overdueTransfersShape>): void {
  out(`${told.packs} packs wait since before ${instant(told.sent_before) ?? ''}, ${pinOf(told)}`);
  const rows = told.items.map((one) => [
    ...[one.direction, one.from, one.to, one.days, one.packs, one.containers, one.told_by.doc_type],
    one.told_by.request_id ?? one.told_by.document_id,
  ]);
  out(table(['', 'from', 'to', 'days', 'packs', 'containers', 'type', 'document'], rows));
}

function showOverrides(told: z.infer<typeof overridesShape>): void {
  out(pinOf(told));
  const rows = told.items.map((one) => [
    ...[instant(one.at), one.kind, one.actor.name, one.type, one.objects[0], one.reason],
  ]);
  out(table(['when', 'kind', 'who', 'what', 'of', 'why'], rows));
}

/** `pedigree recall`: mock recalls, and how long each took. */
export function addRecallCommands(pedigree: Command, action: Action, gateway: Gateway): void {
  const recall = pedigree.command('recall').description('mock recalls: how long until every pack of a series is known');
  recall
    .command('begin')
    .description('begin one, and find where all packs of the series are')
    .argument('<gtin>')
    .argument('<series>', 'letter by letter')
    .requiredOption(...REASON_OPTION)
    .option(...JSON_OPTION)
    .action(
      action(async (gtin: string, series: string, { reason, json }: ReasonFlag & JsonFlag) =>
        told(await gateway().change('POST', '/v1/mock-recalls', { gtin, series, reason }), json),
      ),
    );
  recall
    .command('trace')
    .description('go on with one that has no answer yet')
    .argument('<recall>')
    .option(...JSON_OPTION)
    .action(
      action(async (id: string, { json }: JsonFlag) =>
        told(await gateway().change('POST', `${recallPath(id)}/trace`, {}), json),
      ),
    );
  withFiles(recall.command('show'))
    .description('one of them, by branch and place')
    .argument('<recall>')
    .option(...JSON_OPTION)
    .action(action((id: string, flags: FileOptions & JsonFlag) => showRecall(gateway(), id, flags)));
  withFiles(recall.command('list', { isDefault: true }))
    .description('all of them, the newest first')
    .option('--limit <n>', 'how many, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(action((flags: Flags & { limit: string; cursor?: string }) => listRecalls(gateway(), flags)));
}

const recallPath = (id: string): string => `/v1/mock-recalls/${encodeURIComponent(id)}`;

async function showRecall(gateway: GatewayClient, id: string, flags: FileOptions & JsonFlag): Promise<number> {
  const answer = await gateway.raw(recallPath(id));
  if (await writtenToFile(gateway, { path: recallPath(id) }, flags)) return statusOf(answer as Recall);
  return told(answer, flags.json);
}

type Recall = z.infer<typeof mockRecallDetail>;

function told(answer: unknown, json: boolean | undefined): number {
  if (json === true) out(JSON.stringify(answer));
  else showTold(answer as Recall);
  return statusOf(answer as Recall);
}

/** 1 while there is no answer. */
const statusOf = ({ state }: Recall): number => (state === 'traced' ? 0 : 1);

function showTold(recall: Recall): void {
  const { lines = [] } = recall;
  out(
    facts([
      ['mock recall', recall.recall_id],
      ['of', `${recall.series} of ${recall.gtin}`],
      ['begun', instant(recall.begun_at)],
      ['took', recall.took_ms === undefined ? 'not traced yet: pedigree recall trace' : `${recall.took_ms} ms`],
      ...countsOf(recall),
      ['of an unknown series', recall.series_unknown],
      ['containers of unknown content', recall.containers_unknown],
      ['complete', recall.is_complete === undefined ? undefined : recall.is_complete ? 'yes' : 'no'],
      ['as known at', recall.known_at],
    ]),
  );
  const rows = lines.map((one) => [one.standing, one.branch, one.place, one.packs, instant(one.newest_at)]);
  if (rows.length > 0) out(table(['standing', 'branch', 'place', 'packs', 'newest'], rows));
}

const countsOf = ({ packs }: Recall): [string, number | undefined][] => [
  ['in stock', packs?.in_stock],
  ['in transit', packs?.in_transit],
  ['shipped', packs?.shipped],
  ['sold, used or written off', packs?.gone],
  ['unknown', packs?.unknown],
];

function listRecalls(gateway: GatewayClient, flags: Flags & { limit: string; cursor?: string }): Promise<number> {
  const { limit, cursor } = flags;
  const query = new URLSearchParams(defined({ limit, cursor }) as Record<string, string>);
  const [path, whole] = [`/v1/mock-recalls?${query}`, '/v1/mock-recalls'];
  return showAnswer(gateway, { path, whole, show: showRecalls }, flags);
}

function showRecalls(page: z.infer<typeof mockRecallPage>): void {
  const rows = page.items.map((one) => [
    ...[one.recall_id, one.gtin, one.series, instant(one.begun_at), one.took_ms, one.actor.name, one.reason],
  ]);
  out(table(['mock recall', 'gtin', 'series', 'begun', 'took ms', 'by', 'why'], rows));
  sayMore(page.next_cursor);
}
