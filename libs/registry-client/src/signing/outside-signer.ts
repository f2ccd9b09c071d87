import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PedigreeError } from '#kernel';
import type { CommandSignerConfig, HttpSignerConfig, Signer } from '../port.js';
import { checkProducedCms, derOfProduced } from './produced-cms.js';
import { Turns } from './turns.js';

export interface OutsideSignerParts {
  account: string;
  config: CommandSignerConfig | HttpSignerConfig;
  /** Gets a signature from outside, in any of the encodings. Its errors are words for the operator. */
  produce: (bytes: Uint8Array) => Promise<Uint8Array>;
  close?: () => Promise<void>;
}

interface KnownCertificate {
  der: Buffer;
  expiresAt: Date;
}

const MAX_WORDS = 600;

/** Signs by something outside this process, and believes nothing of it: what comes back is checked before anybody may use it. */
export class OutsideSigner implements Signer {
  private readonly turns: Turns;
  private readonly expected: X509Certificate | undefined;
  private known: KnownCertificate | undefined;
  /** The certificate with which each signature was made: the outside may change its certificate between two of them. */
  private readonly madeWith = new WeakMap<Buffer, Buffer>();

  /** @throws PedigreeError invalid_configuration when the certificate's file cannot be read. */
  constructor(private readonly parts: OutsideSignerParts) {
    this.turns = new Turns(parts.config.concurrency);
    this.expected = readCertificate(parts.account, parts.config.certificateFile);
    if (this.expected !== undefined) this.remember(this.expected);
  }

  async sign(bytes: Uint8Array, urgent = false): Promise<Buffer> {
    try {
      const signature = derOfProduced(await this.turns.take(() => this.parts.produce(bytes), urgent));
      this.madeWith.set(signature, this.remember(checkProducedCms(bytes, signature, this.expected)));
      return signature;
    } catch (error) {
      const words = clean((error as Error).message, this.parts.config.secret);
      throw new PedigreeError('signing_failed', `signer of account "${this.parts.account}": ${words}`, { item: this.parts.account });
    }
  }

  certificate(signature?: Buffer): Buffer | undefined {
    return (signature === undefined ? undefined : this.madeWith.get(signature)) ?? this.known?.der;
  }

  expiresAt(): Date | undefined {
    return this.known?.expiresAt;
  }

  async close(): Promise<void> {
    await this.parts.close?.();
  }

  /** The same bytes stay the same Buffer, so that a caller can tell a new certificate by identity. */
  private remember(certificate: X509Certificate): Buffer {
    const der = certificate.raw;
    if (this.known?.der.equals(der) !== true) this.known = { der, expiresAt: new Date(certificate.validTo) };
    return this.known.der;
  }
}

/** Words from outside, fit for a log: without the secret, however it is encoded, on one line and not too long. */
function clean(words: string, secret: string | undefined): string {
  const forms = secret === undefined || secret === '' ? [] : [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  const removed = forms.reduce((text, form) => text.replaceAll(form, '[removed]'), words);
  // What a foreign program says must not steer a terminal.
  const line = removed.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS / 2)} … ${line.slice(-MAX_WORDS / 2)}` : line;
}

function readCertificate(account: string, file: string | undefined): X509Certificate | undefined {
  if (file === undefined) return undefined;
  try {
    return new X509Certificate(readFileSync(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'ENOENT' : `is no certificate in PEM or DER (${message})`;
    throw new PedigreeError('invalid_configuration', `signer of account "${account}": ${file}: ${why}`, { field: `accounts.${account}.signer` });
  }
}
