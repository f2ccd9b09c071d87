import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { requestIdOf } from '#kernel';
import { installationId, type Pool } from '#postgres';
import type { ErpBroker } from './broker.js';
import type { CampaignLog } from './campaign-log.js';
import type { Erp } from './erp.js';
import type { FeedListener } from './listener.js';
import type { CampaignOptions } from './options.js';
import type { OrphanWatch } from './orphan-watch.js';
import type { Ground } from './services/ground.js';
import { cornersReached } from './subjects/corners/reached.js';
import type { DeadLetter, Ended, OurDocument, TruthDocument } from './subjects/subject.js';
import type { Struck } from './trouble.js';

const TRUTH_PAGE = 10_000;
const MOST_DEAD_LETTERS = 1_000;

export interface Gathered {
  ground: Ground;
  erp: Erp;
  pool: Pool;
  log: CampaignLog;
  feed: FeedListener;
  broker: ErpBroker | undefined;
  orphans: OrphanWatch;
}

/** GET of the sandbox's control port. */
export const truthOf =
  ({ sandbox }: Ground): Ended['truth'] =>
  async <T>(path: string) =>
    (await (await fetch(`${sandbox.controlUrl}${path}`)).json()) as T;

/** Everything that the checks look at, gathered while all programs still run. */
export async function endedOf(
  { ground, erp, pool, log, feed, broker, orphans }: Gathered,
  { options, struck }: { options: CampaignOptions; struck: Struck[] },
): Promise<Ended> {
  const truth = truthOf(ground);
  const client = new GatewayClient(ground.gateways[0]?.url as string);
  const installation = await installationId(pool);
  const { seed, minutes, kills } = options;
  await feed.readToTheEnd();
  await broker?.hearToTheEnd();
  return {
    fed: erp.fed,
    truth,
    pool,
    log,
    installation,
    seed,
    minutes,
    kills,
    orphans: await orphans.finish(),
    corners: await cornersReached(
      log,
      struck.filter(({ fault }) => fault.kind === 'kill' && fault.target.startsWith('worker')).map(({ at }) => at),
    ),
    ours: await documentsOf(client),
    registry: await registryDocuments(truth),
    heard: heardBy({ feed, broker }),
    deadLetters:
      broker === undefined
        ? undefined
        : (await client.get<{ items: DeadLetter[] }>(`/v1/operations/dead-letters?limit=${MOST_DEAD_LETTERS}`)).items,
    requestIdOf: (commandId) => requestIdOf(installation, commandId),
  };
}

/** The lists themselves: they grow as long as there is something to hear. */
export const heardBy = ({ feed, broker }: Pick<Gathered, 'feed' | 'broker'>): Ended['heard'] => ({
  feed: feed.record.messages,
  ...(broker === undefined ? {} : { bus: broker.record.messages }),
});

async function documentsOf(client: GatewayClient): Promise<Map<string, OurDocument>> {
  const ours = new Map<string, OurDocument>();
  for await (const one of client.list<OurDocument>('/v1/documents')) ours.set(one.requestId, one);
  return ours;
}

/** Everything that the registry has. */
export async function registryDocuments(truth: Ended['truth']): Promise<TruthDocument[]> {
  const all: TruthDocument[] = [];
  for (let after: number | null = 0; after !== null;) {
    const page: { documents: TruthDocument[]; next: number | null } = await truth(
      `/truth/documents?limit=${TRUTH_PAGE}&after=${after}`,
    );
    all.push(...page.documents);
    after = page.next;
  }
  return all;
}
