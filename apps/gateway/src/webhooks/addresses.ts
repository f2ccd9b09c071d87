import { lookup as resolve, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { PedigreeError } from '#kernel';

const MOST_URL_LENGTH = 2_000;

/**
 * Never a receiver of ours: this network alone, link-local (where clouds serve their metadata), multicast, reserved,
 * and metadata services elsewhere.
 */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '100.100.100.200/32',
  '192.0.0.192/32',
];
const LOOPBACK_IPV4 = '127.0.0.0/8';
const LOOPBACK = blockList([LOOPBACK_IPV4, '::1/128']);
/**
 * Addresses that stand for others, and so would lead around the list: 6to4 (RFC 3056), Teredo (RFC 4380), NAT64 with a
 * prefix of its own (RFC 8215) and the old IPv4-compatible ones (RFC 4291) as a whole; the well-known NAT64 prefix (RFC
 * 6052), by which networks without IPv4 reach all of it, where it stands for what is forbidden or for the translator
 * itself. IPv4-mapped ones need no line: a BlockList judges them as the IPv4 address.
 */
const TRANSLATED = [
  '2002::/16',
  '2001::/32',
  '64:ff9b:1::/48',
  '::/96',
  ...[...FORBIDDEN_IPV4, LOOPBACK_IPV4].map(behindNat64),
];
const FORBIDDEN = blockList([...FORBIDDEN_IPV4, ...TRANSLATED, 'fe80::/10', 'ff00::/8', 'fd00:ec2::254/128']);
/** Tabs and line ends, which a URL parser passes over, and what steers a terminal or turns the direction of text. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** A list of networks as `address/bits`, or single addresses. Throws in words on what is none. */
export function blockList(networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    if (version === 0 || Number(bits ?? most) > most)
      throw new Error(`${network} is neither an address nor a network such as 10.0.0.0/8`);
    list.addSubnet(address, Number(bits ?? most), version === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

function behindNat64(network: string): string {
  const [address, bits] = network.split('/');
  return `64:ff9b::${address}/${96 + Number(bits)}`;
}

const holds = (list: BlockList, address: string): boolean => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Where webhooks may go: by https anywhere but to addresses that are no receiver of anybody's; by http on this machine
 * alone. `allowed` lifts both, by network. What a name leads to is judged at each connection, by the very address that
 * is then connected to.
 */
export class AddressRules {
  constructor(private readonly allowed: BlockList = new BlockList()) {}

  /** The address as it will be called. Throws PedigreeError `invalid_command` that says what is wrong with it. */
  check(text: string): URL {
    if (UNSEEN.test(text)) throw refused('must hold no control characters', text);
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !['https:', 'http:'].includes(url.protocol))
      throw refused('must be an https address', text);
    if (text.length > MOST_URL_LENGTH) throw refused(`is longer than ${MOST_URL_LENGTH} characters`, text);
    if (url.username !== '' || url.password !== '')
      throw refused('must hold no user and no password: the signature says who calls', url.host);
    if (url.hash !== '') throw refused('must hold no fragment', text);
    const host = hostOf(url);
    const why = isIP(host) === 0 ? whyNotName(url, host) : this.whyNot(url.protocol, host);
    if (why !== undefined) throw refused(why, text);
    return url;
  }

  /** Resolves names for connections by this protocol, and fails when one leads to where nothing may go. */
  lookupFor(protocol: string): LookupFunction {
    return (hostname, options, callback) => {
      resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[] | undefined) => {
        const list = addresses ?? [];
        const why = list.map(({ address }) => this.whyNot(protocol, address)).find((one) => one !== undefined);
        const [first] = list;
        if (error !== null || why !== undefined || first === undefined)
          return callback(error ?? new Error(`${hostname} ${why ?? 'has no address'}`), '', 0);
        if (options.all === true) callback(null, list);
        else callback(null, first.address, first.family);
      });
    };
  }

  /**
   * Why a connection to this address is refused; undefined when it is not. A literal address in a URL is not looked up,
   * so it is asked here too.
   */
  whyNot(protocol: string, address: string): string | undefined {
    if (holds(this.allowed, address)) return undefined;
    if (holds(FORBIDDEN, address) && !holds(LOOPBACK, address))
      return `leads to ${address}, to which nothing is posted unless PEDIGREE_WEBHOOK_ALLOWED_ADDRESSES allows it`;
    if (protocol === 'http:' && !holds(LOOPBACK, address))
      return `leads to ${address}: http is for this machine alone, use https`;
    return undefined;
  }
}

/** A name that cannot be on this machine may be behind an allowed address: whether it is shows at the connection. */
const whyNotName = (url: URL, host: string): string | undefined =>
  host === '' || (url.protocol === 'https:' && host.endsWith('.')) ? 'names no host' : undefined;

export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

const refused = (why: string, item: string): PedigreeError =>
  new PedigreeError('invalid_command', `/url: ${why}`, { field: '/url', item });
