import type { CaseEvent, CaseSighting } from '#domain';
import type { LoggedEvent } from '../campaign-log.js';
import type { CaseItem, RunFiles } from './case-files.js';
import { GTIN } from './stock-files.js';

/** Codes of the differences that were planted. */
const PLANTED = ['unknown_serial', 'sold_in_registry_in_stock_here', 'owner_or_branch_mismatch'];

interface CaseLife {
  caseId: string;
  code: string;
  events: CaseEvent[];
}

/** What one run did with one case. */
interface Told extends CaseLife {
  seen: CaseSighting[];
  /** The rows that it names. */
  rows: CaseItem[];
  ended: number;
}

/** One case for each cause, told once by each run; `runs` in the order of their moments. */
export function caseComplaints(streams: Map<string, LoggedEvent[]>, runs: RunFiles[]): string[] {
  const lives = [...streams].map(([stream, logged]): CaseLife => {
    const events = logged.map(({ type, data }) => ({ type, data }) as unknown as CaseEvent);
    const opened = events.find((one) => one.type === 'CaseOpened');
    return { caseId: stream.slice('case-'.length), code: opened?.data.code ?? '', events };
  });
  const held = new Map<string, Held>();
  return [
    ...lives.flatMap(({ caseId, events }) => {
      const opened = events.filter(({ type }) => type === 'CaseOpened').length;
      return opened === 1 ? [] : [`the case ${caseId} was opened ${opened} times`];
    }),
    ...runs.flatMap((run) => {
      const told = lives.map((life) => toldOf(life, run));
      const complaints = [
        ...told.flatMap((one) => sightingComplaints(one)),
        ...foundComplaints(told, run),
        ...told.flatMap((one) => heldComplaints(one, { run, held })),
      ];
      return complaints.map((one) => `${run.reason}: ${one}`);
    }),
  ];
}

function toldOf(life: CaseLife, { started, files }: RunFiles): Told {
  const id = started.inputsDigest;
  const seen = life.events.flatMap(({ data }) => ('seen' in data && data.seen?.run.id === id ? [data.seen] : []));
  const ended = life.events.filter(
    ({ type, data }) => type === 'CaseResolved' && data.by.kind === 'run' && data.by.run.id === id,
  );
  return {
    ...{ ...life, seen, ended: ended.length },
    rows: seen.slice(0, 1).flatMap(({ rows }) => files.get(rows?.file ?? '')?.slice(rows?.from, rows?.to) ?? []),
  };
}

/** A run tells a case once, or ends it once; and the rows that it names are those of the case. */
function sightingComplaints({ caseId, seen, rows, ended }: Told): string[] {
  const complaints =
    seen.length + ended < 2 ? [] : [`the case ${caseId} was told ${seen.length} times, and ended ${ended} times`];
  for (const { count, unjudged = 0 } of seen.slice(0, 1)) {
    const carried = rows.filter((row) => row.carried).length;
    if (rows.length !== count || carried !== unjudged)
      complaints.push(
        `the case ${caseId} has ${count} items, ${unjudged} not judged, and ${rows.length} rows, ${carried} carried`,
      );
    const others = rows.filter((row) => row.caseId !== caseId).length;
    if (others > 0) complaints.push(`${others} rows that the case ${caseId} names are of others`);
    if (new Set(rows.map(({ item }) => item)).size < rows.length) complaints.push(`the case ${caseId} has items twice`);
  }
  return complaints;
}

