import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { typeKnowledge } from '#documents';
import { sha256Hex } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { readCalendarFile } from './calendar-file.js';

const SANDBOX = fileURLToPath(new URL('../../../../apps/sandbox/data/deadlines.json', import.meta.url));

let folder: TemporaryFolder;
beforeAll(async () => void (folder = await temporaryFolder()));
afterAll(() => folder.remove());

const file = (text: string | Buffer): string => {
  const path = join(folder.path, 'calendar.json');
  writeFileSync(path, text);
  return path;
};

describe('the file of a calendar', () => {
  it('of the sandbox says that it is made up before anything else, and speaks of every type that is known', () => {
    const text = readFileSync(SANDBOX, 'utf8');
    expect(text.slice(0, 40)).toMatch(/^\{\s*"fictitious": "This/);
    const { calendar, sha256 } = readCalendarFile(SANDBOX);
    expect(sha256).toBe(sha256Hex(text));
    for (const docType of typeKnowledge.known) {
      expect([docType, calendar.rowsOf({ role: 'sender', docType, channel: 'api' })]).not.toContain(undefined);
      expect([docType, calendar.rowsOf({ role: 'receiver', docType, channel: 'counterparty' })]).not.toContain(
        undefined,
      );
    }
    expect(calendar.deadlines.every(({ clause }) => clause.startsWith('Made-up rule'))).toBe(true);
  });

  it.each<[string, string | Buffer, string]>([
    ['no JSON', '{ "name": ', 'is not JSON'],
    ['a field twice', '{"name": "a", "name": "b"}', 'name'],
    ['bytes that are no text', Buffer.from([0x7b, 0xff, 0x7d]), 'is not JSON'],
    [
      'a field that is wrong',
      readFileSync(SANDBOX, 'utf8').replace('"hours": 48', '"hours": -1'),
      '/deadlines/1/limit/hours',
    ],
    ['too much', Buffer.alloc(4 * 1024 * 1024 + 1, 0x20), 'is larger than'],
  ])('is refused with %s, by its name and the place', (_, text, place) => {
    const path = file(text);
    expect(() => readCalendarFile(path)).toThrow(`${path}: `);
    expect(() => readCalendarFile(path)).toThrow(place);
  });

  it('is refused where it is not there', () => {
    expect(() => readCalendarFile(join(folder.path, 'none.json'))).toThrow('ENOENT');
  });
});
