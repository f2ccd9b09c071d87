import type { CheckedEvent } from '#proofs';
import { folded, list, make, row, section, table, type Cell, type PageElement } from './elements.js';
import { checkCells, checksOf, checksUpTo, furtherChecks, NOT_PROVEN } from './checks.js';
import type { Outcome } from './check.js';

/** So many events are shown at once; a button shows more. */
const EVENTS_AT_ONCE = 250;
/** A longer text is not unfolded on the page. */
const MOST_SHOWN_CHARACTERS = 200_000;

/** The outcome in one sentence, for the top of the page. */
export function verdictOf(
  outcome: Outcome,
  { further }: Pick<OtherLines, 'further'>,
): { kind: 'good' | 'bad'; words: string; why: string } {
  if (outcome.kind === 'refused') return { kind: 'bad', words: '✘ The proof does not hold.', why: outcome.why };
  const { witnessed } = outcome.verified;
  if (!witnessed.isMet)
    return { kind: 'bad', words: '✘ Too few witnesses have seen the log.', why: 'See the table of checks.' };
  const only = further.length === 0 ? '' : ' Further parts of the file are not proven.';
  const why = `${outcome.events.length} events are in the signed log, unchanged.${only}`;
  return { kind: 'good', words: '✔ The proof holds.', why };
}

/** What was checked, and what is not proven. */
export const checkSections = (outcome: Outcome, { further }: Pick<OtherLines, 'further'>): PageElement[] => [
  section(
    'Checks',
    table(
      'What was checked, and what it showed',
      ['Check', 'Result', 'What it showed'],
      (outcome.kind === 'holds'
        ? [...checksOf(outcome.verified), ...furtherChecks(new Set(further.map(([name]) => name)))]
        : checksUpTo(outcome.field, outcome.why)
      ).map(checkCells),
    ),
  ),
  section('What this does not prove', list(NOT_PROVEN)),
];

/** The events of a proof that holds. */
export const eventSection = (outcome: Outcome): PageElement =>
  outcome.kind === 'holds' && outcome.verified.witnessed.isMet
    ? section('Events', ...eventTable(outcome.events))
    : section('Events', make('p', {}, 'None is shown, because the proof does not hold.'));

function eventTable(events: CheckedEvent[]): PageElement[] {
  const body = make('tbody', {});
  const head = ['Version', 'Recorded (UTC)', 'Event', 'Who', 'What'].map((title) =>
    make('th', { scope: 'col' }, title),
  );
  const [more, count] = [make('button', { type: 'button' }), make('p', { role: 'status' })];
  let shown = 0;
  const show = (most: number): void => {
    const next = events.slice(shown, shown + most);
    body.append(...next.map((event) => row(eventCells(event))));
    shown += next.length;
    count.textContent = `${shown} of ${events.length} events are shown.`;
    more.textContent = `Show the other ${events.length - shown} events`;
    if (shown === events.length) more.setAttribute('hidden', '');
  };
  show(EVENTS_AT_ONCE);
  more.addEventListener('click', () => {
    show(events.length);
  });
  const caption = make('caption', {}, `${events.length} events, in the order of the log`);
  return [
    make('div', { class: 'wide' }, make('table', {}, caption, make('thead', {}, make('tr', {}, ...head)), body)),
    count,
    more,
  ];
}

function eventCells({ leaf, version, recordedAt, type, data, metadata, stream }: CheckedEvent): Cell[] {
  const { actor, reason, ...others } = JSON.parse(metadata) as Metadata;
  const about = { stream, leaf, ...others };
  return [
    String(version),
    make('time', { datetime: recordedAt }, recordedAt.replace('T', ' ').replace(/(\.\d+)?Z$/, '')),
    make('strong', {}, type),
    make('span', {}, whoWords(actor), ...(reason === undefined ? [] : [make('br'), `Reason: ${reason}`])),
    make('div', {}, fields(JSON.parse(data) as object), folded('Metadata', fields(about))),
  ];
}

interface Metadata {
  actor?: { kind?: string; name?: string; authenticatedBy?: string };
  reason?: string;
}

