import { backoffMs, systemClock, wordsOf } from '#kernel';
import type { ConsumeOptions } from '../port.js';
import type { OurChannel } from './channel.js';
import { PrefetchWindow } from './prefetch-window.js';
import { ServedChannel } from './served-channel.js';
import type { ConsumerParts } from './settlement.js';

/** Takes commands from the queue until the signal aborts, over as many channels and connections as that takes. */
export class Consumer {
  private readonly window: PrefetchWindow;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ConsumeOptions,
  ) {
    this.window = new PrefetchWindow({
      mostMessages: options.concurrency,
      mostBytes: options.mostBytes ?? Number.MAX_SAFE_INTEGER,
    });
  }

  async run(): Promise<void> {
    const { signal } = this.options;
    const { askEveryMs, retryFirstMs, retryMostMs, report } = this.parts;
    let failures = 0;
    // Ends by the signal alone: this is the loop of a server. Each turn is one channel's life, up to the end of what it
    // left in our hands.
    while (!signal.aborted) {
      try {
        const channel = await this.untilAborted(this.parts.link.channel());
        if (channel !== undefined)
          await new ServedChannel(this.parts, { ...this.options, channel, window: this.window }).run();
        failures = 0;
        await systemClock.wait(askEveryMs, signal);
      } catch (error) {
        // The queue may be gone: it is declared anew with the next channel.
        this.parts.link.forgetTopology();
        report(`commands are not taken now: ${wordsOf(error)}`);
        failures += 1;
        await systemClock.wait(backoffMs(failures, { firstMs: retryFirstMs, mostMs: retryMostMs }), signal);
      }
    }
  }

  /** The channel, or undefined when the signal came first; a channel that comes later is closed. */
  private async untilAborted(opening: Promise<OurChannel>): Promise<OurChannel | undefined> {
    const { signal } = this.options;
    let onAbort = (): void => undefined;
    const aborted = new Promise<undefined>((resolve) => {
      onAbort = () => resolve(undefined);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    const channel = await Promise.race([opening, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
    if (channel === undefined) opening.then((late) => late.close()).catch(() => undefined);
    return channel;
  }
}
