import type { IncomingMessage } from 'node:http';
import { PedigreeError } from '#kernel';

/** Names of this machine that no name server can lead elsewhere. */
const LOCAL_NAMES = ['127.0.0.1', '[::1]', 'localhost'];
const DEFAULT_PORT = 80;
/** What proxies add to a request that they pass on. */
const FORWARDED = /^(forwarded|via|x-forwarded-.+|x-real-ip|x-original-host|cf-connecting-ip|true-client-ip)$/;
/** What makes a key, for the sentences that ask for one. */
export const MAKE_A_KEY = 'pedigree keys add NAME --role admin --reason TEXT';
const OR_A_KEY = `or make a key on the host: ${MAKE_A_KEY}`;

/** What of a request tells for whom it was meant, and from where it comes. */
export type Call = Pick<IncomingMessage, 'headers'> & {
  socket: { localPort?: number | undefined; remoteAddress?: string | undefined };
};

/**
 * Refuses a call without a key that may not come from a program of this machine: a page of another site whose name was
 * led here (its Host is that name), a page that calls across sites (its Origin is that site, RFC 6454), and whatever a
 * proxy passes on for others. Programs of this machine name it by an address of its own and our port. Throws
 * PedigreeError `forbidden` that names the header.
 */
export function refuseFromElsewhere({ headers, socket }: Call): void {
  const hosts = LOCAL_NAMES.flatMap((name) => [
    `${name}:${socket.localPort}`,
    ...(socket.localPort === DEFAULT_PORT ? [name] : []),
  ]);
  const { host = '', origin } = headers;
  if (!hosts.includes(host.toLowerCase())) {
    throw refused(
      'Host',
      `without an API key only this machine is served, by the address ${hosts[0]}; call that, ${OR_A_KEY}`,
    );
  }
  if (origin !== undefined && !hosts.some((one) => origin.toLowerCase() === `http://${one}`)) {
    throw refused('Origin', `without an API key no page of another site is served; send no Origin, ${OR_A_KEY}`);
  }
  const forwarded = Object.keys(headers).find((name) => FORWARDED.test(name));
  if (forwarded !== undefined) {
    throw refused(
      forwarded,
      `a proxy has passed this on (${forwarded}), and who called the proxy is not known here; set ` +
        `PEDIGREE_BEHIND_PROXY=true, and make a key on the host: ${MAKE_A_KEY}`,
    );
  }
}

const refused = (field: string, message: string): PedigreeError => new PedigreeError('forbidden', message, { field });
