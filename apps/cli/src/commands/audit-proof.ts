import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { auditorSchemas } from '../../../auditor/src/auditor.js';
import { FILE_TYPES } from '../../../gateway/src/api/file-types.js';
import { documentStream } from '#domain';
import { openEventStore, type EventStore } from '#event-store';
import { invalidParameter, PedigreeError, requestIdOf } from '#kernel';
import { installationId, migrateOrCheck, type Pool } from '#postgres';
import {
  breakWords,
  type CheckedEvent,
  PACK_PROOF_BEGIN,
  type TrustedWitnesses,
  trustedWitnesses,
  type Verified,
  type VerifiedStream,
  verifyPackProof,
  verifyProofLines,
} from '#proofs';
import { readModelSchemas } from '#read-models';
import { proofLines } from '#sealed-log';
import type { CliConfig } from '../config.js';
import { gatewayOf } from '../own-gateway.js';
import { instant, out } from '../print.js';
import { AnswerReading } from '../answers/answer-reading.js';
import { answerShown, answerWords, isWhole, type AnsweredReading } from '../answers/answer-words.js';
import { ambiguous, unknownDocument } from '../named-document.js';
import { printExport } from '../stack/host-export.js';
import { withDatabase } from '../stack/with-database.js';
import { breakAnswer } from './audit-break-answer.js';
import { provePack, verifiedPackAnswer, verifiedPackWords } from './audit-pack.js';
import { mustBeKeys, neededWitnesses, witnessedAnswer, witnessedWords } from './audit-witnessed.js';
import { textLines } from './text-lines.js';

/** What is to be proven: a document by any of its names, or a stream of the log. */
export interface ProveNamed {
  document?: string | undefined;
  stream?: string | undefined;
  /** A route of the API, whose answer is to be proven. */
  answer?: string | undefined;
  /** A pack or a container, all of whose movements are to be proven. */
  pack?: string | undefined;
  /** Whether the evidence that events name is in the proof. */
  evidence?: boolean | undefined;
}

/** Prints the proof of every event of a stream, from the configured database or the embedded one, as it is read. */
export async function proveNamed(config: CliConfig, named: ProveNamed): Promise<number> {
  const { document, stream, answer, pack, evidence } = named;
  if ([document, stream, answer, pack].filter((one) => one !== undefined).length !== 1)
    throw new PedigreeError(
      'invalid_parameter',
      'name a document, or a stream of the log by --stream, or an answer by --answer, or a pack by --pack',
    );
  if (pack !== undefined) return provePack(config, pack);
  if (answer !== undefined) return proveAnswer(config, { answer, evidence });
  return withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [...auditorSchemas, ...readModelSchemas]);
    const store = await openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
    try {
      const proven = stream ?? documentStream(await requestIdInLog(pool, store, document as string));
      const lines = proofLines({ pool, store }, proven, { hasEvidence: evidence !== false });
      const filter = { stream: proven, evidence: String(evidence !== false) };
      await printExport(config, pool, { what: 'pedigree audit prove', format: FILE_TYPES.ndjson, filter, lines });
    } finally {
      await store.close();
    }
    return 0;
  });
}

/** An answer is made by the gateway, and so is its proof. */
async function proveAnswer(
  config: CliConfig,
  { answer, evidence }: { answer: string; evidence: boolean | undefined },
): Promise<number> {
  if (!answer.startsWith('/v1/'))
    throw new PedigreeError('invalid_parameter', '--answer: must be a route of the API, such as /v1/packs/SGTIN', {
      field: '--answer',
      item: answer,
    });
  if (evidence === false) throw invalidParameter('--no-evidence', 'an answer is proven with its evidence');
  const route = `${answer}${answer.includes('?') ? '&' : '?'}proof=1`;
  await pipeline(await gatewayOf(config).stream(route, 'application/x-ndjson'), process.stdout, { end: false });
  return 0;
}

/**
 * As `requestIdOfNamed`, without a gateway: an auditor may have the database alone. Throws PedigreeError `not_found`,
 * `invalid_parameter`.
 */
async function requestIdInLog(pool: Pool, store: EventStore, named: string): Promise<string> {
  const isThere = async (requestId: string): Promise<boolean> =>
    (await store.readStream(documentStream(requestId), { limit: 1 })).length > 0;
  if (await isThere(named.toLowerCase())) return named.toLowerCase();
  const ofCommand = requestIdOf(await installationId(pool), named);
  if (await isThere(ofCommand)) return ofCommand;
  const { rows } = await pool.query<{ request_id: string }>(
    'SELECT request_id FROM document_outcome WHERE reference = $1 ORDER BY registered_at DESC LIMIT 1000',
    [named],
  );
  if (rows.length > 1)
    throw ambiguous(
      named,
      rows.map((row) => row.request_id),
    );
  if (rows[0] === undefined) throw unknownDocument(named);
  return rows[0].request_id;
}

export interface VerifyOptions {
  /** The verifier key of the log; where it was changed several, with blanks between. */
  key: string;
  /** Verifier keys of witnesses. */
  witness?: string[];
  needed?: string;
  json?: boolean;
}

/**
 * Checks a proof; needs no database and no network. Status 1 where too few witnesses have seen its checkpoint, events
 * of an answer are not sealed yet, or no signed count shows that nothing later is left out of an answer or of a pack's
 * proof.
 */
