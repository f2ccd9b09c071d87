import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import TestSequencer from '@jest/test-sequencer';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What the long specs take beside others on two cores, s. A wrong figure costs some time and nothing else. */
export const LONG = {
  'libs/reconciliation/src/cases/judged.int.spec.ts': 250,
  'libs/reconciliation/src/cases/pack-cases.int.spec.ts': 215,
  'test/scenarios/unkind-registry.int.spec.ts': 205,
  'test/scenarios/lives.prop.int.spec.ts': 155,
  'test/scenarios/stock-over-bus.int.spec.ts': 155,
  'apps/reconciler/src/stock-runs.int.spec.ts': 125,
  'apps/worker/src/registry-tasks/crash-points.int.spec.ts': 115,
  'test/scenarios/exports.int.spec.ts': 105,
  'test/scenarios/least-rights.int.spec.ts': 105,
  'apps/worker/src/suspensions/watch-list.int.spec.ts': 95,
  'libs/segments/src/segments.int.spec.ts': 90,
  'test/scenarios/main-job.int.spec.ts': 90,
  'apps/cli/src/commands/up.int.spec.ts': 85,
  'libs/reconciliation/src/snapshots/import.int.spec.ts': 85,
  'test/chaos/reconciler/reconciler-campaign.int.spec.ts': 85,
  'test/scenarios/suspension-stop.int.spec.ts': 85,
  'libs/subscriptions/src/rebuild/rebuild-beside.int.spec.ts': 75,
  'apps/cli/src/commands/rebuild.int.spec.ts': 70,
  'test/scenarios/every-type.int.spec.ts': 70,
  'test/scenarios/single-knobs.int.spec.ts': 70,
  'apps/cli/src/main.int.spec.ts': 65,
  'apps/worker/src/suspensions/watch-decisions.int.spec.ts': 65,
  'libs/item-claims/src/item-claims.int.spec.ts': 65,
  'apps/worker/src/fetches/read-export.int.spec.ts': 60,
  'libs/read-models/src/pack-state/pack-state.prop.int.spec.ts': 60,
  'test/scenarios/inbound-retries.int.spec.ts': 60,
  'apps/cli/bin/setup.int.spec.ts': 55,
  'libs/item-claims/src/places.int.spec.ts': 55,
  'libs/segments/src/states.prop.int.spec.ts': 55,
  'test/scenarios/signers.int.spec.ts': 55,
  'apps/auditor/src/memory/tampering.int.spec.ts': 50,
  'apps/gateway/src/access/refused-keys.int.spec.ts': 50,
  'libs/item-claims/src/stories.prop.int.spec.ts': 50,
  'libs/reconciliation/src/comparison/planted-world.int.spec.ts': 50,
  'test/scenarios/client-operations.int.spec.ts': 50,
  'test/scenarios/misbehaviour.int.spec.ts': 50,
  'test/scenarios/paused-account.int.spec.ts': 50,
  'apps/cli/src/quick-start.int.spec.ts': 45,
  'apps/worker/src/orphans/orphans.int.spec.ts': 45,
  'libs/documents/src/schemas/schema-dir.spec.ts': 45,
  'libs/reconciliation/src/runs/run.int.spec.ts': 45,
  'test/scenarios/inbound.int.spec.ts': 45,
  'test/scenarios/large-document.int.spec.ts': 45,
  'test/scenarios/registry-fetch.int.spec.ts': 45,
  'test/scenarios/sequence-gate.int.spec.ts': 45,
  'apps/auditor/src/auditor.int.spec.ts': 40,
  'apps/cli/src/answers/answer-proofs.int.spec.ts': 40,
  'apps/gateway/src/api/answers.int.spec.ts': 40,
  'apps/worker/src/golden.int.spec.ts': 40,
  'libs/proofs/src/segments/pack-proof.prop.spec.ts': 40,
  'libs/reconciliation/src/reports/run-report.int.spec.ts': 40,
  'test/scenarios/holds.int.spec.ts': 40,
  'apps/cli/src/proof-page/page-verifier.spec.ts': 35,
  'apps/gateway/src/api/bodies.int.spec.ts': 35,
  'apps/worker/src/suspensions/strange-entries.int.spec.ts': 35,
  'libs/reconciliation/src/comparison/comparison.prop.int.spec.ts': 35,
  'libs/subscriptions/src/parked.int.spec.ts': 35,
  'test/scenarios/event-store.int.spec.ts': 35,
  'test/scenarios/faults.int.spec.ts': 35,
  'test/scenarios/groups.int.spec.ts': 35,
  'test/scenarios/resends.int.spec.ts': 35,
  'test/scenarios/watching.int.spec.ts': 35,
  'apps/auditor/src/proof/proof.int.spec.ts': 30,
  'apps/cli/src/commands/audit-break.int.spec.ts': 30,
  'apps/cli/src/commands/database.int.spec.ts': 30,
  'libs/postgres/src/embedded.int.spec.ts': 30,
  'libs/reconciliation/src/cases/graces.int.spec.ts': 30,
  'libs/registry-client/src/lists/document-cursor.prop.spec.ts': 30,
  'test/bench/log/ways.int.spec.ts': 30,
  'test/chaos/checks.int.spec.ts': 30,
  'test/gates/jest-environment.int.spec.ts': 30,
  'test/scenarios/lists-away.int.spec.ts': 30,
  'test/scenarios/nonsense.int.spec.ts': 30,
  'apps/cli/src/commands/audit-check.int.spec.ts': 25,
  'apps/cli/src/lost-reader.int.spec.ts': 25,
  'apps/cli/src/stack/stack.int.spec.ts': 25,
  'apps/gateway/src/access/access-log.int.spec.ts': 25,
  'apps/gateway/src/cases/cases.int.spec.ts': 25,
  'apps/sandbox/src/checks/rules.int.spec.ts': 25,
  'apps/worker/src/mail/suspension-mail.int.spec.ts': 25,
  'libs/bus/src/rabbitmq/blocked.int.spec.ts': 25,
  'libs/bus/src/rabbitmq/quorum-queues.int.spec.ts': 25,
  'libs/read-models/src/sgtin-history/sgtin-history.int.spec.ts': 25,
  'libs/read-models/src/sgtin-history/told-content.int.spec.ts': 25,
  'libs/subscriptions/src/compare/compare-beside.int.spec.ts': 25,
  'test/clients/python-client.int.spec.ts': 25,
  'test/gates/documents.int.spec.ts': 25,
  'test/scenarios/inner-errors.int.spec.ts': 25,
  'test/scenarios/planted-registry.int.spec.ts': 25,
  'test/scenarios/witnesses.int.spec.ts': 25,
  'apps/auditor/src/counts/counting.int.spec.ts': 20,
  'apps/cli/src/stack/sandbox-process.int.spec.ts': 20,
  'apps/gateway/src/access/key-register.int.spec.ts': 20,
  'apps/sandbox/src/counterparties/counterparties.int.spec.ts': 20,
  'apps/worker/src/account/account-gates.int.spec.ts': 20,
  'libs/bus/src/rabbitmq/uncounted.int.spec.ts': 20,
  'libs/event-store/src/eventstoredb.int.spec.ts': 20,
  'libs/event-store/src/eventstoredb/server-facts.int.spec.ts': 20,
  'libs/item-claims/src/held-items.int.spec.ts': 20,
  'libs/item-claims/src/missed-ends.int.spec.ts': 20,
  'test/scenarios/erp-page.int.spec.ts': 20,
  'test/scenarios/container-content.int.spec.ts': 10,
  'test/scenarios/reconciliation.int.spec.ts': 10,
  'test/scenarios/witnessed-auditor.int.spec.ts': 5,
};
/** A scenario that the table does not know, s: most of it is waiting for a registry that takes its time. */
const SCENARIO = 40;
/** What a kilobyte of any other spec takes, s: those with a database or a server in them, and those without. */
const PER_KB = { withServices: 0.7, alone: 0.5 };

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
