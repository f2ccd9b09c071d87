import { describe, expect, it } from '@jest/globals';
import { starterOf, type ReadProc } from './end-with-npm.js';

/** A process table: what each process is called with, and who its parent is. */
const proc =
  (table: Record<number, { line: string[]; parent: number }>): ReadProc =>
  (pid, file) => {
    const one = table[pid];
    if (one === undefined) return undefined;
    return file === 'cmdline' ? `${one.line.join('\0')}\0` : `${pid} (a name) with) S ${one.parent} 1 1`;
  };
const npm = { line: ['npm exec pedigree up'], parent: 10 };
const shell = { line: ['sh', '-c', "'pedigree' up"], parent: 20 };

describe('who has started a command', () => {
  it('is another one when npm is gone behind its shell, or the shell itself', () => {
    const begun = starterOf(30, proc({ 20: npm, 30: shell }));
    expect(starterOf(30, proc({ 30: { ...shell, parent: 1 } }))).not.toBe(begun);
    expect(starterOf(1, proc({ 1: { line: ['/sbin/init'], parent: 0 } }))).not.toBe(begun);
  });

  it('is the same one when the terminal is gone in which npm was left running', () => {
    const direct = starterOf(20, proc({ 10: { line: ['-bash'], parent: 5 }, 20: npm }));
    expect(starterOf(20, proc({ 20: { ...npm, parent: 1 } }))).toBe(direct);
    const throughShell = starterOf(30, proc({ 20: npm, 30: shell }));
    expect(starterOf(30, proc({ 20: { ...npm, parent: 1 }, 30: shell }))).toBe(throughShell);
  });

  it('is the parent where the system tells nothing of it', () => {
    expect(starterOf(30, () => undefined)).toBe('30');
  });
});
