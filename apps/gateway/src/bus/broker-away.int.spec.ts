import { expect, it } from '@jest/globals';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { arrival, TestHarness } from '../../test/test-harness.js';

/** A port on which nobody listens. */
const NOWHERE = { amqpUrl: 'amqp://guest:guest@127.0.0.1:1', prefix: 'pedigree', deliveryLimit: 10 };

it('takes commands over HTTP while the broker is away, and says so to whoever balances the load', async () => {
  const harness = await TestHarness.start(await testDatabase(TestHarness.schemas), { bus: NOWHERE });
  try {
    const ready = () => harness.ask('/health/ready');
    await until('the broker is seen to be away', async () => /"rabbitmq"[^}]*"down"/.test((await ready()).text));
    const answer = await ready();
    expect([answer.status, answer.json()]).toMatchObject([
      200,
      { status: 'degraded', degraded: expect.arrayContaining([expect.objectContaining({ name: 'rabbitmq' })]) },
    ]);
    expect((await harness.post({ command_id: 'broker-away', xml: arrival() })).status).toBe(202);
  } finally {
    await harness.stop();
  }
});
