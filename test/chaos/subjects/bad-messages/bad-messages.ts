import type { JsonObject } from '#kernel';
import {
  complaints,
  type DeadLetter,
  type Ended,
  type Fed,
  type LoadContext,
  type Message,
  type Subject,
} from '../subject.js';

const DOCUMENTS_PER_ROUND = 40;

/**
 * Messages that can never be handled: each is refused with its reason or lies among the dead letters with it, nothing
 * else does, and what comes behind them moves on. Of those on the bus the log says once that they were refused.
 */
export const badMessages: Subject = { name: 'bad-messages', load, check };

const BAD: { name: string; code: string; body(n: number): string }[] = [
  { name: 'no-json', code: 'invalid_json', body: () => '{"command_id": "bad", ' },
  {
    name: 'unknown-type',
    code: 'invalid_command',
    body: (n) => JSON.stringify({ command_id: `bad-type-${n}`, type: 'no_such_type', xml: '<a/>' }),
  },
  { name: 'no-document', code: 'invalid_command', body: (n) => JSON.stringify({ command_id: `bad-empty-${n}` }) },
  {
    name: 'unknown-field',
    code: 'invalid_command',
    body: (n) => JSON.stringify({ command_id: `bad-field-${n}`, xml: '<a/>', colour: 'red' }),
  },
  {
    name: 'unknown-account',
    code: 'unknown_account',
    body: (n) => JSON.stringify({ command_id: `bad-account-${n}`, account: 'nobody', xml: '<a/>' }),
  },
];

function load({ random, documents, lastsMs, hasBroker }: LoadContext): Message[] {
  const rounds = Math.max(1, Math.round(documents / DOCUMENTS_PER_ROUND));
  return Array.from({ length: rounds }, (_, round) =>
    BAD.map(({ name, code, body }): Message => ({
      key: `bad-${name}-${round}`,
      atMs: random.below(lastsMs),
      via: hasBroker && random.below(2) === 0 ? 'amqp' : 'http',
      body: Buffer.from(body(round)),
      expect: { kind: 'refused', code },
    })),
  ).flat();
}

async function check({ fed, deadLetters, log }: Ended): Promise<string[]> {
  const bad = fed.filter((one) => one.expect.kind === 'refused');
  const overHttp = bad.filter((one) => one.via === 'http');
  const published = new Map(bad.filter((one) => one.via === 'amqp').map((one) => [one.key, one]));
  const refused = (await log.events()).filter(({ type }) => type === 'CommandRefused').map(({ data }) => data);
  return [
    ...complaints(overHttp, refusalComplaint),
    ...complaints(published.values(), (one) => recordComplaint(one, refused)),
    ...(deadLetters === undefined ? [] : letterComplaints(published, deadLetters)),
  ];
}

function recordComplaint(one: Fed, refused: JsonObject[]): string | undefined {
  const codes = refused.filter(({ messageId }) => messageId === one.key).map(({ code }) => code);
  return codes.length === 1 && codes[0] === codeOf(one)
    ? undefined
    : `${one.key} should be recorded once as refused, ${codeOf(one)}, and was as [${codes.join(', ')}]`;
}

function refusalComplaint(one: Fed): string | undefined {
  if (one.acknowledgedMs !== undefined) return `${one.key} was acknowledged and should be refused as ${codeOf(one)}`;
  return one.refusedCode === codeOf(one)
    ? undefined
    : `${one.key} should be refused as ${codeOf(one)} and was ${one.refusedCode ?? 'not answered'}`;
}

/** A message may lie there twice: it is handled at least once, and put aside before it leaves its queue. */
function letterComplaints(published: Map<string, Fed>, letters: DeadLetter[]): string[] {
  const there = new Set(letters.map((one) => one.messageId));
  return [
    ...complaints(published.values(), (one) =>
      there.has(one.key) ? undefined : `${one.key} is not among the dead letters`,
    ),
    ...complaints(letters, ({ messageId = 'a message without id', code, reason }) => {
      const one = published.get(messageId);
      if (one === undefined) return `${messageId} is among the dead letters, as ${code}: ${reason}`;
      return code === codeOf(one)
        ? undefined
        : `${messageId} should be put aside as ${codeOf(one)}, and is as ${code}: ${reason}`;
    }),
  ];
}

const codeOf = ({ expect }: Fed): string => (expect.kind === 'refused' ? expect.code : 'nothing');
