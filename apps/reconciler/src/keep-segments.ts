import { rm } from 'node:fs/promises';
import { systemClock, type Clock } from '#kernel';
import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import { segmentParts, sweepSegments, writeNextSegment, type SegmentParts, type SegmentSettings } from '#segments';
import type { ServiceLog } from '#service';
import { sealSegments, type SealingParts } from './seal-segments.js';
import type { Troubles } from './troubles.js';

const LOOK_EVERY_MS = 60_000;
/** After an upgrade there may be many to write: between so many, it is looked whether the program is to stop. */
const MOST_AT_ONCE = 10_000;
const SWEEP_EVERY_MS = 3_600_000;
/** Every so many sweeps read each byte. */
const DEEP_SWEEP = 24;

/**
 * Compares files with rows, writes each segment once its range is complete, and seals segments in the log. None of
 * these waits for another that fails. Errors are said, never thrown.
 */
export async function keepSegments({
  pool,
  store,
  installation,
  settings,
  signal,
  log,
  troubles,
  clock = systemClock,
}: {
  pool: Pool;
  store: EventStore;
  installation: SealingParts['installation'];
  settings: SegmentSettings;
  signal: AbortSignal;
  log: ServiceLog;
  troubles: Troubles;
  clock?: Clock;
}): Promise<void> {
  const parts = segmentParts(pool, settings);
  await rm(parts.duck.temporary, { recursive: true, force: true }).catch((err: unknown) =>
    log.warn({ err }, 'left over'),
  );
  let [sweeps, sweptMs] = [0, -Infinity];
  const sweep = async (): Promise<void> => {
    if (clock.monotonicMs() - sweptMs < SWEEP_EVERY_MS) return;
    const found = await sweepSegments(parts, { deep: sweeps % DEEP_SWEEP === 0, mend: true });
    if (found === 'busy') return;
    [sweeps, sweptMs] = [sweeps + 1, clock.monotonicMs()];
    for (const one of found)
      log[one.mended ? 'warn' : 'error'](one, one.mended ? 'a segment was mended' : 'a segment is wrong');
  };
  for (; !signal.aborted; await clock.wait(LOOK_EVERY_MS, signal)) {
    // First: a new segment needs the files of all before it.
    await troubles.trying('sweep segments', sweep);
    await troubles.trying('write segments', () => writeAll(parts, signal));
    await troubles.trying('seal segments', () =>
      sealSegments({ parts, pool, store, installation, log, clock }, signal),
    );
  }
}

async function writeAll(parts: SegmentParts, signal: AbortSignal): Promise<void> {
  for (let written = 0; written < MOST_AT_ONCE && !signal.aborted; written += 1) {
    const segment = await writeNextSegment(parts);
    if (segment === 'none' || segment === 'busy') return;
  }
}