const whoWords = (actor: Metadata['actor']): string =>
  actor === undefined
    ? 'not said'
    : `${actor.kind ?? ''} ${actor.name ?? ''}, authenticated by ${actor.authenticatedBy ?? 'nothing that is named'}`;

/** The names and values of an object; what is nested is JSON. */
export const fields = (value: object): PageElement =>
  make(
    'dl',
    {},
    ...Object.entries(value).flatMap(([name, one]) => [make('dt', {}, name), make('dd', {}, ...valueParts(one))]),
  );

function valueParts(value: unknown): Cell[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  const text = JSON.stringify(value, null, 1);
  return [text.length < 200 ? make('code', {}, JSON.stringify(value)) : folded('Show', make('pre', {}, text))];
}

/** What the verifier of every version proves, or proves with. */
const PROOF_LINES = new Set(['format', 'stream', 'entry', 'count', 'end', 'evidence']);
/** So many further parts are shown. */
const MOST_FURTHER_PARTS = 250;

interface OtherLines {
  evidence: EvidenceLine[];
  /** Parts that this page does not know: by name, in the order of the file. */
  further: [string, unknown][];
}

/** The lines of a proof that holds, besides events and what proves them. */
export function otherLines(text: string): OtherLines {
  const lines: OtherLines = { evidence: [], further: [] };
  for (const line of text.split('\n')) {
    // Nearly every line is an event, and is not read again.
    if (line.trim() === '' || line.startsWith('{"entry"')) continue;
    const part = partOf(line);
    if ('evidence' in part) lines.evidence.push(part as unknown as EvidenceLine);
    else if (!Object.keys(part).some((name) => PROOF_LINES.has(name))) lines.further.push(...Object.entries(part));
  }
  return lines;
}

/** Evidence, and every further part as the file has it. */
export function otherSections({ evidence, further }: OtherLines): PageElement[] {
  const [evidenceTitle, head] = ['Bytes that the events name', ['SHA-256', 'Bytes', 'Content']];
  const shown = further
    .slice(0, MOST_FURTHER_PARTS)
    .flatMap(([name, value]) => [make('h3', {}, name), partShown(value)]);
  const count = `${Math.min(further.length, MOST_FURTHER_PARTS)} of ${further.length} further parts are shown.`;
  return [
    ...(further.length === 0 ? [] : [section('Further parts of the file', make('p', {}, FURTHER), ...shown, count)]),
    ...(evidence.length === 0 ? [] : [section('Evidence', table(evidenceTitle, head, evidence.map(evidenceCells)))]),
  ];
}

const FURTHER =
  'Shown as the file has them. This page does not work them out from the events. Where the command can, it does: ' +
  'pedigree audit verify.';

function partOf(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return { line };
  }
}

/** Names and values; what is JSON, also within a text, is set out. */
const partShown = (part: unknown): PageElement =>
  typeof part === 'object' && part !== null && !Array.isArray(part)
    ? make(
        'dl',
        {},
        ...Object.entries(part).flatMap(([name, one]) => [make('dt', {}, name), make('dd', {}, setOut(one))]),
      )
    : make('p', {}, setOut(part));

function setOut(value: unknown): Cell {
  if (typeof value === 'object') return make('pre', {}, JSON.stringify(value, null, 2));
  const text = String(value);
  const within = /^[[{]/.test(text) ? partOf(text) : undefined;
  return within === undefined || 'line' in within ? text : make('pre', {}, JSON.stringify(within, null, 2));
}

interface EvidenceLine {
  evidence: string;
  length: number;
  bytes?: string;
}

const evidenceCells = ({ evidence, length, bytes }: EvidenceLine): Cell[] => [
  make('code', {}, evidence),
  String(length),
  bytes === undefined ? 'not in this file' : contentCell(Buffer.from(bytes, 'base64')),
];

/** As text where it is text. */
function contentCell(bytes: Uint8Array): Cell {
  if (bytes.length > MOST_SHOWN_CHARACTERS) return 'too long to be shown here';
  try {
    return folded('Show', make('pre', {}, new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch {
    return 'in this file, and no text';
  }
}
