import { systemClock } from '#kernel';
import type { NoteSigner } from '#merkle';
import type { Pool } from '#postgres';
import { sentenceOf, type ServiceLog, type Trouble } from '#service';
import { signCheckpoint } from './checkpoints.js';

export interface RegularSigningOptions {
  pool: Pool;
  signer: NoteSigner;
  /** Verifier keys of earlier signing keys. */
  trusted: string[];
  everyMs: number;
  log: ServiceLog;
}

/**
 * Signs a checkpoint whenever the tree has grown, and tells health when that fails: a log that contradicts what was
 * signed must not go unnoticed.
 */
export class RegularSigning {
  private failing: { since: Date; reason: string } | undefined;

  constructor(private readonly options: RegularSigningOptions) {}

  /**
   * Until the signal; a last time at the end, so that an ordered stop leaves nothing unsigned that was sealed. Errors
   * are said, never thrown.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sign();
      await systemClock.wait(this.options.everyMs, signal);
    }
    await this.sign();
  }

  troubles(): Trouble[] {
    return this.failing === undefined
      ? []
      : [
          {
            name: 'checkpoint',
            since: this.failing.since.toISOString(),
            reason: `no checkpoint is signed: ${this.failing.reason}`,
          },
        ];
  }

  private async sign(): Promise<void> {
    const { pool, signer, trusted, log } = this.options;
    try {
      const checkpoint = await signCheckpoint(pool, signer, trusted);
      this.failing = undefined;
      if (checkpoint !== undefined) log.info({ size: checkpoint.size }, 'signed a checkpoint');
    } catch (error) {
      this.failing = { since: this.failing?.since ?? systemClock.now(), reason: sentenceOf(error) };
      log.error({ err: error }, 'no checkpoint was signed');
    }
  }
}
