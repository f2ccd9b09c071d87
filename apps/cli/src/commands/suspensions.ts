import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { z } from 'zod';
import { HTML } from '../../../gateway/src/api/file-types.js';
import { LETTER_MEDIA_TYPES, MOST_LETTER_BYTES } from '#domain';
import { defined, PedigreeError } from '#kernel';
import type { suspendedListPage, suspensionAnswer, suspensionDetail, suspensionPage } from '#read-models';
import type { GatewayClient } from '../gateway-client.js';
import { facts, instant, out, sayMore, table } from '../print.js';
import { chosenFile, showAnswer, writeText, writtenToFile, type FileOptions } from './list-file.js';

type Detail = z.infer<typeof suspensionDetail>;

export interface SuspensionListOptions extends FileOptions {
  state?: string;
  source?: string;
  all?: boolean;
  gtin?: string;
  series?: string;
  limit: string;
  cursor?: string;
  json?: boolean;
}

/** Lists what is in force, or all. */
export function listSuspensions(gateway: GatewayClient, options: SuspensionListOptions): Promise<number> {
  const { state, source, gtin, series, cursor, limit } = options;
  const inForce = options.all === true || state !== undefined ? undefined : 'true';
  const wanted = defined({ state, source, gtin, series, in_force: inForce });
  const query = (more: object): string =>
    new URLSearchParams({ ...wanted, ...more } as Record<string, string>).toString();
  const path = `/v1/suspensions?${query(defined({ cursor, limit }))}`;
  return showAnswer(gateway, { path, whole: `/v1/suspensions?${query({})}`, show: printPage }, options);
}

function printPage(page: z.infer<typeof suspensionPage>): void {
  const rows = page.items.map((one) => [
    ...[one.suspension_id, one.action, one.state, one.source, one.product, one.series],
    ...[one.number ?? '', one.changed_at.slice(0, 10)],
  ]);
  out(table(['suspension', 'says', 'state', 'by', 'product', 'series', 'letter', 'since'], rows));
  sayMore(page.next_cursor);
}

const pathOf = (id: string): string => `/v1/suspensions/${encodeURIComponent(id)}`;

/** Shows one with its history, and the packs that it concerns. */
export async function showSuspension(
  gateway: GatewayClient,
  id: string,
  { recent, json }: { recent: string; json?: boolean },
): Promise<number> {
  const found = (await gateway.raw(`${pathOf(id)}?${new URLSearchParams({ recent_days: recent })}`)) as Detail;
  if (json === true) out(JSON.stringify(found));
  else print(found);
  return 0;
}

function print(found: Detail): void {
  const { reply, matches, look_alikes: alike } = found;
  out(
    facts([
      ['suspension', found.suspension_id],
      ['says', found.in_force ? `${found.action}, in force` : found.action],
      ['state', found.state],
      ['by', saidBy(found)],
      ['product', found.product],
      ['series', found.series],
      ['means', matches.map(({ gtin, series }) => `${series} of ${gtin}`).join(', ')],
      ['only looks the same', alike.join(', ')],
      ['reply', reply === undefined ? 'owed' : `to version ${reply.version}, from ${reply.places.length} places`],
    ]),
  );
  for (const one of found.affected) printAffected(one);
  for (const one of found.series_unknown) printUnknown(one);
  const lines = found.timeline.map((one) => [instant(one.at), one.actor, one.sentence]);
  out(`\n${table(['when', 'who', 'what'], lines)}`);
}

function saidBy({ source, number, date, from, decision_id: decisionId }: Detail): string {
  if (source === 'list') return 'the list';
  const named = `${source} ${number ?? decisionId ?? ''}${date === undefined ? '' : ` of ${date}`}`;
  return from === undefined ? named : `${named} (${from})`;
}

type Affected = Detail['affected'][number];

function printAffected({ gtin, series, branches }: Affected): void {
  out(`\n${series} of ${gtin}: ${branches.length === 0 ? 'our record holds no pack that is concerned' : 'packs'}`);
  printBranches(branches);
}

/** Once for a product, whichever of its series are meant. */
function printUnknown({ gtin, packs, branches }: Detail['series_unknown'][number]): void {
  if (packs === 0) return;
  out(`\n${packs} packs of ${gtin} have no series that a document has told; some may be concerned:`);
  printBranches(branches);
  out(`which packs: pedigree packs --series-unknown --gtin ${gtin}`);
}

function printBranches(branches: Affected['branches']): void {
  const rows = branches.map((one) => [
    ...[one.branch ?? '', one.standing, one.place ?? '', String(one.packs)],
    ...[one.newest_at === undefined ? '' : instant(one.newest_at), one.recent ? 'recent' : ''],
  ]);
  if (rows.length > 0) out(table(['branch', 'standing', 'place', 'packs', 'newest', ''], rows));
}

export interface LetterOptions {
  number: string;
  date: string;
  from: string;
  file: string;
  reason: string;
}

const MEDIA_TYPES: Record<string, (typeof LETTER_MEDIA_TYPES)[number]> = {
  '.pdf': 'application/pdf',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.txt': 'text/plain',
};

async function letterOf({ number, date, from, file, reason }: LetterOptions): Promise<object> {
  const mediaType = MEDIA_TYPES[extname(file).toLowerCase()];
  const wrong = (why: string) => new PedigreeError('invalid_parameter', `--file ${file}: ${why}`, { field: '--file' });
  if (mediaType === undefined) throw wrong(`must end in ${Object.keys(MEDIA_TYPES).join(', ')}`);
  const bytes = await readFile(file);
  if (bytes.length === 0 || bytes.length > MOST_LETTER_BYTES)
    throw wrong(`has ${bytes.length} bytes; a letter has 1 to ${MOST_LETTER_BYTES}`);
  return { number, date, from, reason, file: { media_type: mediaType, base64: bytes.toString('base64') } };
}

