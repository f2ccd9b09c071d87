import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { commandHere } from '../../../../test/support/command-here.js';
import { FakeEventStore } from '../../../../test/support/event-store-fake/fake-event-store.js';
import { cliConfig, type CliConfig } from '../config.js';
import { offerConsumer, showConsumer, withdrawConsumer } from './consumers.js';

const fake = new FakeEventStore();
let config: CliConfig;
let printed = '';

beforeAll(async () => {
  await fake.start();
  config = cliConfig({ EVENTSTORE_URL: fake.url });
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterAll(async () => {
  jest.restoreAllMocks();
  await fake.stop();
});

async function output(run: () => Promise<number>): Promise<string> {
  printed = '';
  expect(await run()).toBe(0);
  return printed;
}

describe('pedigree consumers', () => {
  it('offers, shows and withdraws a persistent subscription', async () => {
    expect(await output(() => offerConsumer(config, 'reports', { streams: ['document-'], from: 'start' }))).toMatch(
      /twice and out of order/,
    );
    expect(await output(() => showConsumer(config, 'reports', false))).toMatch(/reports.*Live/);
    expect(JSON.parse(await output(() => showConsumer(config, 'reports', true)))).toMatchObject({
      name: 'reports',
      consumers: 0,
      parked: 0,
    });
    await output(() => withdrawConsumer(config, 'reports'));
    await expect(showConsumer(config, 'reports', false)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('says what is missing where the log has no server, and what --from may be', async () => {
    await expect(offerConsumer(cliConfig({}), 'reports', { from: 'start' })).rejects.toThrow(
      /^EVENTSTORE_URL: not set/,
    );
    await expect(offerConsumer(config, 'reports', { from: 'middle' })).rejects.toThrow(/--from must be start or end/);
  });

  it('says in words that the server of the log is away', async () => {
    const away = await commandHere(['consumers', 'show', 'reports'], {
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    });
    expect(away).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('127.0.0.1:1') });
    expect(away.stderr).not.toContain('    at ');
  });
});
