import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import TestSequencer from '@jest/test-sequencer';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What the long specs take beside others on two cores, s. A wrong figure costs some time and nothing else. */
export const LONG = {
  'test/scenarios/lives.prop.int.spec.ts': 150,
  'test/chaos/chaos.int.spec.ts': 120,
  'test/scenarios/incremental.int.spec.ts': 110,
  'test/scenarios/suspension-stop.int.spec.ts': 90,
  'apps/worker/src/fetches/read-pages.int.spec.ts': 85,
  'apps/auditor/src/sweep/regular-sweep.int.spec.ts': 65,
  'test/scenarios/crash.int.spec.ts': 65,
  'test/scenarios/item-waits.int.spec.ts': 65,
  'test/scenarios/main-job.int.spec.ts': 60,
  'test/scenarios/reconcile-file.int.spec.ts': 60,
  'test/scenarios/troubles.int.spec.ts': 60,
  'apps/cli/src/commands/up.int.spec.ts': 55,
  'apps/gateway/src/access/refused-keys.int.spec.ts': 55,
  'test/scenarios/processes.int.spec.ts': 55,
  'apps/cli/src/main.int.spec.ts': 50,
  'libs/subscriptions/src/rebuild/rebuild-beside.int.spec.ts': 50,
  'test/scenarios/openapi-examples.int.spec.ts': 50,
  'test/scenarios/sequence-gate.int.spec.ts': 50,
  'apps/auditor/src/auditor.int.spec.ts': 45,
  'apps/gateway/src/api/bodies.int.spec.ts': 45,
  'apps/worker/src/registry-tasks/crash-points.int.spec.ts': 45,
  'test/scenarios/planted-registry.int.spec.ts': 45,
  'test/scenarios/shifted-clock.int.spec.ts': 45,
  'test/scenarios/suspensions.int.spec.ts': 45,
  'apps/cli/bin/setup.int.spec.ts': 40,
  'libs/postgres/src/embedded.int.spec.ts': 40,
  'libs/reconciliation/src/comparison/comparison.prop.int.spec.ts': 40,
  'test/chaos/checks.int.spec.ts': 40,
  'test/scenarios/witness-crash.int.spec.ts': 40,
  'apps/cli/src/commands/rebuild.int.spec.ts': 35,
  'apps/reconciler/src/stock-runs.int.spec.ts': 35,
  'apps/worker/src/orphans/orphans.int.spec.ts': 35,
  'libs/bus/src/rabbitmq/rabbitmq-bus.int.spec.ts': 35,
  'libs/subscriptions/src/parked.int.spec.ts': 35,
  'test/scenarios/deadlines.int.spec.ts': 35,
  'apps/worker/src/suspensions/watch-list.int.spec.ts': 30,
  'test/chaos/reconciler/reconciler-campaign.int.spec.ts': 30,
  'test/scenarios/paused-account.int.spec.ts': 20,
  'test/scenarios/inner-errors.int.spec.ts': 15,
  'test/scenarios/least-rights.int.spec.ts': 15,
  'test/scenarios/signers.int.spec.ts': 15,
  'test/scenarios/watching.int.spec.ts': 15,
  'test/scenarios/container-content.int.spec.ts': 10,
  'test/scenarios/every-type.int.spec.ts': 10,
  'test/scenarios/inbound.int.spec.ts': 10,
  'test/scenarios/registry-fetch.int.spec.ts': 10,
  'test/scenarios/erp-page.int.spec.ts': 5,
  'test/scenarios/nonsense.int.spec.ts': 5,
  'test/scenarios/reconciliation.int.spec.ts': 5,
  'test/scenarios/witnessed-auditor.int.spec.ts': 5,
};
/** A scenario that the table does not know, s: most of it is waiting for a registry that takes its time. */
const SCENARIO = 30;
/** What a kilobyte of any other spec takes, s: those with a database or a server in them, and those without. */
const PER_KB = { withServices: 0.5, alone: 0.1 };

/**
 * The order in which specs begin, so that no worker is left with a long one when the others have ended, and long ones,
 * which mostly wait, run beside short ones, which mostly compute: two rows, each with the longest first, from which
 * whoever is free takes the one whose row is behind in time.
 * @param {{ path: string, bytes: number }[]} specs paths relative to the root, with `/`
 * @returns {string[]} the paths in their order; the same for the same specs, however they came
 */
export function inOrder(specs) {
  const weighed = specs
    .map(({ path, bytes }) => ({ path, seconds: secondsOf(path, bytes) }))
    .sort((a, b) => b.seconds - a.seconds || (a.path < b.path ? -1 : 1));
  const isLong = ({ path }) => path in LONG || isScenario(path);
  const rows = [weighed.filter(isLong), weighed.filter((spec) => !isLong(spec))].map((waiting) => ({
    waiting,
    seconds: 0,
  }));
  return specs.map(() => {
    const [long, short] = rows;
    const row = short.waiting.length === 0 || (long.waiting.length > 0 && long.seconds <= short.seconds) ? long : short;
    const next = row.waiting.shift();
    row.seconds += next.seconds;
    return next.path;
  });
}

const isScenario = (path) => path.startsWith('test/scenarios/');

function secondsOf(path, bytes) {
  if (path in LONG) return LONG[path];
  if (isScenario(path)) return SCENARIO;
  return (bytes / 1024) * (path.endsWith('.int.spec.ts') ? PER_KB.withServices : PER_KB.alone);
}

/** Jest's own order needs the times of an earlier run, which a clean clone has not; without them it goes by size. */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const byPath = new Map(tests.map((test) => [relative(ROOT, test.path).replaceAll('\\', '/'), test]));
    return inOrder([...byPath].map(([path, test]) => ({ path, bytes: statSync(test.path).size }))).map((path) =>
      byPath.get(path),
    );
  }
}
