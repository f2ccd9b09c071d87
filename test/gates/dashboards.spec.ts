import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { METRICS, type MetricEntry } from '#telemetry';
import { ALERT_RULES as rules } from '../support/alert-rules.js';

const file = (path: string): string => readFileSync(new URL(`../../docker/grafana/${path}`, import.meta.url), 'utf8');
const table: Record<string, MetricEntry> = METRICS;

interface Expression {
  where: string;
  expr: string;
}

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}

const dashboard = JSON.parse(file('dashboard.json')) as { panels: Panel[] };
const shown: Expression[] = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ where: `panel ${title}`, expr })),
);
const alarmed: Expression[] = rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr }));

/** A metric of ours in an expression, with the labels that it is selected and grouped by. */
const metricsIn = (expr: string): string[] => [...expr.matchAll(/\bpedigree_[a-z_]+/g)].map(([name]) => name);
const familyOf = (name: string): string =>
  table[name] === undefined ? name.replace(/_(bucket|sum|count)$/, '') : name;
const selected = (expr: string): [string, string[]][] =>
  [...expr.matchAll(/\b(pedigree_[a-z_]+)\{([^}]*)\}/g)].map(([, name = '', inside = '']) => [
    name,
    [...inside.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  ]);
const grouped = (expr: string): string[] =>
  [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, inside = '']) => inside.split(',').map((label) => label.trim()));

/** Labels that every process has, or that Prometheus adds. */
const EVERYWHERE = ['program', 'instance', 'job', 'le'];

describe('the dashboard and the alert rules', () => {
  it.each([...shown, ...alarmed])('ask for metrics that exist, by labels that they have: $where', ({ expr }) => {
    const names = metricsIn(expr).map(familyOf);
    expect(names.length + (expr.match(/\bprocess_/g)?.length ?? 0)).toBeGreaterThan(0);
    expect(names.filter((name) => table[name] === undefined)).toEqual([]);
    const known = new Set([...EVERYWHERE, ...names.flatMap((name) => table[name]?.labels ?? [])]);
    expect(grouped(expr).filter((label) => !known.has(label))).toEqual([]);
    for (const [name, labels] of selected(expr))
      expect(
        labels.filter((label) => !EVERYWHERE.includes(label) && table[familyOf(name)]?.labels.includes(label) !== true),
      ).toEqual([]);
  });

  it('take rates of what counts up, and of nothing else', () => {
    for (const { expr } of [...shown, ...alarmed]) {
      const rated = [...expr.matchAll(/\b(?:rate|increase)\((pedigree_[a-z_]+)/g)].map(
        ([, name = '']) => table[familyOf(name)]?.kind,
      );
      expect(rated.filter((kind) => kind === 'gauge')).toEqual([]);
    }
  });

  it('show every metric of the table somewhere', () => {
    const used = new Set([...shown, ...alarmed].flatMap(({ expr }) => metricsIn(expr).map(familyOf)));
    const forContext = ['pedigree_info', 'pedigree_bus_connected'];
    expect(Object.keys(table).filter((name) => !used.has(name) && !forContext.includes(name))).toEqual([]);
  });

  it('tell for each alert what it means and what to do', () => {
    expect(rules.length).toBeGreaterThan(10);
    for (const { annotations } of rules) {
      expect(annotations?.summary).toMatch(/\.$/);
      expect(annotations?.action ?? '').not.toBe('');
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('tell when nothing is heard of a gateway, which tells most of the others', () => {
    const [rule] = rules.filter(({ expr }) => expr === 'absent(pedigree_info{program="gateway"})');
    expect(rule).toMatchObject({ alert: 'GatewayMissing', for: '2m' });
  });

  it('judge for how long one send is unknown, not how many are, nor how long a document waited before', () => {
    const rule = rules.find(({ alert }) => alert === 'SendOutcomeUnknown');
    expect(rule?.expr).toBe('max(pedigree_documents_unconfirmed_seconds) > 900');
    expect(rule?.annotations?.action).toContain('pedigree end GROUP --reason TEXT');
  });

  it('tell within minutes of a sign-in that ends behind its code, as where the signer signs nothing', () => {
    const rule = rules.find(({ alert }) => alert === 'SignInFails');
    expect(rule?.for).toBe('5m');
    // A code that was given counts as a try: only a token ends it.
    expect(rule?.expr).toContain('{method=~"sign_in_.+",result!="not_sent"}[15m])) > 0');
    expect(rule?.expr).toContain(
      'unless sum by (account) (increase(pedigree_registry_calls_total{method="sign_in_token",',
    );
  });

  it('end a week after the newest document was found twice: it stays counted, and would hide the next one', () => {
    const rule = rules.find(({ alert }) => alert === 'DocumentAtTheRegistryTwice');
    // Neither a gateway that was down then, nor a Prometheus that is younger, makes an old one new.
    const before = 'max(last_over_time(pedigree_documents_duplicate[1d] offset 7d))';
    expect(rule?.expr).toBe(`max(pedigree_documents_duplicate) > (${before} or vector(0))`);
  });

  it('would find a metric that is gone', () => {
    expect(
      metricsIn('max(pedigree_dead_letters_total) > 0')
        .map(familyOf)
        .filter((name) => table[name] === undefined),
    ).toEqual(['pedigree_dead_letters_total']);
  });
});
