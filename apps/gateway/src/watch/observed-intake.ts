import type { Actor } from '#event-store';
import { PedigreeError } from '#kernel';
import { parseTraceparent, type Watching } from '#telemetry';
import type { CommandBody } from '../intake/command-body.js';
import { Intake, type Acknowledgement, type IntakeOptions, type Taking } from '../intake/intake.js';
import { callersTraceparent } from './caller-trace.js';

/**
 * The intake, with each command counted, timed and, where traces are wanted, told as the first step of its document.
 */
export class ObservedIntake extends Intake {
  constructor(
    options: IntakeOptions,
    private readonly watching: Watching,
  ) {
    super(options);
  }

  override async take(body: CommandBody, actor: Actor, taking?: Taking): Promise<Acknowledgement> {
    const startedMs = performance.now();
    const source = sourceOf(actor);
    const note = (result: string): void => {
      this.watching.metrics.count('pedigree_commands_total', { source, result });
      this.watching.metrics.observe('pedigree_command_seconds', { source }, (performance.now() - startedMs) / 1_000);
    };
    try {
      const taken = await super.take(body, actor, taking);
      note(taken.repeated ? 'repeated' : 'acknowledged');
      if (!taken.repeated && this.watching.tracing.isOn)
        this.tell(taken, { source, tookMs: performance.now() - startedMs });
      return taken;
    } catch (error) {
      note(error instanceof PedigreeError && error.httpStatus < 500 ? 'refused' : 'unavailable');
      throw error;
    }
  }

  private tell({ requestId, commandId }: Acknowledgement, of: { source: string; tookMs: number }): void {
    const endedAt = new Date();
    const caller = parseTraceparent(callersTraceparent());
    this.watching.tracing.step({
      requestId,
      name: 'intake',
      key: commandId,
      startedAt: new Date(endedAt.getTime() - of.tookMs),
      endedAt,
      kind: of.source === 'http' ? 'server' : 'consumer',
      attributes: { 'pedigree.source': of.source },
      caller,
    });
  }
}

/** How a command came: over the bus, or over HTTP. */
const sourceOf = ({ authenticatedBy }: Actor): string =>
  authenticatedBy.startsWith('amqp') ? 'amqp' : authenticatedBy === 'database' ? 'embedded' : 'http';
