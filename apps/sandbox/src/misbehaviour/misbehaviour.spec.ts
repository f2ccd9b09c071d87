import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseOptions, PROGRAM_DEFAULTS, withDefaults } from '../config.js';
import { KNOB_NAMES, KNOBS } from './knobs.js';
import { Registry } from '../registry.js';
import { Misbehaviour } from './misbehaviour.js';

const at = (rate: number, more: Partial<ConstructorParameters<typeof Misbehaviour>[0]> = {}) =>
  new Misbehaviour({ seed: 1, rate, knobs: {}, longest: {}, ...more });

describe('misbehaviour at rates', () => {
  it('strikes at about its rate, the same for the same seed, another way for another', () => {
    const strikes = (seed: number) => {
      const misbehaviour = at(0.2, { seed });
      return Array.from({ length: 2000 }, () => misbehaviour.draw('delay_ms'));
    };
    const struck = strikes(1).filter((value) => value !== undefined);
    expect(struck.length).toBeGreaterThan(330);
    expect(struck.length).toBeLessThan(470);
    for (const value of struck) expect(value >= 200 && value <= 2000).toBe(true);
    expect(strikes(1)).toEqual(strikes(1));
    expect(strikes(2)).not.toEqual(strikes(1));
  });

  it('never strikes at 0, always at 1, and counts', () => {
    const misbehaviour = at(0, { knobs: { html_error: 1 } });
    for (const knob of KNOB_NAMES) expect(misbehaviour.draw(knob) !== undefined).toBe(knob === 'html_error');
    expect(misbehaviour.report().filter((row) => row.strikes > 0)).toMatchObject([
      { knob: 'html_error', rate: 1, strikes: 1 },
    ]);
  });

  it('lets a call of a method go well after two spoiled ones, so that a bad day passes', () => {
    const misbehaviour = at(0.99);
    expect([1, 2, 3, 4].map(() => misbehaviour.draw('html_error', 'send') !== undefined)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(misbehaviour.draw('html_error', 'status')).toBeDefined();
    expect(misbehaviour.draw('late_receipt', 'send')).toBeDefined();
    misbehaviour.wentWell('send');
    expect(misbehaviour.draw('html_error', 'send')).toBeDefined();
  });

  it('does not outlast what the profile tells clients to bear', () => {
    const misbehaviour = at(1, { longest: { failed_then_processed: 0, land_late: 300 } });
    expect(misbehaviour.draw('failed_then_processed')).toBeUndefined();
    for (let i = 0; i < 100; i += 1) expect(misbehaviour.draw('land_late')).toBeLessThanOrEqual(300);
  });

  it('holds a send back for as long as was asked for, within what the profile tells clients to bear', () => {
    const misbehaviour = at(1, { spanEnds: { land_late: 9_000 }, longest: { land_late: 9_000 } });
    const drawn = Array.from({ length: 200 }, () => misbehaviour.draw('land_late') as number);
    expect([
      Math.min(...drawn) >= 200,
      Math.max(...drawn) <= 9_000,
      drawn.filter((ms) => ms > 5_000).length > 50,
    ]).toEqual([true, true, true]);
    expect(() => new Registry(withDefaults({ landLateMs: 30_000 }))).toThrow(
      'by less than the unknownGraceMs of the profile, 30000, not by 30000',
    );
  });

  it.each([
    [{ rate: 2 }],
    [{ rate: '1' }],
    [{ knobs: { unheard: 1 } }],
    [{ knobs: { delay_ms: -1 } }],
    [{ knobs: [] }],
  ])('refuses %j and sets nothing', (wrong) => {
    const misbehaviour = at(0);
    expect(() => misbehaviour.set(wrong)).toThrow();
    expect(misbehaviour.report().every((row) => row.rate === 0)).toBe(true);
  });

  it('is off in a test and in the program, where others trade, unless a flag says otherwise', () => {
    expect(withDefaults({})).toMatchObject({ misbehave: 0, knobs: {}, counterparties: { accept: 0 } });
    const program = (...args: string[]) => withDefaults({ ...PROGRAM_DEFAULTS, ...parseOptions(args, {}) });
    expect(program()).toMatchObject({ misbehave: 0, counterparties: { accept: 0.8 } });
    expect(program('--misbehave', '0', '--counterparties', 'off')).toMatchObject({
      misbehave: 0,
      counterparties: { accept: 0 },
    });
    expect(program('--knob', 'delay_ms=0.5', '--knob', 'html_error=1')).toMatchObject({
      knobs: { delay_ms: 0.5, html_error: 1 },
    });
    expect(() => program('--knob', 'unheard=1')).toThrow('--knob: there is no knob "unheard"');
    expect(() => program('--knob', 'delay_ms=2')).toThrow('--knob delay_ms must be a number from 0 to 1');
    expect(() => program('--misbehave', '2')).toThrow('--misbehave must be a number from 0 to 1');
  });

  it('has one row in the README for each knob, with its reason', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const rows = [
      ...readme.matchAll(/^\| `([a-z0-9_]+)` \| (before_work|work|answer|processing) \| (.*?) \| (.*?) \|$/gm),
    ].map(([, ...cells]) => cells);
    expect(rows).toEqual(KNOB_NAMES.map((knob) => [knob, KNOBS[knob].when, KNOBS[knob].reason, KNOBS[knob].value]));
  });
});
