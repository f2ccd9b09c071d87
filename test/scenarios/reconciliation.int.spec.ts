import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { arrival, TestHarness } from '../../apps/gateway/test/test-harness.js';
import { ANSWERS } from '../../apps/gateway/src/api/answers.js';
import { reconcile } from '../../apps/cli/src/commands/reconcile.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { reconcilerConfig } from '../../apps/reconciler/src/config.js';
import { startReconciler, type RunningReconciler } from '../../apps/reconciler/src/reconciler.js';
import { testDatabase } from '../support/database.js';

const PATH = '/v1/reconciliations';
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let harness: TestHarness;
let reconciler: RunningReconciler;
let ajv: Ajv2020;
/** One document that the registry has taken, and lists that have not shown it though they were read to their end. */
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  reconciler = await startReconciler(
    reconcilerConfig({ DATABASE_URL: harness.db.url, LOG_LEVEL: 'silent', RECONCILE_MISSING_MINUTES: '1' }),
    silent,
  );
  await harness.post({ command_id: 'taken', xml: arrival() });
  await harness.db.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type,
        subject_id, operation_date, item_count, phase, waiting_for, attempts, document_id, outcome, error_count,
        document_sha256, duplicate, registered_at, concluded_at)
     SELECT request_id, 1, 1, command_id, 'main', 701, '', '', 1, 'concluded', '[]', 1, 'registry-1', 'accepted', 0,
       '', false, now(), now() FROM command`,
  );
  await harness.db.pool.query(
    `INSERT INTO list_cursor (account, list, since, read_at, covered_from) VALUES ('main', 'outgoing', now(), ` +
      `now() + interval '1 hour', now() - interval '1 day')`,
  );
  ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, uuid: true } });
  ajv.addSchema({ $id: 'api', ...(await harness.ask('/v1/openapi.json')).json<object>() });
});
afterAll(async () => {
  await reconciler.stop();
  await harness.stop();
});

const conform = (name: keyof typeof ANSWERS, body: unknown): void => {
  ANSWERS[name].parse(body);
  if (!ajv.validate({ $ref: `api#/components/schemas/${name}` }, body)) throw new Error(ajv.errorsText());
};

/** What the command prints. */
async function run(options: { json?: boolean } = {}): Promise<{ status: number; printed: string }> {
  const written: string[] = [];
  const spy = jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  try {
    const status = await reconcile(new GatewayClient(harness.gateway.url), {
      reason: 'a pallet is disputed',
      wait: '30',
      ...options,
    });
    return { status, printed: written.join('') };
  } finally {
    spy.mockRestore();
  }
}

describe('a reconciliation that an operator asks for', () => {
  it('is made, printed with what to do, and ends with status 1 where something was found', async () => {
    const { status, printed } = await run();
    expect(status).toBe(1);
    expect(printed).toContain('missing_in_registry');
    expect(printed).toContain('Look the document up in the cabinet');
  });

  it('ends with status 0 once the list shows the document', async () => {
    await harness.db.pool.query(
      `INSERT INTO registry_document (document_id, request_id, direction, account, status) SELECT 'registry-1', ` +
        `request_id, 'outgoing', 'main', 'processed' FROM command`,
    );
    const { status, printed } = await run({ json: true });
    expect(status).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({
      state: 'completed',
      reason: 'a pallet is disputed',
      requested_by: 'local',
      result: { findings: 0, counts: { documents: 1, listed: 1 } },
      findings: [],
    });
  });

  it('is listed and told as the description of the API says', async () => {
    const page = (await harness.ask(`${PATH}?limit=100`)).json<{
      items: { id: string; result: { findings: number } }[];
    }>();
    conform('ReconciliationPage', page);
    const withFinding = page.items.find((one) => one.result.findings === 1);
    const detail = (await harness.ask(`${PATH}/${String(withFinding?.id)}`)).json<{ findings: object[] }>();
    conform('ReconciliationDetail', detail);
    expect(detail.findings).toMatchObject([
      { kind: 'missing_at_registry', document_id: 'registry-1', detail: { outcome: 'accepted' } },
    ]);
    expect((await harness.ask(`${PATH}/${String(withFinding?.id)}?kind=overdue`)).json()).toMatchObject({
      findings: [],
    });
  });

  it('needs a reason, and is not found under a wrong name', async () => {
    expect((await harness.post({}, PATH)).json()).toMatchObject({ status: 400, field: '/reason' });
    expect((await harness.ask(`${PATH}/nothing`)).status).toBe(404);
    const asked = await harness.post({ reason: 'by hand' }, PATH);
    expect([asked.status, asked.headers.get('location')]).toEqual([202, `${PATH}/${String(asked.json()['id'])}`]);
    conform('Reconciliation', asked.json());
  });
});
