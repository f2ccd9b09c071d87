import { describe, expect, it, jest } from '@jest/globals';
import { PerformanceObserver } from 'node:perf_hooks';
import { VirtualClock } from '#kernel';
import { METRICS } from './metric-table.js';
import { Metrics, type MetricsOptions } from './metrics.js';

const metrics = (more: Partial<MetricsOptions> = {}) =>
  new Metrics({ program: 'worker', version: '1.2.3', profile: 'mdlp', clock: new VirtualClock(), ...more });
const lines = async (of: Metrics): Promise<string[]> => (await of.text()).body.split('\n');

describe('the metrics of a process', () => {
  it('say what runs, and carry the program in every line', async () => {
    const { contentType, body } = await metrics().text();
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(body).toContain('pedigree_info{version="1.2.3",profile="mdlp",program="worker"} 1');
    expect(body).toContain('process_cpu_user_seconds_total{program="worker"}');
  });

  it('watch the process once, however often they are made, and each shows what was seen', async () => {
    metrics();
    const observe = jest.spyOn(PerformanceObserver.prototype, 'observe');
    const [worker, auditor] = [metrics(), metrics({ program: 'auditor' })];
    expect(observe).not.toHaveBeenCalled();
    observe.mockRestore();
    const told = async (of: Metrics) =>
      (await lines(of)).filter((line) => line.startsWith('process_start_time_seconds{'));
    expect([await told(worker), await told(auditor)]).toEqual([
      [expect.stringContaining('program="worker"')],
      [expect.stringContaining('program="auditor"')],
    ]);
  });

  it('count, observe and set under the labels of the table', async () => {
    const one = metrics();
    one.count('pedigree_commands_total', { source: 'http', result: 'acknowledged' }, 2);
    one.count('pedigree_commands_total', { source: 'http', result: 'acknowledged' });
    one.observe('pedigree_task_seconds', { kind: 'send' }, 0.2);
    one.set('pedigree_dead_letters', {}, 4);
    const text = await lines(one);
    expect(text).toContain('pedigree_commands_total{source="http",result="acknowledged",program="worker"} 3');
    const buckets = text.filter(
      (line) => line.startsWith('pedigree_task_seconds_bucket') && line.includes('kind="send"'),
    );
    expect(buckets.find((line) => line.includes('le="0.25"'))).toMatch(/ 1$/);
    expect(buckets.find((line) => line.includes('le="0.1"'))).toMatch(/ 0$/);
    expect(text).toContain('pedigree_dead_letters{program="worker"} 4');
  });

  it('leave out a gauge that has no value now', async () => {
    const one = metrics();
    const shown = async () => (await lines(one)).filter((line) => line.startsWith('pedigree_segment_newest'));
    one.setOrClear('pedigree_segment_newest_seconds', 0);
    expect(await shown()).toEqual(['pedigree_segment_newest_seconds{program="worker"} 0']);
    one.setOrClear('pedigree_segment_newest_seconds', undefined);
    expect(await shown()).toEqual([]);
  });

  it('forget what a new reading does not name', async () => {
    const one = metrics();
    one.replace('pedigree_tasks_ready', [{ labels: { lane: 'a/send' }, value: 7 }]);
    one.replace('pedigree_tasks_ready', [{ labels: { lane: 'b/send' }, value: 1 }]);
    one.replace('pedigree_registry_rate_limited_total', [{ labels: { account: 'a', method: 'send' }, value: 5 }]);
    const text = (await lines(one)).filter((line) => /^pedigree_(tasks_ready|registry_rate)/.test(line));
    expect(text).toEqual([
      'pedigree_tasks_ready{lane="b/send",program="worker"} 1',
      'pedigree_registry_rate_limited_total{account="a",method="send",program="worker"} 5',
    ]);
  });

  it('ask collectors when they are read, but not more often than allowed', async () => {
    const clock = new VirtualClock();
    const one = metrics({ clock, collectEveryMs: 5_000 });
    let dead = 0;
    const collector = jest.fn(async () => one.set('pedigree_dead_letters', {}, (dead += 1)));
    one.collect(collector);
    await Promise.all([one.text(), one.text()]);
    await one.text();
    expect(collector).toHaveBeenCalledTimes(1);
    clock.advance(5_000);
    expect(await lines(one)).toContain('pedigree_dead_letters{program="worker"} 2');
  });

  it('answer all the same when a collector fails or never ends, and say so', async () => {
    const clock = new VirtualClock();
    const errors: unknown[] = [];
    const one = metrics({ clock, collectWithinMs: 4_000, onError: (error) => errors.push(error) });
    one.collect(() => Promise.reject(new Error('the database is away')));
    one.collect(() => new Promise(() => undefined));
    one.collect(() => one.set('pedigree_dead_letters', {}, 1));
    const reading = one.text();
    // The failure is noted before the clock moves; what never ends is given up by it.
    for (let i = 0; i < 10; i += 1) await Promise.resolve();
    clock.advance(4_000);
    expect((await reading).body).toContain('pedigree_dead_letters{program="worker"} 1');
    expect(errors.map((error) => (error as Error).message)).toEqual([
      'the database is away',
      'a collector of metrics took more than 4000 ms',
    ]);
  });
});

describe('a collector that is slower than the scrapes', () => {
  it('is waited for again and not begun again, so that a slow database is not asked the same by many', async () => {
    const clock = new VirtualClock();
    const one = metrics({ clock, collectWithinMs: 4_000, collectEveryMs: 5_000 });
    const ends: (() => void)[] = [];
    one.collect(() => new Promise((resolve) => void ends.push(resolve)));
    const scrape = async (): Promise<unknown> => {
      const reading = one.text();
      for (let i = 0; i < 10; i += 1) await Promise.resolve();
      clock.advance(5_000);
      return reading;
    };
    for (let scrapes = 0; scrapes < 3; scrapes += 1) await scrape();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await scrape();
    clock.advance(5_000);
    await scrape();
    expect(ends.length).toBeGreaterThan(1);
    clock.advance(60_000);
    const begun = ends.length;
    await scrape();
    expect(ends).toHaveLength(begun + 1);
  });
});

describe('the table of metrics', () => {
  it('follows the naming rules of Prometheus: units last, totals for what counts up', () => {
    for (const [name, { kind, help, labels }] of Object.entries(METRICS)) {
      expect(name).toMatch(/^pedigree_[a-z0-9_]+$/);
      expect(name.endsWith('_total')).toBe(kind === 'counter');
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(help).toMatch(/\.$/);
      for (const label of labels) expect(label).toMatch(/^[a-z_]+$/);
    }
  });
});
