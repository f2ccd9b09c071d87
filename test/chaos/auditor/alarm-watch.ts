import { systemClock } from '#kernel';
import type { Stage } from './stage.js';

const PARTS = ['signed history', 'witnessed history'];
const EVERY_MS = 200;

/** Looks all the time at what the health of the auditor says, and notes each alarm for which there is no reason. */
export class AlarmWatch {
  private readonly falseAlarms = new Set<string>();
  private isExpected = false;
  private isEnded = false;
  private watching: Promise<void> = Promise.resolve();

  constructor(private readonly stage: Pick<Stage, 'down'>) {}

  start(): void {
    this.watching = this.watch();
  }

  /** Something was done that must be said. */
  expectAlarms(): void {
    this.isExpected = true;
  }

  expectNone(): void {
    this.isExpected = false;
  }

  async isQuiet(): Promise<boolean> {
    return (await this.said()).length === 0;
  }

  /** The false alarms, in order. */
  async stop(): Promise<string[]> {
    this.isEnded = true;
    await this.watching;
    return [...this.falseAlarms];
  }

  private async watch(): Promise<void> {
    while (!this.isEnded) {
      const wasExpected = this.isExpected;
      const said = await this.said();
      if (!wasExpected && !this.isExpected) for (const one of said) this.falseAlarms.add(one);
      await systemClock.wait(EVERY_MS);
    }
  }

  private async said(): Promise<string[]> {
    const said = await Promise.all(PARTS.map(async (part) => ({ part, error: await this.stage.down(part) })));
    return said.flatMap(({ part, error }) => (error === undefined ? [] : [`${part}: ${error}`]));
  }
}
