import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { Metrics } from '#telemetry';
import { collectGatewayMetrics, type GatewayFigures } from './gateway-metrics.js';

it('deadlines are told by role and type: one series a type, however many documents came', async () => {
  const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
  const found = () => ({
    near: [{ role: 'sender' as const, docType: 415, near: 3, breached: 2 }],
    unknown: [{ role: 'receiver' as const, docType: 601, why: 'no_calendar' as const }],
    sentence: '',
  });
  // The other figures are away: each collector fails alone.
  collectGatewayMetrics(metrics, { deadlines: { found } } as unknown as GatewayFigures);
  const lines = (await metrics.text()).body.split('\n').filter((line) => line.startsWith('pedigree_deadlines_'));
  expect(lines.sort()).toEqual([
    'pedigree_deadlines_breached{role="sender",doc_type="415",program="gateway"} 2',
    'pedigree_deadlines_near{role="sender",doc_type="415",program="gateway"} 3',
    'pedigree_deadlines_unknown{role="receiver",doc_type="601",why="no_calendar",program="gateway"} 1',
  ]);
});

it('lists of an account that was removed are not late; other work for it is', async () => {
  const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
  const lanes = ['gone/list_incoming', 'gone/suspended_list', 'gone/status', 'main/list_incoming'].map((lane) => ({
    ...{ lane, ready: 1, leased: 0, overdue: 1, oldestDueAt: new Date(0) },
  }));
  const queue = { queueFigures: () => Promise.resolve({ ready: 4, leased: 0, failed: 0, lanes }) };
  collectGatewayMetrics(metrics, { queue, accounts: { names: ['main'] } } as unknown as GatewayFigures);
  const { body } = await metrics.text();
  const late = [...body.matchAll(/^pedigree_task_lag_seconds\{lane="([^"]+)"/gm)].map(([, lane]) => lane);
  expect(late).toEqual(['gone/status', 'main/list_incoming']);
});
