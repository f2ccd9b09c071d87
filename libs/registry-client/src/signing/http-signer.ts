import { readFileSync } from 'node:fs';
import { backoffMs, PedigreeError, type Clock, type JsonValue } from '#kernel';
import { Agent } from 'undici';
import { textOf } from '../call/error-body.js';
import { exchange, type Exchange } from '../call/exchange.js';
import type { HttpSignerConfig } from '../port.js';
import { OutsideSigner } from './outside-signer.js';

const MAX_ANSWER_BYTES = 1 << 20;
const FIRST_PAUSE_MS = 100;

/**
 * Signs by a service over HTTP. A signature changes nothing anywhere, so a failed request is simply made again, within
 * the time limit of the whole.
 * @throws PedigreeError invalid_configuration when a file of certificates cannot be read.
 */
export function openHttpSigner(account: string, config: HttpSignerConfig, clock: Clock): OutsideSigner {
  const url = new URL(config.url);
  const ca = readAuthorities(account, config.caFile);
  const agent = new Agent({ connections: config.concurrency, pipelining: 1, connect: ca === undefined ? {} : { ca } });
  const request = {
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST' as const,
    headers: {
      'content-type': config.body === undefined ? 'application/octet-stream' : 'application/json',
      ...withSecret(config.headers, config.secret),
    },
  };
  const call = (body: string | Uint8Array, timeoutMs: number): Promise<Exchange> =>
    exchange(agent, { ...request, body }, { timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES, clock });
  const produce = async (bytes: Uint8Array): Promise<Uint8Array> => {
    const body =
      config.body === undefined
        ? bytes
        : JSON.stringify(
            fill(config.body, { base64: Buffer.from(bytes).toString('base64'), secret: config.secret ?? '' }),
          );
    return signatureOf(await repeated(config, clock, (timeoutMs) => call(body, timeoutMs)), config);
  };
  return new OutsideSigner({ account, config, produce, close: () => agent.destroy(), clock });
}

/** Asks again while that may help and time is left. */
async function repeated(
  config: HttpSignerConfig,
  clock: Clock,
  call: (timeoutMs: number) => Promise<Exchange>,
): Promise<Exchange> {
  const endMs = clock.monotonicMs() + config.timeLimitMs;
  let result = await call(config.timeLimitMs);
  for (let repeat = 0; repeat < config.retries && mayHelp(result); repeat += 1) {
    const pauseMs = backoffMs(repeat + 1, { firstMs: FIRST_PAUSE_MS });
    if (clock.monotonicMs() + pauseMs >= endMs) break;
    await clock.wait(pauseMs);
    result = await call(Math.max(1, endMs - clock.monotonicMs()));
  }
  return result;
}

const mayHelp = (result: Exchange): boolean =>
  result.kind === 'failed' || result.raw.httpStatus === 429 || result.raw.httpStatus >= 500;

function signatureOf(result: Exchange, config: HttpSignerConfig): Uint8Array {
  if (result.kind === 'failed') throw new Error(`the signing service: ${result.reason}`);
  const { httpStatus, body } = result.raw;
  if (httpStatus < 200 || httpStatus > 299)
    throw new Error(`the signing service answered ${httpStatus}: ${body.toString('utf8')}`);
  if (config.answerField === undefined) return body;
  const value = fieldOf(body, config.answerField);
  if (typeof value !== 'string')
    throw new Error(`the signing service answered ${httpStatus} without the text ${config.answerField}`);
  return Buffer.from(value, 'latin1');
}

function fieldOf(body: Buffer, path: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(textOf(body));
  } catch {
    throw new Error('the signing service answered something that is not JSON');
  }
  for (const step of path.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Record<string, unknown>)[step]
        : undefined;
  return value;
}

/** The template with its placeholders filled, in whatever depth. */
function fill(template: JsonValue, values: { base64: string; secret: string }): JsonValue {
  if (typeof template === 'string')
    return template.replaceAll('{secret}', () => values.secret).replaceAll('{base64}', () => values.base64);
  if (Array.isArray(template)) return template.map((part) => fill(part, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([key, part]) => [key, fill(part as JsonValue, values)]));
}

const withSecret = (headers: Record<string, string>, secret = ''): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replaceAll('{secret}', () => secret)]),
  );

function readAuthorities(account: string, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new PedigreeError('invalid_configuration', `signer of account "${account}": ${file}: ${why}`, {
      field: `accounts.${account}.signer`,
    });
  }
}
