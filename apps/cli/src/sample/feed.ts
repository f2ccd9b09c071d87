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

/**
 * Gives all commands to the gateway; a repeat is a no-op. Throws when one is refused: the sample is known to be
 * acceptable.
 */
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
  const count = (outcome: string | undefined) =>
    commands.filter((one) => outcomes.get(one.commandId) === outcome).length;
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

/** Documents that are asked about in one round, one by one. */
const ASKED_AT_ONCE = 50;
const ROUND_MS = 1_000;

export interface WaitOptions {
  commands: SampleCommand[];
  signal: AbortSignal;
  limitMs: number;
  /** Told after each round how many are known to have concluded, and the command ids of the others. */
  progress(concluded: number, open: string[]): void;
}

/**
 * Waits until the documents of these commands concluded, or `signal` aborts, or the time is over, and asks once in any
 * case; returns those that concluded. Other documents of the installation, its user's own, neither count nor cost
 * anything: each of ours is asked about by its command id, in turn.
 */
export async function waitForConclusion(gateway: GatewayClient, options: WaitOptions): Promise<OutcomeRow[]> {
  const endMs = systemClock.monotonicMs() + options.limitMs;
  const concluded: OutcomeRow[] = [];
  let open = options.commands.map((one) => one.commandId);
  while (!options.signal.aborted) {
    const asked = open.splice(0, ASKED_AT_ONCE);
    const rows = await Promise.all(asked.map((commandId) => rowOf(gateway, commandId)));
    const done = rows.filter((row) => row?.phase === 'concluded') as OutcomeRow[];
    concluded.push(...done);
    open = [...open, ...asked.filter((_, i) => rows[i]?.phase !== 'concluded')];
    options.progress(concluded.length, open);
    if (open.length === 0 || systemClock.monotonicMs() >= endMs) break;
    // Where most are done the others may be too: those are asked about at once.
    if (done.length * 2 < asked.length) await systemClock.wait(ROUND_MS, options.signal);
  }
  return concluded;
}

async function rowOf(gateway: GatewayClient, commandId: string): Promise<OutcomeRow | undefined> {
  const { items } = await gateway.get<{ items: OutcomeRow[] }>(
    `/v1/documents?command_id=${encodeURIComponent(commandId)}`,
  );
  return items[0];
}
