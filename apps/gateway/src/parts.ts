import { documentReading, typeKnowledge } from '#documents';
import { systemClock } from '#kernel';
import { installationId } from '#postgres';
import { orphans, PostgresReadModels } from '#read-models';
import { programProcesses } from '#service';
import { subscriptionLag } from '#subscriptions';
import type { Access } from './access/access.js';
import { Accounts } from './accounts/accounts.js';
import { Cases } from './cases/cases.js';
import { NOT_CHECKED, packsSuspendedBy } from './suspensions/packs-suspended.js';
import { MockRecalls } from './mock-recalls/mock-recalls.js';
import { StockUploads } from './stock-uploads/stock-uploads.js';
import { Suspensions } from './suspensions/suspensions.js';
import type { GatewayConfig } from './config.js';
import type { GatewayParts } from './gateway.module.js';
import { DeadlineWatch } from './deadlines/deadline-watch.js';
import { Holds } from './holds/holds.js';
import { InboundRetries } from './inbound/inbound-retries.js';
import { acknowledgedAmong } from './intake/command-table.js';
import { BusWatch } from './operations/bus-watch.js';
import { DeadLetters } from './operations/dead-letters.js';
import { Operations, replanTask } from './operations/operations.js';
import { OrphanWatch } from './orphans/orphan-watch.js';
import type { OutcomesSide } from './outcomes/start-outcomes.js';
import { ProgramWatch } from './programs/program-watch.js';
import { PackFindings } from './reconciliations/pack-findings.js';
import { Reconciliations } from './reconciliations/reconciliations.js';
import { endBy } from './resends/may-turn.js';
import { Resends } from './resends/resends.js';
import type { Services } from './services.js';
import { groupStateIn } from './stream-events.js';
import { collectGatewayMetrics } from './watch/gateway-metrics.js';
import { ObservedIntake } from './watch/observed-intake.js';

/** What looks at the installation again and again, and says what is wrong with it. */
export interface Watches {
  accounts: Accounts;
  orphans: OrphanWatch;
  programs: ProgramWatch;
  keys: Access['keyWatch'];
  refusals: Access['refusals'];
  bus: BusWatch;
  deadlines: DeadlineWatch;
  stockUploads: StockUploads;
}

export function watchesOf(
  { accounts, expectedPrograms: expected, calendarFile, deadlineAlertMs: alertMs, stockFolder: folder }: GatewayConfig,
  { pool, store, queue, bus, evidence, log, says }: Services,
  { keyWatch: keys, refusals, accessLog }: Access,
): Watches {
  const common = { clock: systemClock, log };
  return {
    accounts: new Accounts({ store, queue, accounts, ...says, ...common }),
    orphans: new OrphanWatch({ find: () => orphans(pool, store), ...common }),
    programs: new ProgramWatch({
      processes: () => programProcesses(pool),
      subscriptions: () => subscriptionLag(pool, store),
      expected,
      ...common,
    }),
    keys,
    refusals,
    bus: new BusWatch({ bus, ...common }),
    deadlines: new DeadlineWatch({ pool, evidence, calendarFile, alertMs, ...common }),
    stockUploads: new StockUploads({
      folder,
      record: (uploaded, actor) => accessLog.stockUploaded(uploaded, { actor }),
      ...common,
    }),
  };
}

/** What intake has others told. */
const tellingBy = ({ pool, queue, log }: Pick<Services, 'pool' | 'queue' | 'log'>) => ({
  tellAgain: async (id: string, what: string): Promise<void> => {
    await queue.schedule(pool, [replanTask({ kind: 'group', id }, what)]);
  },
  packsNotAsked: (from: object): void => log.warn(from, `${NOT_CHECKED}, from this document of a command on`),
});

/** What the controllers are built on. */
export async function partsOf(
  config: GatewayConfig,
  services: Services,
  { watches, ...given }: { watches: Watches } & Pick<Access, 'keys' | 'accessLog'> & OutcomesSide,
): Promise<GatewayParts> {
  const { pool, store, queue, bus, evidence, log, watching, says } = services;
  const { accounts, maxBacklog, maxDocumentBytes, maxItems, schemas, bodyLimits, failedGraceMs, segmentsFolder } =
    config;
  const installation = { installationId: await installationId(pool) };
  const asking = { pool, store, queue };
  // Whether a group may be resumed is decided on the log, not on a read model that may be behind.
  const groupState = (groupId: string) => groupStateIn(store, groupId);
  const limits = { accounts, maxBacklog, maxDocumentBytes, maxItems, schemas };
  const packsSuspended = packsSuspendedBy({ pool, store, log, clock: systemClock });
  const asked = { groupState, packsSuspended, ...tellingBy(services), endOf: endBy({ pool, store, failedGraceMs }) };
  const intake = new ObservedIntake({ pool, evidence, queue, ...asked, ...installation, ...limits }, watching);
  const resends = new Resends({ pool, store, evidence, intake, failedGraceMs });
  const readModels = readModelsOf(config, services);
  collectGatewayMetrics(watching.metrics, { ...watches, pool, store, queue, bus });
  return {
    ...{ pool, store, intake, evidence },
    ...given,
    ...installation,
    ...{ bodyLimits, schemas, log },
    accounts: watches.accounts,
    stockUploads: watches.stockUploads,
    operations: new Operations({ ...asking, ...watches, accounts, ...says }),
    deadLetters: new DeadLetters({ bus, store, evidence, ...says }),
    reconciliations: new Reconciliations({ ...asking, accounts, packFindings: new PackFindings(segmentsFolder) }),
    cases: new Cases({ ...services, ...installation, ...config, resends, intake, clock: systemClock }),
    suspensions: new Suspensions({ ...services, ...installation, clock: systemClock }),
    mockRecalls: new MockRecalls({ ...services, ...installation, readModels, clock: systemClock }),
    holds: new Holds(asking),
    inboundRetries: new InboundRetries({ ...asking, readModels, accounts }),
    resends,
    readModels,
  };
}

const readModelsOf = ({ calendarFile, zone }: GatewayConfig, { pool, store, evidence }: Services): PostgresReadModels =>
  new PostgresReadModels({
    pool,
    store,
    evidence,
    documents: documentReading(),
    types: typeKnowledge,
    calendar: calendarFile?.calendar,
    zone,
    received: (requestIds) => acknowledgedAmong(pool, requestIds),
  });
