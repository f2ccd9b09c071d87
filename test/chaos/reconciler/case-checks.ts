import type { CaseEvent, CaseSighting } from '#domain';
import type { LoggedEvent } from '../campaign-log.js';
import type { LoggedRun } from './runs.js';
import type { Expected } from './stock-files.js';

/** Codes of the differences that were planted. */
const PLANTED = ['unknown_serial', 'sold_in_registry_in_stock_here', 'owner_or_branch_mismatch'];

interface CaseLife {
  caseId: string;
  code: string;
  events: CaseEvent[];
}

/** One case for each cause, told once by each run. */
export function caseComplaints(streams: Map<string, LoggedEvent[]>, runs: LoggedRun[]): string[] {
  const lives = [...streams].map(([stream, logged]): CaseLife => {
    const events = logged.map(({ type, data }) => ({ type, data }) as unknown as CaseEvent);
    const opened = events.find((one) => one.type === 'CaseOpened');
    return { caseId: stream.slice('case-'.length), code: opened?.data.code ?? '', events };
  });
  return [
    ...lives.flatMap(({ caseId, events }) => {
      const opened = events.filter(({ type }) => type === 'CaseOpened').length;
      return opened === 1 ? [] : [`the case ${caseId} was opened ${opened} times`];
    }),
    ...runs.flatMap((run, n) => [...toldComplaints(lives, run), ...endComplaints(lives, run, runs.slice(0, n))]),
  ];
}

const seenIn = ({ events }: CaseLife, run: LoggedRun): CaseSighting[] =>
  events.flatMap(({ data }) => ('seen' in data && data.seen?.run.id === run.started.inputsDigest ? [data.seen] : []));

/** A run tells each case that it found once, with all of its items. */
function toldComplaints(lives: CaseLife[], run: LoggedRun): string[] {
  const { reason, completed, expected } = run;
  const told = lives.map((life) => ({ ...life, seen: seenIn(life, run) }));
  const counts: Record<string, number> = {};
  for (const { code, seen } of told) {
    const items = seen.reduce((sum, one) => sum + one.count, 0);
    if (items > 0) counts[code] = (counts[code] ?? 0) + items;
  }
  const codes = [...new Set([...Object.keys(counts), ...Object.keys(completed.counts)])];
  return [
    ...told.flatMap(({ caseId, seen }) =>
      seen.length < 2 ? [] : [`${reason} told the case ${caseId} ${seen.length} times`],
    ),
    ...codes.flatMap((code) =>
      counts[code] === completed.counts[code]
        ? []
        : [`${reason} found ${completed.counts[code]} items of ${code}, and its cases have ${counts[code]}`],
    ),
    ...(expected === undefined ? [] : plantedComplaints(told, reason, expected)),
  ];
}

function plantedComplaints(
  told: (CaseLife & { seen: CaseSighting[] })[],
  reason: string,
  { cases }: Expected,
): string[] {
  const seen = new Map(
    told.flatMap(({ caseId, code, seen: [one] }) =>
      one !== undefined && PLANTED.includes(code) ? [[caseId, one.count] as const] : [],
    ),
  );
  return [...new Set([...seen.keys(), ...cases.keys()])].flatMap((caseId) =>
    seen.get(caseId) === cases.get(caseId)?.length
      ? []
      : [`${reason} must tell the case ${caseId} of ${cases.get(caseId)?.length} items, and told ${seen.get(caseId)}`],
  );
}

/** A run that looked at all items of a case and found it no more ends it, once; one that found it does not. */
function endComplaints(lives: CaseLife[], run: LoggedRun, earlier: LoggedRun[]): string[] {
  const before = earlier.at(-1)?.expected;
  const { expected, reason, started } = run;
  if (expected === undefined || before === undefined) return [];
  const ended = new Map(
    lives.map(({ caseId, events }) => [
      caseId,
      events.filter(
        ({ type, data }) =>
          type === 'CaseResolved' && data.by.kind === 'run' && data.by.run.id === started.inputsDigest,
      ).length,
    ]),
  );
  return [...before.cases].flatMap(([caseId, items]) => {
    const isFound = expected.cases.has(caseId);
    if (!isFound && !items.every((item) => expected.items.has(item))) return [];
    const wanted = isFound ? 0 : 1;
    return ended.get(caseId) === wanted
      ? []
      : [`${reason} must end the case ${caseId} ${wanted} times, and did ${ended.get(caseId)} times`];
  });
}
