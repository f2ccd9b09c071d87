import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { arrival, SGTIN, TestHarness } from '../../apps/gateway/test/test-harness.js';
import { startSandbox } from '../../apps/sandbox/src/main.js';
import { Health, HttpPort } from '#service';
import { Metrics, serveMetrics } from '#telemetry';
import { testDatabase } from '../support/database.js';
import { sized } from '../support/sized.js';
import { fuzz as fuzzPort, FURTHER_ROUTES } from '../soak/fuzz.js';
import { routesOf, type Material, type OpenApi } from '../soak/nonsense.js';

/**
 * FUZZ_REQUESTS=100000 for the long run, FUZZ_SEED to repeat one. The registry's own port of the sandbox has a test
 * like this beside it.
 */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? sized({ test: 1_000, soak: 4_000 }));
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const LONGEST_MS = 60 * 60_000;

/**
 * Sends requests of all kinds to a port; returns how often each status came. An uncaught error fails the whole spec, so
 * a server that would have ended is noticed.
 */
async function fuzz(url: string, material: Omit<Material, 'host'>, requests: number): Promise<Record<string, number>> {
  const { statuses, wrong } = await fuzzPort(url, material, { seed: SEED, goesOn: (sent) => sent < requests });
  expect(wrong).toEqual([]);
  return statuses;
}

/** What bodies of the sandbox's control port have. */
const CONTROL_FIELDS = (
  'sgtin sscc xml from to request_id account name count rate knobs fault method times advanceMs setTo speed ' +
  'intervalMs gtin series kind'
).split(' ');

describe(`nonsense at every door (FUZZ_SEED=${SEED}, FUZZ_REQUESTS=${REQUESTS})`, () => {
  describe('the gateway', () => {
    let harness: TestHarness;
    beforeAll(async () => {
      harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
    });
    afterAll(() => harness.stop());

    it(
      'answers what its description names, and anything else, with no fault of ours',
      async () => {
        const openApi = (await harness.ask('/v1/openapi.json')).json<OpenApi>();
        await harness.post({ command_id: 'one', xml: arrival(), reference: 'r' });
        const known = [
          'one',
          'new',
          await harness.run('one'),
          SGTIN,
          arrival(),
          arrival('<sgtin>0460</sgtin>'),
          'main',
          'a good reason',
          '2026-01-15T09:00:00Z',
          'a'.repeat(64),
          '0',
          '1',
          '100',
        ];
        const statuses = await fuzz(
          harness.gateway.url,
          { routes: [...routesOf(openApi), ...FURTHER_ROUTES], known, schemas: openApi.components.schemas },
          REQUESTS,
        );
        // The run is worth something only when many requests got past the front door.
        expect(Math.min(...['200', '400', '404', '422'].map((status) => statuses[status] ?? 0))).toBeGreaterThan(
          REQUESTS / 200,
        );
        expect(harness.logged.filter((line) => Number(line['level']) >= 50)).toEqual([]);
        expect((await harness.ask('/health/ready')).status).toBe(200);
        expect((await harness.post({ command_id: 'afterwards', xml: arrival() })).status).toBe(202);
      },
      LONGEST_MS,
    );
  });

  it(
    'the health port of every program',
    async () => {
      const health = new Health('worker');
      health.phase = 'running';
      const metrics = new Metrics({ program: 'worker', version: '0', profile: 'test' });
      const port = await HttpPort.open({ port: 0, host: '127.0.0.1', health });
      serveMetrics(metrics, port, health);
      try {
        const routes = ['/health/live', '/health/ready', '/metrics', '/{x}'].map((path) => ({
          verb: 'GET',
          path,
          query: [],
        }));
        // Whoever asks for anything else is turned away while nothing is served: 503, deliberately.
        const statuses = await fuzz(port.url, { routes, known: ['x'] }, REQUESTS / 4);
        expect(statuses['200'] ?? 0).toBeGreaterThan(REQUESTS / 40);
        expect((await fetch(`${port.url}/health/live`)).status).toBe(200);
      } finally {
        await port.drain(0);
      }
    },
    LONGEST_MS,
  );

  it(
    'the control port of the sandbox',
    async () => {
      const sandbox = await startSandbox({ limits: false, language: 'en' });
      try {
        const told = ((await (await fetch(`${sandbox.controlUrl}/nowhere`)).json()) as { error_description: string })
          .error_description;
        const named = told.split('it has ')[1]?.split(', ') ?? [];
        const text = { type: 'string' };
        const properties = Object.fromEntries(CONTROL_FIELDS.map((name) => [name, text]));
        const routes = named.map((one) => ({
          verb: one.split(' ')[0] ?? '',
          path: (one.split(' ')[1] ?? '').replace(/\/$/, '/{x}'),
          query: [{ name: 'limit', schema: text }],
          body: { properties },
        }));
        expect(routes.length).toBeGreaterThan(20);
        const statuses = await fuzz(
          sandbox.controlUrl,
          { routes, known: ['main', SGTIN, '1', '100', 'x', arrival()] },
          REQUESTS / 2,
        );
        expect(Math.min(...['200', '400', '404'].map((status) => statuses[status] ?? 0))).toBeGreaterThan(
          REQUESTS / 200,
        );
        expect((await fetch(`${sandbox.controlUrl}/health`)).status).toBe(200);
      } finally {
        await sandbox.stop();
      }
    },
    LONGEST_MS,
  );
});
