import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../../..');

/** A clone in small: the real programs of bin/, one source, one file of data. */
const FILES: Record<string, string> = {
  'package.json': '{"type":"module"}',
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      skipLibCheck: true,
      types: [],
      lib: ['es2023'],
      rootDir: '.',
      outDir: 'dist',
    },
    include: ['apps/**/*.ts', 'libs/**/*.ts'],
  }),
  'tsconfig.build.json': '{"extends":"./tsconfig.json","exclude":["**/*.spec.ts"]}',
  'apps/cli/src/main.ts': [
    'declare const process: { argv: string[]; exitCode: number };',
    'declare const console: { log(text: string): void };',
    'console.log(JSON.stringify({ args: process.argv.slice(2) }));',
    'process.exitCode = 7;',
  ].join('\n'),
  'libs/stock/src/pack.ts': 'export const pack = 1;\n',
  'libs/stock/src/pack.spec.ts': "export const broken: number = 'text';\n",
  'libs/stock/src/migrations/0001-pack.sql': 'SELECT 1;\n',
};

let folder: TemporaryFolder;
const at = (path: string): string => join(folder.path, path);

beforeEach(async () => {
  folder = await temporaryFolder();
  for (const [path, text] of Object.entries(FILES)) await write(path, text);
  await mkdir(at('apps/cli/bin'));
  for (const name of await readdir(HERE))
    if (name.endsWith('.mjs')) await cp(join(HERE, name), at(`apps/cli/bin/${name}`));
});
afterEach(() => folder.remove());

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), text);
}

const linkPackages = (): Promise<void> => symlink(join(ROOT, 'node_modules'), at('node_modules'), 'junction');

/** An npm that notes how it was called and installs the packages we have. */
async function pretendNpm(): Promise<NodeJS.ProcessEnv> {
  await write(
    'npm/npm-cli.js',
    `import { appendFileSync, mkdirSync, symlinkSync } from 'node:fs';
     appendFileSync(${JSON.stringify(at('npm/calls'))}, process.argv.slice(2).join(' ') + '\\n');
     mkdirSync('node_modules', { recursive: true });
     try { symlinkSync(${JSON.stringify(join(ROOT, 'node_modules/typescript'))}, 'node_modules/typescript', \
'junction'); } catch {}
     console.log('npm was here');`,
  );
  return { npm_execpath: at('npm/npm-cli.js') };
}

async function npmCalls(): Promise<string[]> {
  return (await readFile(at('npm/calls'), 'utf8')).trim().split('\n');
}

