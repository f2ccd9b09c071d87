import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/**
 * Commands that a document marks as run, and the test that runs each; the gate `tidy` keeps list and documents the
 * same.
 */
interface DocumentedCommand {
  document: string;
  command: string;
  ranBy: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIST = new URL('./documented-commands.json', import.meta.url);
const MOST_MS = 200_000;

const listed = JSON.parse(readFileSync(LIST, 'utf8')) as DocumentedCommand[];
const mine = listed.filter((one) => one.ranBy === 'test/gates/documents.int.spec.ts');

interface Ending {
  status: number | null;
  output: string;
}

/**
 * Runs a line as a reader would type it, in the clone, but with a folder and a port of its own, and never over the
 * network.
 */
function run(command: string, dataDir: string): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, DATA_DIR: dataDir, PORT: '0', npm_config_offline: 'true', NODE_OPTIONS: '' };
    const child = spawn(command, { cwd: ROOT, shell: true, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: MOST_MS });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, output }));
  });
}

describe('commands that a document marks as run', () => {
  let dataDir: string;

  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'pedigree-documents-'));
  });

  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  it('are listed', () => expect(mine.length).toBeGreaterThan(0));

  it.each(mine)(
    '$document: $command',
    async ({ command }) => {
      const { status, output } = await run(command, dataDir);
      expect({ command, status, output }).toMatchObject({ status: 0 });
      expect(output).not.toBe('');
    },
    MOST_MS + 10_000,
  );
});
