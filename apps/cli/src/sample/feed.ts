import { buildDocument } from '#documents';
import { systemClock } from '#kernel';
import type { GatewayClient } from '../gateway-client.js';
import type { SampleCommand } from './day.js';

/** Every tenth command goes as JSON, the others as XML: both ways in are used each day. */
const JSON_EVERY = 10;

/** The command as an ERP would publish it. */
export function erpCommand(sample: SampleCommand, n: number): object {
  const { commandId, account, after, document } = sample;
  const content = n % JSON_EVERY === 0 ? { document } : { xml: buildDocument(document).toString('utf8') };
  return { command_id: commandId, type: 'send_document', account, reference: `ERP-${commandId}`, after, ...content };
}

/** Gives all commands to the gateway; a repeat is a no-op. Throws when one is refused: the sample is known to be acceptable. */
export async function feed(gateway: GatewayClient, commands: SampleCommand[]): Promise<void> {
  for await (const result of gateway.send(commands.map(erpCommand))) {
    if ('error' in result) throw new Error(`a sample command was refused: ${result.error.detail}`);
  }
}

export interface OutcomeRow {
  commandId: string;
  phase: string;
  outcome?: string;
}

export interface Summary {
  documents: number;
  accepted: number;
  partial: number;
  rejected: number;
  failed: number;
  unfinished: number;
  /** What the generator expected, by outcome. */
  expected: Partial<Record<string, number>>;
  /** Command ids whose outcome is not the one that the generator expected. */
  unexpected: string[];
}

/** Counts the outcomes of the sample's commands and holds them against what was expected. */
export function summarise(commands: SampleCommand[], rows: OutcomeRow[]): Summary {
  const outcomes = new Map(rows.map((row) => [row.commandId, row.phase === 'concluded' ? row.outcome : undefined]));
  const count = (outcome: string | undefined) => commands.filter((one) => outcomes.get(one.commandId) === outcome).length;
  const expected: Partial<Record<string, number>> = {};
  for (const one of commands) expected[one.expected] = (expected[one.expected] ?? 0) + 1;
  return {
    expected,
    documents: commands.length,
    accepted: count('accepted'),
    partial: count('partial'),
    rejected: count('rejected'),
    failed: count('failed'),
    unfinished: count(undefined),
    unexpected: commands.filter((one) => outcomes.get(one.commandId) !== one.expected).map((one) => one.commandId),
  };
}

/** Waits until the documents concluded or `signal` aborts; reports progress about once a second. */
export async function waitForConclusion(gateway: GatewayClient, options: { documents: number; signal: AbortSignal; progress(concluded: number): void; limitMs: number }): Promise<void> {
  for (let waitedMs = 0; waitedMs < options.limitMs && !options.signal.aborted; waitedMs += 1_000) {
    const counts = await gateway.get<{ documents: number; unfinished: number }>('/v1/summary');
    const concluded = counts.documents - counts.unfinished;
    options.progress(concluded);
    if (concluded >= options.documents) return;
    await systemClock.wait(1_000, options.signal);
  }
}
