import type { z } from 'zod';
import type { suspensionReply } from '#read-models';
import { html, page, tableOf } from '#reconciliation';

type Reply = z.infer<typeof suspensionReply>;

/** The reply as a page to print and to file. It needs no network and runs no script. */
export function replyLetter(reply: Reply): string {
  const { number, date, from, product, series, matches, places, totals, record, series_unknown } = reply;
  const { title: what, by, digest } = WORDS[reply.source];
  const title =
    number === undefined ? `Reply about series ${series} of ${product}` : `${what} ${number} of ${date ?? ''}`;
  const rows = places.map((one) => [one.place, one.found, one.quarantined, one.shipped, one.returned]);
  const all = ['all places', totals.found, totals.quarantined, totals.shipped, totals.returned];
  const means = matches.map((one) => `${one.series} of ${one.gtin}`).join(', ');
  return page(
    title,
    html`<h1>${title}</h1>
      <p class="lead">${from === undefined ? by : `from ${from}`}</p>
      <h2>What it is about</h2>
      ${tableOf('As it is written, and what it means', NAMED, [
        ['says', reply.action],
        ['product', product],
        ['series', series],
        ['packs that are meant', means === '' ? 'none of a product that we know of' : means],
        [`${digest} (SHA-256)`, html`<code>${reply.letter_sha256 ?? reply.list_sha256}</code>`],
      ])}
      <h2>What was found</h2>
      <p>${sentenceOf(reply)}</p>
      ${tableOf('Packs, by place', PLACES, [...rows, all])}
      <h2>Our record</h2>
      <p>Packs by branch, as our documents tell them at ${reply.as_of}. What was sold or written off is left out.</p>
      ${record.map(recordOf)} ${series_unknown.filter(({ packs }) => packs > 0).map(unknownOf)}
      <h2>Where it stands in the log</h2>
      ${tableOf('The event that recorded the reply', NAMED, [
        ['replied at', reply.replied_at],
        ['replied by', `${reply.replied_by.name} (${reply.replied_by.authenticated_by})`],
        ['reason', reply.reason],
        ['answers version', `${reply.version}${reply.is_newest ? '' : '; it counts no more, a reply is owed again'}`],
        ['log position', reply.position],
        ['stream and version', html`<code>${reply.stream}</code>, ${reply.stream_version}`],
      ])}
      <p class="soft">Proof: <code>pedigree audit prove --stream ${reply.stream}</code></p>`,
  );
}

const NAMED = [{ name: 'what' }, { name: '' }];
const numbers = (...names: string[]) => names.map((name) => ({ name, isNumber: true }));
const PLACES = [{ name: 'place' }, ...numbers('found', 'quarantined', 'shipped', 'returned')];
const BRANCHES = [{ name: 'branch' }, { name: 'standing' }, { name: 'place' }, ...numbers('packs'), { name: 'newest' }];

/** By what a series is suspended. */
const WORDS: Record<Reply['source'], { title: string; by: string; digest: string }> = {
  letter: { title: 'Reply to the letter', by: 'by a letter', digest: 'digest of the letter' },
  list: { title: 'Reply to the list', by: 'by the list of the registry', digest: 'digest of the list' },
  decision: {
    ...{ title: 'Reply to the decision', by: 'by the decisions of the registry' },
    digest: 'digest of the list of decisions',
  },
};

/**
 * Who reads it takes it for the whole truth: what our record knows, or may know, is no part of "nothing". Nor does
 * anybody say here what was sold.
 */
function sentenceOf({ nothing_found: isNothing, places, record, series_unknown: unknown }: Reply): string {
  const looked = `${places.length} places were looked at`;
  if (!isNothing) return `${looked}.`;
  const known = record.flatMap(({ branches }) => branches).reduce((sum, { packs }) => sum + packs, 0);
  const untold = unknown.reduce((sum, { packs }) => sum + packs, 0);
  if (known === 0 && untold === 0)
    return `Nothing was found: ${looked}, and none has packs of it, shipped any or got any back.`;
  return [
    `Nothing was found: ${looked}.`,
    ...(known === 0 ? [] : [`Our record knows ${known} packs of it, and tells below where they are.`]),
    ...(untold === 0 ? [] : [`Of ${untold} packs no document has told the series, and some may be of it.`]),
  ].join(' ');
}

type Held = Reply['record'][number];

const recordOf = ({ gtin, series, known_at: knownAt, branches }: Held) =>
  tableOf(`${series} of ${gtin}, up to log position ${knownAt}`, BRANCHES, rowsOf(branches));

/** Once for a product, whichever of its series are meant. */
const unknownOf = ({ gtin, packs, branches }: Reply['series_unknown'][number]) =>
  tableOf(
    `Packs of ${gtin} whose series no document has told: ${packs}. Some may be concerned`,
    BRANCHES,
    rowsOf(branches),
  );

const rowsOf = (branches: Held['branches']) =>
  branches.length === 0
    ? [['none', 'our record holds no pack that is concerned', '', 0, '']]
    : branches.map((one) => [one.branch, one.standing, one.place, one.packs, one.newest_at]);
