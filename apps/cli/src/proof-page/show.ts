import type { CheckedEvent } from '#proofs';
import { folded, list, make, row, section, table, type Cell, type PageElement } from './elements.js';
import { checkCells, checksOf, checksUpTo, NOT_PROVEN } from './checks.js';
import type { Outcome } from './check.js';

/** So many events are shown at once; a button shows more. */
const EVENTS_AT_ONCE = 250;
/** A longer text is not unfolded on the page. */
const MOST_SHOWN_CHARACTERS = 200_000;

/** The outcome in one sentence, for the top of the page. */
export function verdictOf(outcome: Outcome): { kind: 'good' | 'bad'; words: string; why: string } {
  if (outcome.kind === 'refused') return { kind: 'bad', words: '✘ The proof does not hold.', why: outcome.why };
  const { witnessed } = outcome.verified;
  if (!witnessed.isMet)
    return { kind: 'bad', words: '✘ Too few witnesses have seen the log.', why: 'See the table of checks.' };
  const why = `${outcome.events.length} events are in the signed log, unchanged.`;
  return { kind: 'good', words: '✔ The proof holds.', why };
}

/** What was checked, and what is not proven. */
export const checkSections = (outcome: Outcome): PageElement[] => [
  section(
    'Checks',
    table(
      'What was checked, and what it showed',
      ['Check', 'Result', 'What it showed'],
      (outcome.kind === 'holds' ? checksOf(outcome.verified) : checksUpTo(outcome.field, outcome.why)).map(checkCells),
    ),
  ),
  section('What this does not prove', list(NOT_PROVEN)),
];

/** The events of a proof that holds. */
export const eventSection = (outcome: Outcome): PageElement =>
  verdictOf(outcome).kind === 'good' && outcome.kind === 'holds'
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

/** Parts of the file that are neither events nor what proves them. */
const PROOF_LINES = new Set(['format', 'stream', 'entry', 'count', 'end', 'evidence']);

/** Evidence, and every further part of the file, as far as it is told from the lines alone. */
export function otherSections(text: string): PageElement[] {
  const [evidence, others]: [Cell[][], PageElement[]] = [[], []];
  for (const line of text.split('\n')) {
    // Nearly every line is an event, and is not read again.
    if (line === '' || line.startsWith('{"entry"')) continue;
    const part = partOf(line);
    const [name = ''] = Object.keys(part);
    if (name === 'evidence') evidence.push(evidenceCells(part as unknown as EvidenceLine));
    else if (name !== '' && !PROOF_LINES.has(name)) others.push(otherPart(part));
  }
  return [
    ...(evidence.length === 0
      ? []
      : [section('Evidence', table('Bytes that the events name', ['SHA-256', 'Bytes', 'Content'], evidence))]),
    ...(others.length === 0 ? [] : [section('Further parts of the file', make('p', {}, FURTHER), ...others)]),
  ];
}

const FURTHER = 'Shown as the file has them. Only what the table of checks names was checked.';

function partOf(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const otherPart = (part: Record<string, unknown>): PageElement =>
  make(
    'div',
    {},
    ...Object.entries(part).flatMap(([name, value]) => [
      make('h3', {}, name),
      make('pre', {}, typeof value === 'string' ? value : JSON.stringify(value, null, 2)),
    ]),
  );

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
