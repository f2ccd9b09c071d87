import type { CheckedEvent } from '#proofs';
import { folded, list, make, row, section, table, type Cell, type PageElement } from './elements.js';
import { checkCells, checksOf, checksUpTo, NOT_PROVEN } from './checks.js';
import type { Outcome } from './check.js';

/** So many events are shown at once; a button shows more. */
const EVENTS_AT_ONCE = 250;
/** A longer text is not unfolded on the page. */
const MOST_SHOWN_CHARACTERS = 200_000;

/** The whole outcome: verdict, checks, events and what is not proven. */
export function outcomeSections(outcome: Outcome): PageElement[] {
  const holds = outcome.kind === 'holds';
  const isMet = !holds || outcome.verified.witnessed.isMet;
  const checks = holds ? checksOf(outcome.verified) : checksUpTo(outcome.field, outcome.why);
  return [
    section(
      'Result',
      holds && isMet
        ? verdict('good', '✔ The proof holds.', `${outcome.events.length} events are in the signed log, unchanged.`)
        : verdict('bad', '✘ The proof does not hold.', holds ? 'Too few witnesses have seen it.' : outcome.why),
      table('Checks', ['Check', 'Result', 'What it showed'], checks.map(checkCells)),
    ),
    holds && isMet
      ? section('Events', ...eventTable(outcome.events))
      : section('Events', make('p', {}, 'None is shown, because the proof does not hold.')),
    section('What this does not prove', list(NOT_PROVEN)),
  ];
}

const verdict = (kind: 'good' | 'bad', words: string, why: string): PageElement =>
  make('p', { class: `verdict ${kind}`, role: 'status', 'data-verdict': kind }, make('strong', {}, words), ` ${why}`);

function eventTable(events: CheckedEvent[]): PageElement[] {
  const body = make('tbody', {});
  const head = ['Version', 'Recorded (UTC)', 'Event', 'Who', 'What'].map((title) => make('th', { scope: 'col' }, title));
  const more = make('button', { type: 'button' });
  let shown = 0;
  const show = (count: number): void => {
    const next = events.slice(shown, shown + count);
    body.append(...next.map((event) => row(eventCells(event))));
    shown += next.length;
    more.textContent = `Show the other ${events.length - shown} events`;
    if (shown === events.length) more.setAttribute('hidden', '');
  };
  show(EVENTS_AT_ONCE);
  more.addEventListener('click', () => {
    show(events.length);
  });
  const caption = make('caption', {}, `${events.length} events, in the order of the log`);
  return [make('div', { class: 'wide' }, make('table', {}, caption, make('thead', {}, make('tr', {}, ...head)), body)), more];
}

function eventCells({ leaf, version, recordedAt, type, data, metadata, stream }: CheckedEvent): Cell[] {
  const { actor, reason, ...others } = JSON.parse(metadata) as Metadata;
  const about = { stream, leaf, ...others };
  return [
    String(version),
    make('time', { datetime: recordedAt }, recordedAt.replace('T', ' ').replace(/(\.\d+)?Z$/, '')),
    type,
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
