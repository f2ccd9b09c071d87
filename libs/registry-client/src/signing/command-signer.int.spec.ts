import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PedigreeError, systemClock } from '#kernel';
import type { CommandSignerConfig, Signer } from '../port.js';
import { openSigner } from './open-signer.js';
import { openCommandSigner } from './command-signer.js';
import { verifyDetachedCms } from './verify-cms.js';

const XML = Buffer.from(
  '<documents version="1.38"><move_order action_id="431">Привет</move_order></documents>',
  'utf8',
);
const SECRET = 'open-sesame-4711';
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const sandboxCertificate = (name: string): string =>
  fileURLToPath(new URL(`../../../../apps/sandbox/data/accounts/${name}.crt.pem`, import.meta.url));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pedigree-command-'));
  if (!hasOpenssl) process.stderr.write('SKIPPED: no openssl on this machine, no external program signs here\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const config = (over: Partial<CommandSignerConfig>): CommandSignerConfig => ({
  kind: 'command',
  command: ['false'],
  folder,
  environment: {},
  timeLimitMs: 20_000,
  concurrency: 2,
  ...over,
});
const signer = (over: Partial<CommandSignerConfig>) => openCommandSigner('main', config(over));
/** A program of a few lines, run by the Node that runs this test. */
const script = (source: string, over: Partial<CommandSignerConfig> = {}) =>
  signer({ command: [process.execPath, '-e', source], ...over });
const failure = async (signing: Promise<unknown>): Promise<PedigreeError> =>
  signing.then(
    () => {
      throw new Error('it signed');
    },
    (error: PedigreeError) => error,
  );

describe('a program that signs: OpenSSL', () => {
  const signWith = (key: string): string[] => [
    'openssl',
    'cms',
    '-sign',
    '-binary',
    '-cades',
    '-nosmimecap',
    '-signer',
    'user.crt',
    '-inkey',
    key,
    '-md',
    'sha256',
  ];
  const whenOpenssl = hasOpenssl ? it : it.skip;
  beforeAll(() => {
    if (!hasOpenssl) return;
    const key = [
      '-newkey',
      'rsa:2048',
      '-keyout',
      'user.key',
      '-passout',
      `pass:${SECRET}`,
      '-out',
      'user.crt',
      '-days',
      '20',
      '-subj',
      '/CN=User',
    ];
    execFileSync('openssl', ['req', '-x509', ...key], { cwd: folder, stdio: 'pipe' });
    execFileSync('openssl', ['rsa', '-in', 'user.key', '-passin', `pass:${SECRET}`, '-out', 'open.key'], {
      cwd: folder,
      stdio: 'pipe',
    });
  });
  const certificate = (): Buffer => new X509Certificate(readFileSync(join(folder, 'user.crt'))).raw;

  whenOpenssl.each([
    ['stdin and stdout, DER', ['-outform', 'DER']],
    ['files, DER', ['-in', '{in}', '-out', '{out}', '-outform', 'DER']],
    ['a file and stdout, PEM', ['-in', '{in}', '-outform', 'PEM']],
    ['stdin and a file, PEM', ['-out', '{out}', '-outform', 'PEM']],
  ])('by %s, with the key opened by the secret', async (_name, rest) => {
    const by = signer({ command: [...signWith('user.key'), '-passin', 'env:SIGNER_SECRET', ...rest], secret: SECRET });
    expect([by.certificate(), by.expiresAt()]).toEqual([undefined, undefined]);
    const signature = await by.sign(XML);
    expect(verifyDetachedCms(XML, signature).certificate.equals(certificate())).toBe(true);
    expect(by.certificate(signature)?.equals(certificate())).toBe(true);
    expect(by.expiresAt()).toEqual(new Date(new X509Certificate(certificate()).validTo));
  });

  whenOpenssl('many documents at once without mixing them, and leaves no file behind', async () => {
    const by = openSigner(
      {
        name: 'main',
        signer: config({ command: [...signWith('open.key'), '-in', '{in}', '-out', '{out}', '-outform', 'DER'] }),
      },
      systemClock,
    ) as Signer;
    const filesBefore = readdirSync(tmpdir()).filter((name) => name.startsWith('pedigree-sign-'));
    const contents = Array.from({ length: 12 }, (_, i) => Buffer.from(`document ${i}`));
    const signatures = await Promise.all(contents.map((content) => by.sign(content)));
    signatures.forEach((signature, i) =>
      expect(() => verifyDetachedCms(contents[i] as Buffer, signature)).not.toThrow(),
    );
    expect(new Set(signatures.map((signature) => by.certificate(signature))).size).toBe(1);
    expect(
      readdirSync(tmpdir()).filter((name) => name.startsWith('pedigree-sign-') && !filesBefore.includes(name)),
    ).toEqual([]);
  });

  whenOpenssl('but not with another certificate than the configured one', async () => {
    const own = signer({
      command: [...signWith('open.key'), '-outform', 'DER'],
      certificateFile: join(folder, 'user.crt'),
    });
    expect(own.expiresAt()).toEqual(new Date(new X509Certificate(certificate()).validTo));
    await own.sign(XML);
    const other = signer({
      command: [...signWith('open.key'), '-outform', 'DER'],
      certificateFile: sandboxCertificate('north'),
    });
    expect(await failure(other.sign(XML))).toMatchObject({
      code: 'signing_failed',
      message: expect.stringContaining('another certificate than the configured one'),
    });
  });

  whenOpenssl('says what OpenSSL said when the secret is wrong, and never the secret', async () => {
    const { message } = await failure(
      signer({
        command: [...signWith('user.key'), '-passin', 'env:SIGNER_SECRET', '-outform', 'DER'],
        secret: 'wrong-sesame',
      }).sign(XML),
    );
    expect(message).toMatch(/^signer of account "main": openssl ended with status [1-9].*(decrypt|private key|signing key)/i);
    expect(message).not.toMatch(/wrong-sesame|\n/);
  });
});

