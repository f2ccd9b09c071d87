import type { Command } from 'commander';
import type { z } from 'zod';
import { defined, invalidConfiguration, readItemCode } from '#kernel';
import { EPCIS } from '../../../gateway/src/api/epcis-answer.js';
import type {
  containerContentAnswer,
  containerHistoryAnswer,
  packHistoryAnswer,
  packStateAnswer,
} from '../../../gateway/src/api/pack-answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { fittingTable, instant, out, sayKnownAt, table } from '../print.js';
import { JSON_OPTION, type Action } from './action.js';
import { chosenFile, showAnswer, withFiles, writtenToFile, type FileOptions } from './list-file.js';
import { EPCIS_OPTION } from './show.js';

/** As of which moment, and as known at which moment or log position, an answer is wanted. */
export interface PastOptions extends FileOptions {
  asOf?: string;
  knownAt?: string;
  json?: boolean;
  epcis?: boolean;
}

const COMMANDS = [
  ['pack', 'show the state of one pack, and who told us', 'its SGTIN, or a scan of its code', showPack],
  ['history', 'show the life of one pack or container', 'its SGTIN or SSCC, or a scan of its code', showHistory],
  ['content', 'show what one container holds or held', 'its SSCC, or a scan of its code', showContent],
] as const;

export function addPackCommands(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  for (const [name, description, code, show] of COMMANDS) {
    const command = pedigree
      .command(name)
      .description(description)
      .argument('<code>', code)
      .option('--as-of <instant>', 'only what the registry had accepted by then (RFC 3339)')
      .option('--known-at <when>', 'as it was known then: a log position or an instant')
      .option(...JSON_OPTION)
      .action(action((given: string, options: PastOptions) => show(gateway(), given, options)));
    if (show === showHistory) command.option(...EPCIS_OPTION);
    if (show !== showPack) withFiles(command);
  }
}

type Life = z.infer<typeof packHistoryAnswer> | z.infer<typeof containerHistoryAnswer>;

/** Prints the life of one pack or container. */
export async function showHistory(gateway: GatewayClient, code: string, options: PastOptions): Promise<number> {
  const isContainer = readItemCode(code).kind === 'sscc';
  const path = `/v1/${isContainer ? 'containers' : 'packs'}/${encodeURIComponent(code)}/history${query(options)}`;
  const chosen = chosenFile(options);
  if (options.epcis === true && chosen !== undefined)
    throw invalidConfiguration('--epcis', `--${chosen.format} writes movements, and no events: choose one`);
  if (await writtenToFile(gateway, { path }, options)) return 0;
  const history = await gateway.raw(path, options.epcis === true ? EPCIS : undefined);
  if (options.json === true || options.epcis === true) out(JSON.stringify(history));
  else out(historyText(history as Life));
  if (options.epcis !== true) sayUpTo(history as Life, options);
  return 0;
}

function historyText(history: Life): string {
  const name = 'sgtin' in history ? `${history.sgtin}  GTIN ${history.gtin}  serial ${history.serial}` : history.sscc;
  const head = ['accepted', 'document', 'channel', 'result', 'status', 'through'];
  const rows = history.movements.map((one) => [
    instant(one.accepted_at),
    `${one.doc_type} ${one.title}`,
    one.channel ?? 'ours',
    one.error_code ?? one.result,
    one.status,
    one.through === undefined ? '' : one.item,
  ]);
  // A digest takes a line of its own on a narrow terminal; --json has it in any case.
  const withReceipts = rows.map((row, index) => [...row, history.movements[index]?.receipt_sha256]);
  const state = [
    `status ${history.status ?? 'unknown'}`,
    `place ${history.place ?? 'unknown'}`,
    `container ${history.container ?? 'none'}`,
  ].join('  ');
  const movements = fittingTable([...head, 'receipt'], withReceipts, head.length);
  return [name, state, '', movements].join('\n');
}

type State = z.infer<typeof packStateAnswer>;
type ToldBy = NonNullable<State['status']>['told_by'];