export async function verifyProof(file: string, { key, witness = [], needed, json }: VerifyOptions): Promise<number> {
  mustBeKeys(key);
  const trusted = trustedWitnesses(witness, neededWitnesses(needed));
  const input = file === '-' ? process.stdin : (await open(file)).createReadStream();
  input.setEncoding('utf8');
  try {
    return await verifyLines(textLines(input), { key, trusted, json });
  } finally {
    // A proof that is refused is not read to its end: whoever writes it must not keep the process waiting.
    input.destroy();
  }
}

async function verifyLines(
  lines: AsyncIterable<string>,
  { key, trusted, json }: { key: string; trusted: TrustedWitnesses; json: boolean | undefined },
): Promise<number> {
  const print = json === true ? jsonEvents() : eventLines();
  const { first, all } = await peeked(lines);
  if (first.startsWith(PACK_PROOF_BEGIN)) {
    const pack = await verifyPackProof(all, key, { trusted });
    out(json === true ? JSON.stringify(verifiedPackAnswer(pack)) : verifiedPackWords(pack));
    return pack.log.witnessed.isMet && pack.noLaterBefore !== undefined ? 0 : 1;
  }
  const reading = new AnswerReading();
  const verified = await verifyProofLines(all, key, { trusted, onEvent: print.event, ...reading.listening });
  const answered = verified.answer && { answer: verified.answer, reading: await reading.of(verified.answer) };
  out(json === true ? print.end(verifiedAnswer(verified, answered)) : verifiedWords(verified, answered));
  return verified.witnessed.isMet && isWhole(verified) ? 0 : 1;
}

/** The first line of a file, which says what it is, and all of them. */
async function peeked(lines: AsyncIterable<string>): Promise<{ first: string; all: AsyncGenerator<string> }> {
  const reading = lines[Symbol.asyncIterator]();
  const begin = await reading.next();
  async function* all(): AsyncGenerator<string> {
    for (let one = begin; one.done !== true; one = await reading.next()) yield one.value;
  }
  return { first: begin.done === true ? '' : begin.value, all: all() };
}

/** What is printed while a proof is read: nothing of it is kept, however long it is. */
interface EventPrinter {
  event: (event: CheckedEvent) => void;
  end: (answer: object) => string;
}

const eventLines = (): EventPrinter => ({
  event: ({ leaf, version, recordedAt, type, stream }) =>
    out(`leaf ${leaf}  ${instant(recordedAt)}  ${stream}  version ${version}  ${type}`),
  end: () => '',
});

/** One JSON document, whose events are written as they come. */
function jsonEvents(): EventPrinter {
  let before = '{"events":[';
  return {
    event: ({ leaf, stream, version, type, recordedAt }) => {
      out(`${before}${JSON.stringify({ leaf, stream, version, type, recordedAt })}`);
      before = ',';
    },
    end: (answer) => `${before === ',' ? '' : before}],${JSON.stringify(answer).slice(1)}`,
  };
}

const verifiedAnswer = (
  { checkpoint, streams, events, evidence, breaks, witnessed }: Verified,
  answered: AnsweredReading | undefined,
): object => ({
  origin: checkpoint.origin,
  size: checkpoint.size,
  root: checkpoint.root.toString('hex'),
  event_count: events,
  evidence: { here: evidence.here, not_here: evidence.notHere },
  streams: streams.map(({ stream, from, events: count, notYetSealed, whole }) => ({
    stream,
    ...(from === undefined ? {} : { from }),
    events: count,
    not_yet_sealed: notYetSealed,
    whole_up_to_leaf: whole?.leaves ?? null,
    counted_at: whole?.at ?? null,
  })),
  breaks: breaks.map(breakAnswer),
  ...(answered === undefined ? {} : { answer: answerShown(answered) }),
  ...witnessedAnswer(witnessed),
});

const verifiedWords = (
  { checkpoint, events, streams, evidence, breaks, witnessed }: Verified,
  answered: AnsweredReading | undefined,
): string =>
  [
    ...(answered === undefined ? [] : answerWords(answered)),
    `${events} events are in the log ${checkpoint.origin} of ${checkpoint.size} events that the key has signed`,
    ...streams.flatMap(streamWords),
    `${evidence.here} pieces of evidence that they name are in the file, byte for byte; ${evidence.notHere} are not`,
    ...breaks.map(breakWords),
    'Not proven: that what the events say is true, and what the log got after this checkpoint.',
    ...witnessedWords(witnessed),
  ].join('\n');

function streamWords({ stream, from, events, notYetSealed, whole }: VerifiedStream): string[] {
  if (from !== undefined)
    return [
      events === 0
        ? `${stream}: no event of it is here`
        : `${stream}: version ${from} alone. What else the stream has is not part of this proof`,
    ];
  const versions =
    events === 0
      ? `${stream}: no event of it is here`
      : `${stream}: versions 0 to ${events - 1}, none left out between them`;
  const newer =
    notYetSealed === 0 ? [] : [`${notYetSealed} newer events of ${stream} are not signed yet, says the file`];
  if (whole === undefined)
    return [`${versions}. NOT PROVEN: that it has no later event. The proof has no signed count`, ...newer];
  const counted = `up to leaf ${whole.leaves}, counted at ${instant(whole.at)}`;
  const behind = events - whole.events;
  const later = `${behind} of them came later. NOT PROVEN: that no other event came later`;
  return [
    `${versions}. These ${whole.events} are all that the log has of it ${counted}`,
    ...(behind > 0 ? [later] : []),
    ...newer,
  ];
}
