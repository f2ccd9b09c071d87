import { PedigreeError } from '#kernel';
import { databaseIsAway } from '#postgres';
import { findRequest, noteTaken, prepareAskedRun, recordPackRunFailure, untakenRuns } from '#reconciliation';
import { sentenceOf } from '#service';
import { ACTOR, type StockRunsParts } from './stock-run-parts.js';

/** Runs that are taken in one look; the others come with the next one. */
const MOST_TAKEN = 100;
const START = 'start requested pack runs';

/**
 * Takes runs that were asked for. `alone`: does work under the lock of all runs about packs, or not at all. While
 * another reconciler holds that one, it may have taken all: then nothing is left to fail at.
 */
export async function takeAsked(
  parts: StockRunsParts,
  alone: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  if ((await untakenRuns(parts.pool, 1)).length === 0) return parts.troubles.over(START);
  await alone(() => takeSome(parts));
}

/**
 * Writes the folders of runs that were asked for. The folder comes before the note that it was taken, so that a crash
 * between the two repeats what changes nothing. What cannot be taken now stays, and keeps no other back.
 */
async function takeSome(parts: StockRunsParts): Promise<void> {
  const { pool, segments, clock, log, troubles } = parts;
  let isWell = true;
  for (const asked of await untakenRuns(pool, MOST_TAKEN)) {
    const { runId, reason } = asked;
    try {
      await prepareAskedRun(segments.folder, asked, clock.now());
      log.info({ runId }, 'started a requested pack run');
    } catch (error) {
      if (databaseIsAway(error)) throw error;
      if (!(error instanceof PedigreeError)) {
        log.error({ err: error, runId }, 'could not start a requested pack run now');
        troubles.failed(START, error);
        isWell = false;
        continue;
      }
      const actor = (await findRequest(pool, runId))?.actor ?? ACTOR;
      await recordPackRunFailure(parts, { runId, reason, actor }, sentenceOf(error));
      // The run says so itself, and whoever asked for it sees it there: nothing is wrong with this program.
      log.warn({ err: error, runId }, 'a requested pack run cannot be made');
    }
    await noteTaken(pool, runId);
  }
  if (isWell) troubles.over(START);
}