/** Each finding is in one case; and of what was planted, in the case of its cause. */
function foundComplaints(told: Told[], { found, expected, answered }: RunFiles): string[] {
  const inCases = told.flatMap(({ code, rows }) => itemsOf(rows).map((item) => `${item} ${code}`));
  const complaints = differences(
    found.map(({ item, code }) => `${item} ${code}`),
    { of: inCases, where: 'the items of its cases' },
  );
  if (expected === undefined) return complaints;
  const planted = told.flatMap(({ caseId, code, rows }) =>
    PLANTED.includes(code) ? itemsOf(rows).map((item) => `${item} of the case ${caseId}`) : [],
  );
  const wanted = [...expected.cases].flatMap(([caseId, items]) => items.map((item) => `${item} of the case ${caseId}`));
  const unanswered = [...expected.items].filter(
    (item) => expected.findings.get(item) !== 'unknown_serial' && !answered.has(item),
  );
  return [
    ...complaints,
    ...differences(wanted, { of: planted, where: 'what it told' }),
    ...unanswered.map((item) => `the registry told nothing of ${item}`),
  ];
}

const itemsOf = (rows: CaseItem[]): string[] => rows.flatMap(({ item, carried }) => (carried ? [] : [item]));

function differences(wanted: string[], { of, where }: { of: string[]; where: string }): string[] {
  const [asked, has] = [new Set(wanted), new Set(of)];
  return [
    ...wanted.filter((one) => !has.has(one)).map((one) => `${one} is not among ${where}`),
    ...of
      .filter((one, n) => !asked.has(one) || of.indexOf(one) !== n)
      .map((one) => `${one} is among ${where} once too often`),
  ];
}

/** What a case that is not resolved has by the runs before, and the moment of the last that told it. */
interface Held {
  items: Set<string>;
  moment: string;
}

/**
 * An item stays in its case until a run has judged it, and no longer. A run judges what it finds; and of what was
 * planted, whatever stands at a place of which its stock speaks, where the registry tells of it, or the stock has it no
 * more: no rule speaks of that. Of other codes it may have other reasons to judge nothing: there nothing is lost that
 * the registry does not tell of.
 */
function heldComplaints(told: Told, { run, held }: { run: RunFiles; held: Map<string, Held> }): string[] {
  const { caseId, code, seen, rows, ended, events } = told;
  const { moment } = run;
  const before = held.get(caseId) ?? { items: new Set<string>(), moment: '' };
  const found = new Set(run.found.flatMap((one) => (one.code === code ? [one.item] : [])));
  const place = placeOf(events);
  const isPlanted = (item: string): boolean => PLANTED.includes(code) && item.startsWith(GTIN);
  const isHere = (item: string): boolean =>
    run.places === null || run.stock.has(item) || (place !== null && run.places.includes(place));
  const isLookedFor = (item: string): boolean =>
    isPlanted(item) ? isHere(item) && (run.answered.has(item) || !run.stock.has(item)) : run.answered.has(item);
  const isJudged = (item: string): boolean => found.has(item) || isLookedFor(item);
  const mustBeJudged = (item: string): boolean => found.has(item) || (isPlanted(item) && isLookedFor(item));
  const isTold = seen.length > 0;
  const left = new Set(isTold ? rows.map(({ item }) => item) : ended > 0 ? [] : before.items);
  const lost = [...before.items].filter((item) => !left.has(item) && !isJudged(item));
  const carried = rows.flatMap((row) => (row.carried ? [row.item] : []));
  const kept = isTold ? carried : [...left];
  // Two runs of one moment: the second ends nothing.
  const mayStay = !isTold && moment <= before.moment;
  if (isTold) held.set(caseId, { items: left, moment });
  else if (ended > 0) held.delete(caseId);
  return [
    ...lost.map((item) => `the case ${caseId} lost ${item}, which was not judged`),
    ...carried.filter((item) => !before.items.has(item)).map((item) => `the case ${caseId} never had ${item}`),
    ...(mayStay ? [] : kept.filter(mustBeJudged)).map((item) => `the case ${caseId} kept ${item}, which was judged`),
  ];
}

/** Of a case of a series: what it was planted for stands there. */
function placeOf(events: CaseEvent[]): string | null {
  const opened = events.find((one) => one.type === 'CaseOpened');
  return opened?.data.cause.kind === 'series' ? opened.data.cause.place : null;
}
