import { describe, expect, it } from '@jest/globals';
import { describeReconcilerConfig, reconcilerConfig } from './config.js';

const GOOD = { DATABASE_URL: 'postgres://pedigree:hidden-word@127.0.0.1:5432/postgres' };
const HOUR_MS = 3_600_000;

describe('the reconciler’s configuration', () => {
  it('needs the database and has defaults for the rest', () => {
    expect(reconcilerConfig(GOOD)).toMatchObject({
      dailyHour: 1,
      participant: 'own',
      rules: {
        windowMs: 40 * 24 * HOUR_MS,
        missingAfterMs: HOUR_MS,
        overdueAfterMs: 24 * HOUR_MS,
        overdueAfterMsByType: {},
      },
    });
  });

  it('has limits by document type', () => {
    expect(
      reconcilerConfig({ ...GOOD, RECONCILE_OVERDUE_HOURS_BY_TYPE: '415=48,701=0.5' }).rules.overdueAfterMsByType,
    ).toEqual({ 415: 48 * HOUR_MS, 701: HOUR_MS / 2 });
  });

  it.each([
    ['DATABASE_URL', undefined],
    ['DATABASE_URL', 'mysql://there'],
    ['RECONCILE_DAILY_HOUR', '24'],
    ['RECONCILE_WINDOW_DAYS', '0'],
    ['RECONCILE_MISSING_MINUTES', 'soon'],
    ['RECONCILE_OVERDUE_HOURS_BY_TYPE', '415:48'],
    ['PEDIGREE_CHANGE_REASON', 'x'],
    ['RECONCILE_STOCK_HOURS', '20'],
    ['RECONCILE_STOCK_SETTLED_SECONDS', '0'],
    ['RECONCILE_STOCK_WAY', 'guess'],
    ['RECONCILE_STOCK_FRESH_HOURS', 'a day'],
    ['RECONCILE_FILES_KEPT_DAYS', '7'],
  ])('names %s when it is %s', (variable, value) => {
    expect(() => reconcilerConfig({ ...GOOD, [variable]: value })).toThrow(new RegExp(`^${variable}: `));
  });

  it('reads stock files by a mapping alone, and with a folder for what it makes', () => {
    const folder = { ...GOOD, RECONCILE_STOCK_FOLDER: '/stock' };
    expect(() => reconcilerConfig(folder)).toThrow(/^RECONCILE_STOCK_MAPPING: /);
    expect(() => reconcilerConfig({ ...folder, RECONCILE_STOCK_MAPPING: '/m.json' })).toThrow(/^SEGMENTS_DIR: /);
    expect(() =>
      reconcilerConfig({ ...folder, RECONCILE_STOCK_MAPPING: '/nowhere/m.json', SEGMENTS_DIR: '/segments' }),
    ).toThrow(/^RECONCILE_STOCK_MAPPING: /);
  });

  it('is shown without the password', () => {
    expect(JSON.stringify(describeReconcilerConfig(reconcilerConfig(GOOD)))).not.toContain('hidden-word');
  });
});
