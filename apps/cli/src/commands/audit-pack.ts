import { join } from 'node:path';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { FILE_TYPES } from '../../../gateway/src/api/file-types.js';
import type { EventStore } from '#event-store';
import { PedigreeError, readItemCode } from '#kernel';
import { migrateOrCheck, type Pool } from '#postgres';
import {
  breakWords,
  PACK_FORMAT,
  parseSeal,
  segmentStream,
  type SealedMovement,
  type SegmentSeal,
  type VerifiedPack,
} from '#proofs';
import { readModelSchemas } from '#read-models';
import { provenChain } from '#sealed-log';
import { proveInSegment, segmentParts, segments, segmentsSchema, type Segment, type SegmentParts } from '#segments';
import type { CliConfig } from '../config.js';
import { instant } from '../print.js';
import { printExport } from '../stack/host-export.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import { breakAnswer } from './audit-break-answer.js';
import { witnessedAnswer, witnessedWords } from './audit-witnessed.js';
import { segmentSettings } from './segment-settings.js';

/**
 * Prints a proof of all movements of a pack or a container, up to the newest segment that a checkpoint covers, from the
 * configured database or the embedded one and the files of segments.
 */
export async function provePack(config: CliConfig, named: string): Promise<number> {
  const code = readItemCode(named);
  if (code.kind === 'none')
    throw new PedigreeError('invalid_parameter', `--pack: ${named} ${code.why}`, { field: '--pack', item: named });
  return withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [...auditorSchemas, ...readModelSchemas, segmentsSchema]);
    const settings = segmentSettings(config);
    const parts = segmentParts(pool, settings);
    // The reconciler empties its own folder at its start.
    const duck = { ...parts.duck, temporary: join(settings.folder, 'temporary-proofs') };
    await withStore(config, pool, (store) => {
      const lines = packProofLines({ ...parts, duck }, { pool, store, item: code.id });
      const filter = { pack: code.id };
      return printExport(config, pool, { what: 'pedigree audit prove', format: FILE_TYPES.ndjson, filter, lines });
    });
    return 0;
  });
}

/** The lines of the proof: its format, the seals with their proofs, what each segment has, and the end. */
export async function* packProofLines(
  parts: SegmentParts,
  { pool, store, item }: { pool: Pool; store: EventStore; item: string },
): AsyncGenerator<object, void> {
  const all = await segments(pool);
  const streams = [0n, ...all.map(({ to }) => to)].map(segmentStream);
  const chain = await provenChain({ pool, store }, streams);
  yield { format: PACK_FORMAT, item };
  const sealed = new Map<string, SegmentSeal>();
  let stream = '';
  for await (const line of chain.lines) {
    if ('stream' in line) ({ stream } = line);
    if ('proof' in line && line.data !== undefined) sealed.set(stream, parseSeal(line.data));
    yield line;
  }
  const isPack = readItemCode(item).kind === 'sgtin';
  for (const segment of all.slice(0, chain.sealed)) {
    checkSealed(segment, sealed.get(segmentStream(segment.from)));
    yield await proveInSegment(parts, segment, { item, isPack });
  }
  yield { segments: chain.sealed };
}

/** No verifier would take the file. */
function checkSealed({ from, to, root }: Segment, seal: SegmentSeal | undefined): void {
  if (seal === undefined || seal.root === root) return;
  const segment = `the segment of positions ${from} to ${to}`;
  throw new PedigreeError('unavailable', `${segment} has another root than the last seal under the checkpoint`, {});
}

export const verifiedPackAnswer = (verified: VerifiedPack): object => {
  const { item, log, segments: count, upTo, sealedAgain, noLaterBefore, movements } = verified;
  return {
    item,
    origin: log.checkpoint.origin,
    size: log.checkpoint.size,
    root: log.checkpoint.root.toString('hex'),
    segments: count,
    complete_up_to_position: String(upTo),
    sealed_again: sealedAgain.map(String),
    no_later_segment_before_leaf: noLaterBefore?.leaves ?? null,
    counted_at: noLaterBefore?.at ?? null,
    movements: movements.map(({ position, ordinal, says, countedUntil }) => ({
      position: String(position),
      ordinal,
      counted_until: countedUntil === undefined ? null : String(countedUntil),
      ...says,
    })),
    breaks: log.breaks.map(breakAnswer),
    ...witnessedAnswer(log.witnessed),
  };
};

export const verifiedPackWords = (verified: VerifiedPack): string => {
  const { item, log, segments: count, upTo, sealedAgain, noLaterBefore, movements } = verified;
  return [
    ...movements.map(movementWords),
    `${movements.length} movements name ${item} up to log position ${upTo}. ${count} segments are sealed in the log ` +
      `${log.checkpoint.origin}, from the first position on without a gap, and have no other`,
    ...sealedAgain.map((from) => `The segment behind position ${from} was sealed more than once: the last seal counts`),
    noLaterBefore === undefined
      ? 'NOT PROVEN: that no later segment was sealed, or one of these again. The proof has not all signed counts'
      : `No later segment was sealed, and none of these again, up to leaf ${noLaterBefore.leaves}, ` +
        `counted at ${instant(noLaterBefore.at)}`,
    `NOT COVERED: log positions after ${upTo}.`,
    ...containerWords(item, movements),
    ...log.breaks.map(breakWords),
    'Not proven: that segments hold what the documents say. Whoever has the log and its evidence can write them again.',
    ...witnessedWords(log.witnessed),
  ].join('\n');
};

const movementWords = ({ position, says, countedUntil }: SealedMovement): string =>
  [
    `position ${position}`,
    says.ordered_at,
    `type ${says.doc_type}`,
    says.request_id ?? says.document_id,
    says.result,
    ...[says.status, says.place, says.containment, says.container],
    countedUntil === undefined ? undefined : `counted until position ${countedUntil}`,
  ]
    .filter((word) => word !== undefined)
    .join('  ');

/** Each of them has movements that are its own. */
function containerWords(item: string, movements: readonly SealedMovement[]): string[] {
  const containers = [...new Set(movements.flatMap(({ says }) => says.container ?? []))].sort();
  const these = containers.length === 0 ? '' : `: ${containers.join(', ')}`;
  return [
    `Not covered: movements of containers that held ${item}, and of whole places. ` +
      `They need a proof of their own${these}`,
  ];
}