/** Prints what is known of one pack, and who told us. */
export async function showPack(gateway: GatewayClient, code: string, options: PastOptions): Promise<number> {
  const state = (await gateway.raw(`/v1/packs/${encodeURIComponent(code)}${query(options)}`)) as State;
  out(options.json === true ? JSON.stringify(state) : stateText(state));
  sayUpTo(state, options);
  return 0;
}

function stateText(state: State): string {
  const { status, place, owner, holder, container, series, expiry, funding, part_left, suspended, transfer } = state;
  const facts = { status, place, owner, holder, container, series, expiry, funding, 'part left': part_left, suspended };
  const rows = Object.entries(facts).flatMap(([name, fact]) =>
    fact === undefined ? [] : [[name, fact.value, ...told(fact.told_by)]],
  );
  if (transfer !== undefined)
    rows.push(['transfer', `${transfer.from} to ${transfer.to} (${transfer.order})`, ...told(transfer.told_by)]);
  const unsure = state.uncertain.map((one) => [
    `uncertain ${one.parts.join(', ')}`,
    one.why ?? '',
    ...told(one.told_by),
  ]);
  return [
    `${state.sgtin}  GTIN ${state.gtin}  serial ${state.serial}`,
    `\n${table(['what', 'is', 'told by', 'accepted', 'log'], [...rows, ...unsure])}`,
    ...(state.unknown.length === 0 ? [] : [`\nunknown: ${state.unknown.join(', ')}`]),
    ...findingLines(state.findings),
  ].join('\n');
}

const told = (by: ToldBy): (string | undefined)[] => [
  `${by.doc_type} ${by.request_id ?? by.document_id ?? ''}${by.through === undefined ? '' : ` of ${by.item}`}`,
  instant(by.accepted_at),
  by.known_at,
];

const findingLines = (findings: State['findings']): string[] =>
  findings.length === 0 ? [] : ['', ...findings.map((one) => `contradiction at ${one.known_at}: ${one.sentence}`)];

type Content = z.infer<typeof containerContentAnswer>;

/** Prints what one container holds or held, as a tree. */
export function showContent(gateway: GatewayClient, code: string, options: PastOptions): Promise<number> {
  const path = `/v1/containers/${encodeURIComponent(code)}/content${query(options)}`;
  const show = (content: Content): void => {
    out(contentText(content));
    sayUpTo(content, options);
  };
  return showAnswer(gateway, { path, show }, options);
}

function contentText(content: Content): string {
  const { sscc, container, is_known: isKnown, unknown, packs, containers, items, documents, findings } = content;
  const typeAt = new Map(documents.map((one) => [one.known_at, tellerLine(one)]));
  return [
    `${sscc}${container === undefined ? '' : `  in ${container}`}`,
    ...(isKnown || items.length > 0 ? [`${packs} packs, ${containers} containers`] : []),
    ...(isKnown ? [] : [unknown?.sentence ?? 'content unknown']),
    ...items.map(
      (one) =>
        `${'  '.repeat(one.level)}${one.item}  ${typeAt.get(one.known_at) ?? ''}` +
        (one.content_unknown === undefined ? '' : '  content unknown'),
    ),
    ...findingLines(findings),
  ].join('\n');
}

/** How old the answer is; whoever asked for one as it was known then knows that. */
function sayUpTo({ known_at: knownAt }: { known_at?: string | undefined }, asked: PastOptions): void {
  if (knownAt !== undefined && asked.knownAt === undefined) sayKnownAt(knownAt);
}

/** A document with its acceptance; the registry's answer with the moment at which it was fetched. */
const tellerLine = ({ channel, doc_type, accepted_at, operation_date }: Content['documents'][number]): string =>
  channel === 'registry_answer'
    ? `told by the registry, fetched ${instant(operation_date)}`
    : `${doc_type} ${instant(accepted_at)}`;

function query({ asOf, knownAt }: PastOptions): string {
  const given = new URLSearchParams(defined({ as_of: asOf, known_at: knownAt }));
  return given.size === 0 ? '' : `?${given.toString()}`;
}
