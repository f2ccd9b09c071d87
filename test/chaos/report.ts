import type { CampaignOptions } from './options.js';
import { SERVICE_FAULTS, type FaultKind } from './fault-kinds.js';
import { EVENT_KINDS, PHASE_NAMES, type Corners } from './subjects/corners/reached.js';
import type { Fed } from './subjects/subject.js';
import type { Struck } from './trouble.js';

export interface CheckResult {
  name: string;
  /** None is good. */
  complaints: string[];
  seconds: number;
}

export interface Report {
  seed: number;
  minutes: number;
  /** What repeats the campaign. */
  command: string;
  good: boolean;
  killed: Record<string, number>;
  kills: number;
  faults: Record<string, number>;
  serviceFaults: number;
  /** Programs frozen, clocks moved. */
  others: Record<string, number>;
  connectionsCut: number;
  broker: boolean;
  /** Where the event log lay. */
  log: 'database' | 'server';
  messages: Record<string, number>;
  outcomes: Record<string, number>;
  /** Absent where the campaign did not come to its checks. */
  corners: Corners | undefined;
  checks: CheckResult[];
  seconds: number;
}

export function reportOf(of: {
  options: CampaignOptions;
  fed: Fed[];
  struck: Struck[];
  results: CheckResult[];
  corners: Corners | undefined;
  connectionsCut: number;
  hasBroker: boolean;
  log: Report['log'];
  seconds: number;
}): Report {
  const { options, fed } = of;
  return {
    seed: options.seed,
    minutes: options.minutes,
    command: `${of.log === 'server' ? 'EVENTSTORE_URL=… ' : ''}${commandOf(options)}`,
    good: of.results.every((one) => one.complaints.length === 0),
    ...faultCounts(of.struck),
    connectionsCut: of.connectionsCut,
    broker: of.hasBroker,
    log: of.log,
    messages: counts(
      fed.map(
        (one) => `${one.via} ${one.acknowledgedMs === undefined ? (one.refusedCode ?? 'unanswered') : 'acknowledged'}`,
      ),
    ),
    outcomes: counts(
      fed.flatMap((one) =>
        one.expect.kind === 'taken' ? (one.documents?.map((document) => document.outcome) ?? [one.expect.outcome]) : [],
      ),
    ),
    corners: of.corners,
    checks: of.results,
    seconds: of.seconds,
  };
}

function faultCounts(struck: Struck[]): Pick<Report, 'killed' | 'kills' | 'faults' | 'serviceFaults' | 'others'> {
  const killed = counts(struck.filter(({ fault }) => fault.kind === 'kill').map(({ fault }) => fault.target));
  const ofService = (kind: FaultKind): boolean => (SERVICE_FAULTS as readonly FaultKind[]).includes(kind);
  const kindsWhere = (wanted: (kind: FaultKind) => boolean): Record<string, number> =>
    counts(struck.map(({ fault }) => fault.kind).filter(wanted));
  const faults = kindsWhere(ofService);
  const others = kindsWhere((kind) => kind !== 'kill' && !ofService(kind));
  return { killed, kills: sum(killed), faults, serviceFaults: sum(faults), others };
}

function commandOf({ seed, minutes, kills, serviceFaults, documents }: CampaignOptions): string {
  return (
    `npm run chaos -- --seed ${seed} --minutes ${minutes} --kills ${kills} --service-faults ${serviceFaults} ` +
    `--documents ${documents}`
  );
}

function counts(names: string[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of [...names].sort()) found[name] = (found[name] ?? 0) + 1;
  return found;
}

const sum = (of: Record<string, number>): number => Object.values(of).reduce((all, one) => all + one, 0);
const listed = (of: Record<string, number>): string =>
  Object.entries(of)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'none';

/** Which kinds of events and which phases under a kill there were, how often, and which there were not. */
function cornerLines({ events, crossed }: Corners): [string, string][] {
  const rest = (all: string[], found: object): string => all.filter((one) => !(one in found)).join(', ') || 'none';
  return [
    ['kinds of events', `${Object.keys(events).length} of ${EVENT_KINDS.length}: ${listed(events)}`],
    ['  not reached', rest(EVENT_KINDS, events)],
    ['phases under a kill', `${Object.keys(crossed).length} of ${PHASE_NAMES.length}: ${listed(crossed)}`],
    ['  not reached', rest(PHASE_NAMES, crossed)],
  ];
}

/** For people. */
export function reportText(report: Report): string {
  const lines: [string, string][] = [
    ['kills', `${report.kills}: ${listed(report.killed)}`],
    ['service faults', `${report.serviceFaults}: ${listed(report.faults)}`],
    ['besides', listed(report.others)],
    ['connections cut', String(report.connectionsCut)],
    ['event log', report.log === 'server' ? 'on the server of EVENTSTORE_URL, which no fault befell' : 'in PostgreSQL'],
    ['messages', listed(report.messages)],
    ['expected', listed(report.outcomes)],
    ...(report.corners === undefined ? [] : cornerLines(report.corners)),
    ...report.checks.map((one): [string, string] => [
      one.name,
      one.complaints.length === 0 ? `good (${one.seconds} s)` : `NOT GOOD\n  ${one.complaints.join('\n  ')}`,
    ]),
    ['seconds', String(report.seconds)],
    ['repeat with', report.command],
  ];
  if (!report.broker)
    lines.unshift([
      'WITHOUT A BROKER',
      'no rabbitmq-server could be started: no command went over AMQP, and no fault befell a broker',
    ]);
  return lines.map(([name, text]) => `${name.padEnd(26)} ${text}`).join('\n');
}
