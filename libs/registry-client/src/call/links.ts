import type { Profile } from '../profile.js';
import type { Reading } from './classify.js';

/**
 * Where to fetch a link of the registry. The request carries the token, so it goes to our base address or where the
 * installation's rewrite points, and nowhere else (public-facts 1: a TLS proxy stands before the registry, and its
 * links name the registry's own host).
 */
export function resolveLink(link: string, base: URL, rewrite: Profile['linkRewrite']): Reading<URL> {
  let url: URL;
  try {
    url = new URL(link, base);
  } catch {
    return { problem: 'the link is not an address' };
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { problem: `the link has the scheme ${url.protocol}` };
  const path = url.pathname + url.search;
  if (rewrite === 'base') return { value: new URL(base.origin + path) };
  if (rewrite !== null && url.origin === new URL(rewrite.from).origin)
    return { value: new URL(new URL(rewrite.to).origin + path) };
  if (url.origin === base.origin) return { value: new URL(base.origin + path) };
  const where = `${url.origin}, which is not the registry at ${base.origin}`;
  return { problem: `the link leads to ${where}; the token is not sent there` };
}
