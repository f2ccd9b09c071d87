import { readFileSync } from 'node:fs';
import { PedigreeError, Semaphore, systemClock, type Clock } from '#kernel';
import type { CommandSignerConfig, HttpSignerConfig, Signer } from '../port.js';
import { pemChain } from './chain.js';
import {
  certificatesIn,
  checkProducedCms,
  derOfProduced,
  knownCertificate,
  type KnownCertificate,
} from './produced-cms.js';

export interface OutsideSignerParts {
  account: string;
  config: CommandSignerConfig | HttpSignerConfig;
  /** Gets a signature from outside, in any of the encodings. Its errors are words for the operator. */
  produce: (bytes: Uint8Array) => Promise<Uint8Array>;
  close?: () => Promise<void>;
  clock?: Pick<Clock, 'now'>;
}

const MAX_WORDS = 600;
/** A failure that is older says nothing: since then others may have signed, or there was nothing to sign. */
const FAILURE_COUNTS_MS = 5 * 60_000;

/** With what a signature was made. */
interface Made {
  der: Buffer;
  chain: Buffer;
}

/**
 * Signs by something outside this process, and believes nothing of it: what comes back is checked before anybody may
 * use it.
 */
export class OutsideSigner implements Signer {
  private readonly semaphore: Semaphore;
  private readonly expected: KnownCertificate | undefined;
  /**
   * That of the last signature; the same certificate stays the same Buffer, so that a caller can tell a new one by
   * identity.
   */
  private known: KnownCertificate | undefined;
  /** The certificate with which each signature was made: the outside may change its certificate between two of them. */
  private readonly madeWith = new WeakMap<Buffer, Made>();
  private lastChain: Buffer | undefined;
  /** The failures since the last signature. */
  private failed: { since: Date; lastAt: Date; reason: string } | undefined;

  /** @throws PedigreeError invalid_configuration when the certificate's file cannot be read. */
  constructor(private readonly parts: OutsideSignerParts) {
    this.semaphore = new Semaphore(parts.config.concurrency, 'signatures');
    this.expected = readCertificate(parts.account, parts.config.certificateFile);
    this.known = this.expected;
  }

  async sign(bytes: Uint8Array, urgent = false): Promise<Buffer> {
    try {
      const signature = derOfProduced(await this.semaphore.take(() => this.parts.produce(bytes), urgent));
      this.known = checkProducedCms(bytes, signature, { expected: this.expected, last: this.known });
      this.madeWith.set(signature, { der: this.known.der, chain: this.chainIn(signature, this.known.der) });
      this.failed = undefined;
      return signature;
    } catch (error) {
      const words = clean((error as Error).message, this.parts.config.secret);
      const lastAt = this.now();
      this.failed = { since: this.failing()?.since ?? lastAt, lastAt, reason: words };
      // Another certificate than the configured one is no passing fault: a person has to look.
      const ofAnother =
        error instanceof PedigreeError && error.place.field === 'certificate' ? { field: 'certificate' } : {};
      throw new PedigreeError('signing_failed', `signer of account "${this.parts.account}": ${words}`, {
        item: this.parts.account,
        ...ofAnother,
      });
    }
  }

  certificate(signature?: Buffer): Buffer | undefined {
    return (signature === undefined ? undefined : this.madeWith.get(signature)?.der) ?? this.known?.der;
  }

  chain(signature?: Buffer): Buffer | undefined {
    return (signature === undefined ? undefined : this.madeWith.get(signature)?.chain) ?? this.lastChain;
  }

  private chainIn(signature: Buffer, der: Buffer): Buffer {
    const chain = pemChain(der, certificatesIn(signature));
    if (this.lastChain?.equals(chain) !== true) this.lastChain = chain;
    return this.lastChain as Buffer;
  }

  expiresAt(): Date | undefined {
    return this.known?.expiresAt;
  }

  failing(): { since: Date; reason: string } | undefined {
    if (this.failed === undefined || this.now().getTime() - this.failed.lastAt.getTime() > FAILURE_COUNTS_MS)
      return undefined;
    const { since, reason } = this.failed;
    return { since, reason };
  }

  private now(): Date {
    return (this.parts.clock ?? systemClock).now();
  }

  async close(): Promise<void> {
    await this.parts.close?.();
  }
}

/** Words from outside, fit for a log: without the secret, however it is encoded, on one line and not too long. */
function clean(words: string, secret: string | undefined): string {
  const forms =
    secret === undefined || secret === ''
      ? []
      : [
          secret,
          Buffer.from(secret).toString('base64'),
          encodeURIComponent(secret),
          JSON.stringify(secret).slice(1, -1),
        ];
  const removed = forms.reduce((text, form) => text.replaceAll(form, '[removed]'), words);
  // What a foreign program says must not steer a terminal.
  const line = removed.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS / 2)} … ${line.slice(-MAX_WORDS / 2)}` : line;
}

function readCertificate(account: string, file: string | undefined): KnownCertificate | undefined {
  if (file === undefined) return undefined;
  const fail = (why: string): never => {
    throw new PedigreeError('invalid_configuration', `signer of account "${account}": ${file}: ${why}`, {
      field: `accounts.${account}.signer`,
    });
  };
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    return fail((error as NodeJS.ErrnoException).code ?? 'error');
  }
  try {
    return knownCertificate(bytes);
  } catch {
    return fail('is no certificate in PEM or DER');
  }
}
