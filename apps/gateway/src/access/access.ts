import { whileLogIsAway } from '#event-store';
import { PedigreeError, systemClock } from '#kernel';
import { installationId, type Pool } from '#postgres';
import { isForThisMachine, type GatewayConfig } from '../config.js';
import type { Services } from '../services.js';
import { ApiKeys } from './api-keys.js';
import { KeyRegister } from './key-register.js';
import { listKeys, wasEverKeyed } from './key-table.js';
import { KeyWatch } from './key-watch.js';
import { MAKE_A_KEY } from './local-call.js';
import { AccessLog } from './access-log.js';
import { RefusalCounts } from './refusal-counts.js';
import { WrongKeys } from './wrong-keys.js';

/** Who may call, and the watch over their keys. */
export interface Access {
  keys: ApiKeys;
  keyWatch: KeyWatch;
  accessLog: AccessLog;
  refusals: RefusalCounts;
}

/** Throws PedigreeError when the API would be open to everybody. */
export async function openAccess(
  config: GatewayConfig,
  { pool, store, log, watching, says }: Services,
): Promise<Access> {
  const register = new KeyRegister({ pool, store, program: 'gateway', ...says });
  await whileLogIsAway(systemClock, () => register.catchUp());
  await refuseOpenDoor(config, pool);
  const common = { clock: systemClock, log };
  const accessLog = new AccessLog({ store, says, installationId: await installationId(pool), clock: systemClock });
  const refusals = new RefusalCounts({ accessLog, ...common });
  const wrongKeys = new WrongKeys({ ...common, metrics: watching.metrics, refusals });
  const keyWatch = new KeyWatch({
    register,
    list: () => listKeys(pool),
    isKeyed: () => wasEverKeyed(pool),
    ...common,
  });
  const keys = new ApiKeys({ pool, trustsLoopback: isForThisMachine(config), register, wrongKeys, log });
  return { keys, keyWatch, accessLog, refusals };
}

/**
 * Whoever can reach the machine, or the proxy before it, could command it: another address than loopback needs an API
 * key first.
 */
async function refuseOpenDoor(config: GatewayConfig, pool: Pool): Promise<void> {
  if (isForThisMachine(config) || (await wasEverKeyed(pool))) return;
  const [field, what] = config.isBehindProxy
    ? ['PEDIGREE_BEHIND_PROXY', 'serving a proxy']
    : ['HOST', `listening on ${config.host}`];
  const message = `${field}: ${what} is refused before the first API key; make one with: ${MAKE_A_KEY}`;
  throw new PedigreeError('invalid_configuration', message, { field });
}