describe('a program that does not sign', () => {
  it.each([
    ['is missing', () => signer({ command: ['/nowhere/sign'] }), /"main": \/nowhere\/sign was not found$/],
    ['is no program', () => signer({ command: [folder] }), /cannot be run \(EACCES\)/],
    [
      'fails in words',
      () => script('console.error("no licence"); process.exit(1)'),
      /ended with status 1: no licence$/,
    ],
    ['fails in silence', () => script('process.exit(3)'), /ended with status 3 and said nothing$/],
    ['dies', () => script('process.kill(process.pid, "SIGKILL")'), /ended by SIGKILL/],
    ['writes garbage', () => script('console.log("Signature created!")'), /neither DER nor PEM nor base64/],
    ['writes nothing', () => script(''), /it is empty/],
    [
      'writes no file',
      () => signer({ command: [process.execPath, '-e', '', '{out}'] }),
      /wrote no signature to \{out\}/,
    ],
    [
      'writes without end',
      () => script('const b = Buffer.alloc(65536); (function more() { process.stdout.write(b, more); })()'),
      /wrote more than 1048576 bytes and was killed/,
    ],
    [
      'gives back what it was given',
      () => script('process.stdin.pipe(process.stdout)'),
      /neither DER nor PEM nor base64/,
    ],
  ])('because it %s', async (_name, open, words) => {
    const error = await failure(open().sign(XML));
    expect([error.code, error.message]).toEqual(['signing_failed', expect.stringMatching(words)]);
  });

  it('is killed at its time limit, with what it started', async () => {
    const pidFile = join(folder, 'child.pid');
    // A shell is up at once, also on a busy machine: the limit is not spent on the start.
    const parent = `sleep 600 & echo $! > '${pidFile}'; wait`;
    const { message } = await failure(signer({ command: ['/bin/sh', '-c', parent], timeLimitMs: 2_500 }).sign(XML));
    expect(message).toContain('gave no signature within 2500 ms and was killed');
    expect(existsSync(pidFile)).toBe(true);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    // A killed process is gone, or a zombie until somebody collects it.
    const gone = async (): Promise<boolean> => {
      for (let look = 0; look < 100; look += 1) {
        const state =
          spawnSync('ps', ['-o', 'stat=', '-p', String(pid)])
            .stdout?.toString()
            .trim() ?? '';
        if (state === '' || state.startsWith('Z')) return true;
        await systemClock.wait(20);
      }
      return false;
    };
    expect(await gone()).toBe(true);
  });

  it('and says its secret on stderr, in any form, is not repeated; nor is its use of the terminal', async () => {
    const loud =
      'const s = process.env.SIGNER_SECRET; console.error("\\u001b[31m" + s + " " + ' +
      'Buffer.from(s).toString("base64") + " " + encodeURIComponent(s) + "\\nsecond line"); process.exit(1)';
    const { message } = await failure(script(loud, { secret: 'p@ss word/1' }).sign(XML));
    expect(message).toMatch(/\[removed\] \[removed\] \[removed\] second line$/);
    expect(message).not.toMatch(/p@ss|\u001b/);
  });

  it('and says it without end: what is kept of that holds no piece of the secret either', async () => {
    const chatty =
      'const s = process.env.SIGNER_SECRET; let n = 0; (function more() { n++ < 40 ? ' +
      'process.stderr.write(s.repeat(500), more) : process.exit(1); })()';
    const { message } = await failure(script(chatty, { secret: SECRET }).sign(XML));
    expect(message.length).toBeLessThan(800);
    expect(message.split('[removed]').join('')).not.toMatch(/[0-9]{4}|sesame/);
  });

  it('sees nothing of our environment', async () => {
    const { message } = await failure(
      script('console.error(Object.keys(process.env).sort().join()); process.exit(1)', {
        environment: { LANG: 'C' },
        secret: SECRET,
      }).sign(XML),
    );
    expect(message).toMatch(/: LANG,PATH,SIGNER_SECRET$/);
  });

  it('cannot be configured with a certificate that is none', () => {
    writeFileSync(join(folder, 'none.crt'), 'none');
    expect(() => signer({ certificateFile: join(folder, 'none.crt') })).toThrow(
      /"main": .*none\.crt: is no certificate/,
    );
    expect(() => signer({ certificateFile: join(folder, 'nowhere.crt') })).toThrow(/nowhere\.crt: ENOENT/);
  });
});
