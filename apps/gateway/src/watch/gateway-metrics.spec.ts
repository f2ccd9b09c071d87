import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { Metrics } from '#telemetry';
import { firing } from '../../../../test/support/alert-rules.js';
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

describe('a webhook whose receiver is away', () => {
  const agoMs = (ms: number): Date => new Date(Date.now() - ms);
  const delivery = { name: 'webhook:1', position: 1n, failures: 0, haltedAt: null, behind: 1 };
  const toldOf = async (rows: object[]): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const pool = { query: () => Promise.resolve({ rows }) };
    collectGatewayMetrics(metrics, { pool } as unknown as GatewayFigures);
    return (await metrics.text()).body;
  };

  it('raises an alert long before it halts, by the time for which it fails', async () => {
    const away = { ...delivery, failures: 12, failingSince: agoMs(1_800_000), oldestWaitingAt: agoMs(60_000) };
    const told = await toldOf([{ ...delivery, name: 'webhook:2', oldestWaitingAt: null }, away]);
    expect(Number(/^pedigree_webhooks_failing_seconds\S* (.*)$/m.exec(told)?.[1])).toBeCloseTo(1_800, -1);
    expect(firing([told])).toContain('WebhookFails');
    expect(firing([told])).not.toContain('WebhookHalted');
  });

  it('raises another where it lags for long and never fails, unless it has halted', async () => {
    const slow = { ...delivery, name: 'webhook:2', behind: 9, oldestWaitingAt: agoMs(3_700_000) };
    const told = await toldOf([{ ...delivery, oldestWaitingAt: agoMs(3_500_000) }, slow]);
    expect(Number(/^pedigree_webhooks_oldest_waiting_seconds\S* (.*)$/m.exec(told)?.[1])).toBeCloseTo(3_700, -1);
    expect(firing([told])).toContain('WebhookBehind');
    expect(firing([told])).not.toContain('WebhookFails');
    const others = [
      { ...slow, haltedAt: agoMs(9) },
      { ...slow, name: 'bus' },
      { ...delivery, oldestWaitingAt: null },
    ];
    expect(firing([await toldOf(others)])).not.toContain('WebhookBehind');
  });

  it.each([
    ['catches up after a long time', { oldestWaitingAt: agoMs(1_800_000) }],
    [
      'has failed a moment ago, with an outcome of long ago',
      { failures: 1, failingSince: agoMs(5_000), oldestWaitingAt: agoMs(90_000_000) },
    ],
    [
      'has halted, of which another alert tells',
      { failures: 30, haltedAt: agoMs(9), failingSince: agoMs(90_000_000), oldestWaitingAt: agoMs(90_000_000) },
    ],
  ])('raises none where it %s', async (_, state) => {
    expect(firing([await toldOf([{ ...delivery, ...state }])])).not.toContain('WebhookFails');
  });
});

it('a watch for suspensions that has never brought a list raises an alert after a day', async () => {
  const toldOf = async (hours: number | null): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const at = hours === null ? null : new Date(Date.now() - hours * 3_600_000);
    const query = (text: string) => Promise.resolve({ rows: text.includes('FROM registry_fetch') ? [{ at }] : [] });
    collectGatewayMetrics(metrics, { pool: { query } } as unknown as GatewayFigures);
    return (await metrics.text()).body;
  };
  expect(firing([await toldOf(25)])).toContain('SuspendedListOld');
  for (const hours of [23, null]) expect(firing([await toldOf(hours)])).not.toContain('SuspendedListOld');
});

it('documents of others that were given up raise an alert', async () => {
  const toldOf = async (documents: number): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const query = ({ name = '' }) => Promise.resolve({ rows: name === 'inbound-given-up' ? [{ documents }] : [] });
    collectGatewayMetrics(metrics, { pool: { query } } as unknown as GatewayFigures);
    return (await metrics.text()).body;
  };
  expect(firing([await toldOf(2)])).toContain('InboundDocumentGivenUp');
  expect(firing([await toldOf(0)])).not.toContain('InboundDocumentGivenUp');
});

it('a document of others that has no end after a day raises an alert', async () => {
  const toldOf = async (hours: number): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const rows = [{ documents: 0, seconds: hours * 3_600 }];
    const query = ({ name = '' }) => Promise.resolve({ rows: name.startsWith('inbound-') ? rows : [] });
    collectGatewayMetrics(metrics, { pool: { query } } as unknown as GatewayFigures);
    return (await metrics.text()).body;
  };
  expect(firing([await toldOf(25)])).toEqual(['InboundDocumentOverdue']);
  expect(firing([await toldOf(23)])).toEqual([]);
});

it('a send that is unknown for a quarter of an hour raises an alert, and many that are known after a moment none', async () => {
  const toldOf = async (minutes: number): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const [phases, oldest] = [[{ phase: 'unconfirmed', documents: 40, seconds: 0 }], [{ requestId: 'r-1' }]];
    const rows: Record<string, object[]> = { 'document-phases': phases, 'document-unconfirmed': oldest };
    const query = ({ name = '' }) => Promise.resolve({ rows: rows[name] ?? [] });
    const recordedAt = new Date(Date.now() - minutes * 60_000);
    const store = { eventAt: () => Promise.resolve({ recordedAt }) };
    collectGatewayMetrics(metrics, { pool: { query }, store } as never);
    return (await metrics.text()).body;
  };
  expect(firing([await toldOf(16)])).toEqual(['SendOutcomeUnknown']);
  expect(firing([await toldOf(14)])).toEqual([]);
});

it('an installation without API keys is told of none that expires soon', async () => {
  const toldOf = async (expiresSeconds: number | undefined): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const keys = { figures: () => ({ suspended: 0, expiresSeconds }) };
    collectGatewayMetrics(metrics, { keys } as unknown as GatewayFigures);
    return (await metrics.text()).body;
  };
  expect(firing([await toldOf(86_400)])).toEqual(['ApiKeyExpiresSoon']);
  for (const seconds of [undefined, 15 * 86_400]) expect(firing([await toldOf(seconds)])).toEqual([]);
});

describe('a document list that is not read whole', () => {
  const toldOf = async (rows: object[]): Promise<string> => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: 'p', clock: new VirtualClock() });
    const pool = { query: (text: string) => Promise.resolve({ rows: text.includes('FROM list_cursor') ? rows : [] }) };
    collectGatewayMetrics(metrics, { pool, accounts: { names: ['main', 'spare'] } } as unknown as GatewayFigures);
    return (await metrics.text()).body;
  };
  const [read, unread] = [0, 3_700];

  it('raises an alert where no account has read it for an hour', async () => {
    const outgoing = { account: 'main', list: 'outgoing', seconds: read };
    const told = await toldOf([outgoing, { account: 'main', list: 'incoming', seconds: unread }]);
    expect(firing([told])).toEqual(['DocumentListUnread incoming']);
  });

  it('raises none where another account reads it', async () => {
    const incoming = [unread, read].map((seconds, n) => ({ account: ['main', 'spare'][n], list: 'incoming', seconds }));
    expect(firing([await toldOf(incoming)])).toEqual([]);
  });
});