function pedigree(
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [at('apps/cli/bin/pedigree.mjs'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

describe('pedigree in a clone', () => {
  it('builds once, with the data and without the tests, and hands arguments and status over', async () => {
    await linkPackages();
    const first = pedigree(['up', '--once']);
    expect(first.stderr).toBe('Building ...\n');
    expect(first).toMatchObject({ status: 7, stdout: '{"args":["up","--once"]}\n' });
    expect(await readFile(at('dist/libs/stock/src/migrations/0001-pack.sql'), 'utf8')).toBe('SELECT 1;\n');
    expect((await readdir(at('dist/libs/stock/src'))).filter((name) => name.includes('spec'))).toEqual([]);

    const later = new Date(Date.now() + 60_000);
    await utimes(at('libs/stock/src/pack.ts'), later, later);
    expect(pedigree()).toMatchObject({ status: 7, stderr: '' });
    expect((await readdir(folder.path)).filter((name) => /^(dist-|\.pedigree)/.test(name))).toEqual([]);
  });

  it('builds again when a source, or a file of data, is changed, added or removed', async () => {
    await linkPackages();
    pedigree();
    await write('libs/stock/src/migrations/0002-series.sql', 'SELECT 2;\n');
    expect(pedigree().stderr).toBe('Building ...\n');
    expect(await readdir(at('dist/libs/stock/src/migrations'))).toEqual(['0001-pack.sql', '0002-series.sql']);
    // The page of the API's description comes from a package that an installation does not have.
    expect(await readdir(at('dist/apps/gateway/swagger-ui'))).toEqual(
      expect.arrayContaining(['LICENSE', 'NOTICE', 'swagger-ui-bundle.js', 'swagger-ui.css']),
    );

    await write('libs/stock/src/series.ts', 'export const series = 2;\n');
    await rm(at('libs/stock/src/pack.ts'));
    await rm(at('libs/stock/src/migrations/0001-pack.sql'));
    expect(pedigree().stderr).toBe('Building ...\n');
    expect((await readdir(at('dist/libs/stock/src'))).sort()).toEqual(['migrations', 'series.js']);
    expect(await readdir(at('dist/libs/stock/src/migrations'))).toEqual(['0002-series.sql']);
  });

  it('builds what is missing, although the compiler remembers that it was emitted', async () => {
    await linkPackages();
    pedigree();
    await rm(at('dist/libs/stock/src/pack.js'));
    await write('libs/stock/src/series.ts', 'export const series = 2;\n');
    expect(pedigree().stderr).toBe('Building ...\n');
    expect((await readdir(at('dist/libs/stock/src'))).sort()).toEqual(['migrations', 'pack.js', 'series.js']);

    await write('dist/libs/stock/src/pack.js', 'broken');
    spawnSync(process.execPath, [at('apps/cli/bin/build.mjs'), '--force']);
    expect(await readFile(at('dist/libs/stock/src/pack.js'), 'utf8')).toMatch(/pack = 1/);
  });

  it('keeps the old build whole when the compiler finds fault', async () => {
    await linkPackages();
    pedigree();
    const before = await readFile(at('dist/libs/stock/src/pack.js'), 'utf8');
    await write('libs/stock/src/pack.ts', "export const pack: number = 'two';\n");
    const failed = pedigree();
    expect(failed).toMatchObject({ status: 1, stdout: '' });
    expect(failed.stderr).toMatch(/pack\.ts\(1,14\): error TS2322[^]*pedigree: the build failed \(tsc: 2\)\n$/);
    expect(await readFile(at('dist/libs/stock/src/pack.js'), 'utf8')).toBe(before);
    await expect(stat(at('dist-next'))).rejects.toThrow('ENOENT');

    const build = spawnSync(process.execPath, [at('apps/cli/bin/build.mjs'), '--despite-type-errors'], {
      encoding: 'utf8',
    });
    expect(build.status).toBe(0);
    expect(await readFile(at('dist/libs/stock/src/pack.js'), 'utf8')).toMatch(/'two'/);
  });

  it('believes a clone at its first build, and looks for type errors in all of it at the next', async () => {
    await linkPackages();
    await write('libs/stock/src/pack.ts', "export const pack: number = 'two';\n");
    expect(pedigree()).toMatchObject({ status: 7, stderr: 'Building ...\n' });
    await write('libs/stock/src/series.ts', 'export const series = 2;\n');
    expect(pedigree().stderr).toMatch(/pack\.ts\(1,14\): error TS2322[^]*pedigree: the build failed \(tsc: 2\)\n$/);

    await rm(at('dist'), { recursive: true });
    const build = spawnSync(process.execPath, [at('apps/cli/bin/build.mjs')], { encoding: 'utf8' });
    expect(build).toMatchObject({ status: 1, stderr: expect.stringMatching(/pack\.ts\(1,14\): error TS2322/) });
  });

  it('installs and builds once when two begin together, and takes the lock of a killed process over', async () => {
    const env = await pretendNpm();
    await write('package-lock.json', '{"packages":{"":{}}}');
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    await write('.pedigree-setup.lock', `${String(gone)} 12345`);
    const run = async (): Promise<{ status: number | null; stdout: string }> => {
      const child = spawn(process.execPath, [at('apps/cli/bin/pedigree.mjs')], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stdout = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      child.stderr.resume();
      const [status] = (await once(child, 'close')) as [number | null];
      return { status, stdout };
    };
    const both = await Promise.all([run(), run()]);
    expect(both).toEqual([
      { status: 7, stdout: '{"args":[]}\n' },
      { status: 7, stdout: '{"args":[]}\n' },
    ]);
    expect(await npmCalls()).toEqual(['ci --ignore-scripts --include=dev --include=optional --no-audit --no-fund']);
    await expect(stat(at('.pedigree-setup.lock'))).rejects.toThrow('ENOENT');
  });

  it('installs again for another package-lock.json, and believes the record of an npm that somebody ran by hand', async () => {
    const env = await pretendNpm();
    const lockOf = (version: string): string =>
      JSON.stringify({
        packages: {
          '': {},
          'node_modules/a': { version },
          'node_modules/elsewhere': { version: '1.0.0', optional: true },
        },
      });
    await write('package-lock.json', lockOf('1.0.0'));
    expect(pedigree([], env).stderr).toContain('npm was here');
    expect(pedigree([], env).stderr).toBe('');

    await write('package-lock.json', lockOf('1.0.1'));
    expect(pedigree([], env).stderr).toContain('npm was here');

    await write('package-lock.json', lockOf('1.0.2'));
    await write(
      'node_modules/.package-lock.json',
      JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.2' } } }),
    );
    expect(pedigree([], env).stderr).toBe('Building ...\n');
    expect(await npmCalls()).toHaveLength(2);
  });

  it('says so when npm fails', async () => {
    await write('package-lock.json', '{"packages":{"":{}}}');
    await write('npm/npm-cli.js', 'process.exit(3);');
    expect(pedigree([], { npm_execpath: at('npm/npm-cli.js') })).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/pedigree: npm ci failed \(3\)/),
    });
  });

  it.each([
    ['18.20.8', 'Pedigree needs Node 20.19 or newer; this is Node 18.20.8.'],
    ['20.18.3', 'Pedigree needs Node 20.19 or newer; this is Node 20.18.3.'],
    ['20.19.0', 'fine'],
    ['24.0.1', 'fine'],
  ])('on Node %s: %s', (version, answer) => {
    const script = `import { refuseOldNode } from ${JSON.stringify(at('apps/cli/bin/setup.mjs'))};
      try { refuseOldNode('${version}'); console.log('fine'); } catch (error) { console.log(error.message); }`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout).toContain(
      answer,
    );
  });
});
