import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** GOST R 34.10-2012 with 256 and 512 bits, and its predecessor of 2001. */
const GOST_KEYS = new Set(['2a85030701010101', '2a85030701010102', '2a8503020213']);
const TIME_LIMIT_MS = 5_000;

/** Whether a public key of this algorithm (content of its object identifier in hexadecimal) is a GOST key. */
export const isGostKey = (oid: string): boolean => GOST_KEYS.has(oid);

let engine: boolean | undefined;

/** Whether this machine has an OpenSSL with the GOST engine; asked once. */
export const hasGostEngine = (): boolean =>
  (engine ??= spawnSync('openssl', ['engine', 'gost'], { timeout: TIME_LIMIT_MS, stdio: 'ignore' }).status === 0);

/**
 * Checks a detached CMS by a GOST key, which Node's crypto does not know, by running OpenSSL with its GOST engine: the
 * signature must be over `content` and by this very certificate. One run takes some 20 ms, during which the sandbox
 * does nothing else: made for trials, not for load. Returns why it does not hold, or undefined when it does.
 */
export function whyGostCmsFails(cms: Buffer, content: Uint8Array, certificate: Buffer): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-gost-'));
  try {
    const [contentFile, certificateFile] = [join(folder, 'content'), join(folder, 'certificate')];
    writeFileSync(contentFile, content, { mode: 0o600 });
    writeFileSync(certificateFile, new X509Certificate(certificate).toString());
    // -nointern and -certfile: by the registered certificate alone; -noverify: its chain is nobody's business here.
    const options = [
      '-inform',
      'DER',
      '-binary',
      '-content',
      contentFile,
      '-noverify',
      '-nointern',
      '-certfile',
      certificateFile,
    ];
    const run = spawnSync('openssl', ['cms', '-engine', 'gost', '-verify', ...options], {
      input: cms,
      timeout: TIME_LIMIT_MS,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    if (run.status === 0) return undefined;
    if (run.error !== undefined) return `the sandbox cannot check a GOST signature: ${run.error.message}`;
    return 'the signature value does not verify (GOST)';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
