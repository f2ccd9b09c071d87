import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { firing } from '../../../test/support/alert-rules.js';
import { Metrics } from './metrics.js';
import { serveMetrics } from './serve-metrics.js';

/** What a program tells of itself, as long as its readiness says this. */
async function told(readiness: { parts?: { name: string; status: string }[]; degraded?: string[] }): Promise<string> {
  const metrics = new Metrics({ program: 'auditor', version: '1', profile: '', clock: new VirtualClock() });
  let answer = (): Promise<{ body: string }> => Promise.reject(new Error('no route'));
  const { parts = [], degraded } = readiness;
  const shown = { parts, ...(degraded === undefined ? {} : { degraded: degraded.map((name) => ({ name })) }) };
  serveMetrics(metrics, { answer: (_, route) => void (answer = route) }, { readiness: () => shown });
  return (await answer()).body;
}

it('tells which services answer', async () => {
  const parts = [
    { name: 'postgresql', status: 'down' },
    { name: 'eventstore', status: 'up' },
  ];
  expect(firing([await told({ parts })])).toEqual(['ServiceAway auditor postgresql']);
});

it.each([
  'checkpoint',
  'audit sweep',
  'stream counts',
  'connections',
  'api keys',
  'witness example.org/1',
  'signer of main',
])('raises an alert while readiness is degraded by what no other alert tells: %s', async (name) =>
  expect(firing([await told({ degraded: [name, name] })])).toEqual([`ProgramDegraded auditor ${name}`]),
);

it.each(['account main', 'certificate of main', 'dead letters', 'signed history', 'witnesses', 'rabbitmq'])(
  'leaves it to another alert to tell of %s',
  async (name) => expect(firing([await told({ degraded: [name] })])).toEqual([]),
);

it('raises none while all is well', async () => expect(firing([await told({})])).toEqual([]));
