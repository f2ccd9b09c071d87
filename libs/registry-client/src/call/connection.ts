import { PedigreeError } from '#kernel';
import { Agent } from 'undici';
import type { Profile } from '../profile.js';

/** The registry's address. @throws PedigreeError invalid_configuration. */
export function baseOf(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  ) {
    throw new PedigreeError('invalid_configuration', 'the registry address must be http(s)://host[:port][/prefix]', {
      field: 'baseUrl',
    });
  }
  return url;
}

/** HTTP/1.1, one request at a time on a connection: a broken connection then concerns one call alone. */
export function openAgent(profile: Profile, connections: number): Agent {
  const { requestTimeoutMs, connectTimeoutMs } = profile.rules;
  return new Agent({
    connections,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 120_000,
    headersTimeout: requestTimeoutMs,
    bodyTimeout: requestTimeoutMs,
    connect: { timeout: Math.min(connectTimeoutMs, requestTimeoutMs) },
  });
}
