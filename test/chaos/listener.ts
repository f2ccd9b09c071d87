import { request } from 'undici';
import { defined, systemClock } from '#kernel';
import type { OutcomeMessage } from './subjects/subject.js';

const WAIT_SECONDS = 5;
const TIMEOUT_MS = 10_000;
const PAUSE_MS = 300;
const PAGE = 200;

/** What the ERP hears, kept as it came, repeats too. */
export class Record {
  readonly messages: OutcomeMessage[] = [];
  private readonly bodies = new Map<string, Buffer>();

  add(body: Buffer): void {
    const { id, subject, sequence } = JSON.parse(body.toString('utf8')) as {
      id: string;
      subject: string;
      sequence: string;
    };
    const before = this.bodies.get(id);
    this.bodies.set(id, body);
    this.messages.push({ id, subject, sequence, body, ...defined({ repeated: before }) });
  }

  get distinct(): number {
    return this.bodies.size;
  }
}

/**
 * An ERP without a bus: asks one gateway after the other for what comes after the last outcome that it has, through
 * everything that befalls them.
 */
export class FeedListener {
  readonly record = new Record();
  private readonly stopping = new AbortController();
  private after: string | undefined;
  private running: Promise<void> | undefined;

  constructor(private readonly gateways: string[]) {}

  start(): void {
    this.running = this.listen();
  }

  /** Up to the end of the feed. Throws when no gateway answers. */
  async readToTheEnd(): Promise<void> {
    await this.stop();
    while ((await this.ask(this.gateways[0] as string, 0)) > 0);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async listen(): Promise<void> {
    for (let turn = 0; !this.stopping.signal.aborted; turn += 1) {
      const gateway = this.gateways[turn % this.gateways.length] as string;
      await this.ask(gateway, WAIT_SECONDS).catch(() => systemClock.wait(PAUSE_MS));
    }
  }

  private async ask(gateway: string, wait: number): Promise<number> {
    const after = this.after === undefined ? '' : `&after=${this.after}`;
    const { statusCode, body } = await request(`${gateway}/v1/outcomes?limit=${PAGE}&wait=${wait}${after}`, {
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`the feed answered ${statusCode}: ${text}`);
    const { items, next_after } = JSON.parse(text) as { items: object[]; next_after: string };
    for (const item of items) this.record.add(Buffer.from(JSON.stringify(item)));
    this.after = next_after;
    return items.length;
  }
}