/** Enters a letter. */
export async function enterSuspension(
  gateway: GatewayClient,
  { action, product, series, ...letter }: LetterOptions & { action: string; product: string; series: string },
): Promise<number> {
  const body = { action, product, series, ...(await letterOf(letter)) };
  const { suspension_id: id, state } = (await gateway.change('POST', '/v1/suspensions', body)) as Detail;
  out(`${id}: ${state}`);
  return 0;
}

/** A later letter about the same. */
export const changeSuspension = async (
  gateway: GatewayClient,
  id: string,
  { to, ...letter }: LetterOptions & { to: string },
): Promise<number> => actOnSuspension(gateway, id, { action: 'change', to, ...(await letterOf(letter)) });

/** Has one action done, and says how it stands then. */
export async function actOnSuspension(gateway: GatewayClient, id: string, action: object): Promise<number> {
  const { state, action: says } = (await gateway.change('POST', `${pathOf(id)}/actions`, action)) as Detail;
  out(`${id}: ${says}, ${state}`);
  return 0;
}

/** Writes the reply to a letter: a page to print, or its rows. */
export async function suspensionLetter(
  gateway: GatewayClient,
  id: string,
  { html, ...files }: FileOptions & { html?: string },
): Promise<number> {
  const path = `${pathOf(id)}/reply`;
  const chosen = chosenFile(files);
  if (html !== undefined && chosen !== undefined)
    throw new PedigreeError('invalid_configuration', `--html and --${chosen.format}: choose one`, { field: '--html' });
  if (html !== undefined) await writeText(await gateway.stream(path, HTML), html);
  else if (!(await writtenToFile(gateway, { path }, files))) out(JSON.stringify(await gateway.raw(path)));
  return 0;
}

/** `GTIN=SERIES`, several times. */
export const matchesIn = (texts: string[]): { gtin: string; series: string }[] =>
  texts.map((text) => {
    const [gtin = '', ...series] = text.split('=');
    if (series.join('=') === '') throw unreadable('--is', text, 'GTIN=SERIES');
    return { gtin, series: series.join('=') };
  });

/** `PLACE=found,quarantined,shipped,returned`, several times. */
export const placesIn = (texts: string[]): object[] =>
  texts.map((text) => {
    const found = /^([^=]+)=(\d{1,9}),(\d{1,9}),(\d{1,9}),(\d{1,9})$/.exec(text);
    if (found === null) throw unreadable('--at', text, 'PLACE=FOUND,QUARANTINED,SHIPPED,RETURNED');
    const [, place, ...counts] = found;
    const [packs, quarantined, shipped, returned] = counts.map(Number);
    return { place, found: packs, quarantined, shipped, returned };
  });

const unreadable = (field: string, text: string, form: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `${field} ${text}: must be ${form}`, { field });

/** Answers whether a series was suspended in the newest list that was held then, and how old that list was. */
export async function askSuspension(
  gateway: GatewayClient,
  asked: { gtin: string; series: string; at?: string; document?: string; json?: boolean },
): Promise<number> {
  const { json, gtin, series, ...then } = asked;
  const query = new URLSearchParams(defined(then) as Record<string, string>).toString();
  const path = `/v1/series/${encodeURIComponent(gtin)}/${encodeURIComponent(series)}/suspension`;
  const found = (await gateway.raw(`${path}?${query}`)) as z.infer<typeof suspensionAnswer>;
  if (json === true) out(JSON.stringify(found));
  else out(answerWords(found));
  return 0;
}

function answerWords(found: z.infer<typeof suspensionAnswer>): string {
  const { list, listed, decided, in_force: inForce, look_alikes: alike } = found;
  return facts([
    ['at', instant(found.at)],
    ['suspended then', found.suspended ? 'yes' : 'no'],
    ['in the newest list then', list === undefined ? 'no list was held' : listed === true ? 'yes' : 'no'],
    ['that list', list && `${list.list_sha256}, read ${instant(list.fetched_at)}`],
    ['its age', list && `${Math.round(list.age_seconds)} s`],
    ['it was doubted', list?.doubt],
    ['by a decision then', decided === undefined ? 'no decisions were held' : decided ? 'yes' : 'no'],
    ['in force then', inForce.join(', ')],
    ['only looks the same', alike.join(', ')],
    ['suspended now', found.suspended_now ? 'yes' : 'no'],
  ]);
}

/** Lists the versions of the registry's lists that were held. */
export async function listSuspendedLists(
  gateway: GatewayClient,
  { limit, json }: { limit: string; json?: boolean },
): Promise<number> {
  const answer = await gateway.raw(`/v1/suspended-lists?${new URLSearchParams({ limit })}`);
  const { items } = answer as z.infer<typeof suspendedListPage>;
  if (json === true) out(JSON.stringify(items));
  else {
    const rows = items.map((one) => [
      ...[
        one.source,
        instant(one.fetched_at),
        String(one.series),
        String(one.packs),
        String(one.appeared),
        String(one.vanished),
        String(one.not_understood ?? 0),
      ],
      ...[one.doubt === undefined ? '' : one.confirmed_at === undefined ? one.doubt : 'confirmed', one.list_sha256],
    ]);
    out(table(['list', 'read', 'series', 'packs', 'new', 'gone', 'not_understood', 'doubt', 'digest'], rows));
  }
  return 0;
}

/** Says that the newest list is right, though it is doubted. */
export async function confirmSuspendedList(gateway: GatewayClient, sha256: string, reason: string): Promise<number> {
  await gateway.change('POST', `/v1/suspended-lists/${encodeURIComponent(sha256)}/confirmations`, { reason });
  out('it is believed: the next reading releases what it lacks');
  return 0;
}
