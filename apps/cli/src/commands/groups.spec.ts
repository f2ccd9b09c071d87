import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { printedInEachTest } from '../../test/printed.js';
import type { GatewayClient } from '../gateway-client.js';
import { resumeGroup } from './groups.js';

const GROUP = '5d1c0a8e-3b7c-4a52-9a8e-0c6f7b1d2e3f';
let folder: TemporaryFolder;
printedInEachTest();
beforeAll(async () => void (folder = await temporaryFolder()));
afterAll(() => folder.remove());

/** What the gateway is given with the corrected document of these bytes. */
async function resumedWith(bytes: Buffer): Promise<object[]> {
  const given: object[] = [];
  const client = {
    raw: () => Promise.resolve({}),
    resume: (_: string, resumption: object) => {
      given.push(resumption);
      return Promise.resolve({ command_id: 'c', request_id: GROUP, repeated: false });
    },
  };
  const file = join(folder.path, 'corrected.xml');
  writeFileSync(file, bytes);
  await resumeGroup(client as unknown as GatewayClient, GROUP, { corrected: file, reason: 'mended' });
  return given;
}

describe('the corrected document of a group', () => {
  const XML = '<documents><a>Ы</a></documents>';

  it('goes as its file has it, named by its bytes, without a byte order mark', async () => {
    const bytes = Buffer.from(XML);
    const commandId = `file-${sha256Hex(bytes)}`;
    expect(await resumedWith(bytes)).toEqual([{ corrected: { command_id: commandId, xml: XML }, reason: 'mended' }]);
    const marked = Buffer.from(`\ufeff${XML}`);
    expect(await resumedWith(marked)).toEqual([
      { corrected: { command_id: `file-${sha256Hex(marked)}`, xml: XML }, reason: 'mended' },
    ]);
  });

  it('is refused where it is not UTF-8, and where it is empty: its letters would be lost without a word', async () => {
    const windows1251 = Buffer.concat([
      Buffer.from('<documents>\n<a>'),
      Buffer.of(0xdb),
      Buffer.from('</a></documents>'),
    ]);
    await expect(resumedWith(windows1251)).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringContaining('is not UTF-8, at byte 15 (line 2)'),
    });
    await expect(resumedWith(Buffer.alloc(0))).rejects.toMatchObject({ code: 'missing_body' });
  });
});
