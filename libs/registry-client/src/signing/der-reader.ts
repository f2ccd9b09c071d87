import { refuse } from './cms-parts.js';

/** One element of a DER text (X.690): its tag byte, and where it and its content lie. */
export interface DerElement {
  bytes: Buffer;
  tag: number;
  from: number;
  contentFrom: number;
  to: number;
}

const MAX_CHILDREN = 256;

/**
 * The element at `from`; definite lengths and low tags only, as DER has them in a CMS. Why not asn1js: it builds an
 * object for every node of the certificate inside each signature, several ms of CPU; looking at six fields takes a
 * tenth of one.
 * @throws PedigreeError invalid_parameter when the text is not that.
 */
export function elementAt(bytes: Buffer, from = 0, limit = bytes.length): DerElement {
  const lengthFrom = from + 2;
  if (lengthFrom > limit) return refuse('it is not DER');
  const [tag, first] = [bytes.readUInt8(from), bytes.readUInt8(from + 1)];
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const contentFrom = lengthFrom + lengthBytes;
  if ((tag & 0x1f) === 0x1f || first === 0x80 || lengthBytes > 4 || contentFrom > limit) return refuse('it is not DER');
  const to = contentFrom + (lengthBytes === 0 ? first : bytes.readUIntBE(lengthFrom, lengthBytes));
  return to > limit ? refuse('it ends too early') : { bytes, tag, from, contentFrom, to };
}

/** The elements inside one; refuses what is not there, so that `what` can be named. */
export function inside(parent: DerElement | undefined, what: string): DerElement[] {
  if (parent === undefined || (parent.tag & 0x20) === 0) return refuse(`${what} is not where it should be`);
  const children: DerElement[] = [];
  for (let from = parent.contentFrom; from < parent.to;) {
    if (children.length === MAX_CHILDREN) return refuse(`${what} has too many parts`);
    const child = elementAt(parent.bytes, from, parent.to);
    children.push(child);
    from = child.to;
  }
  return children;
}

/** Tag, length and content. */
export const whole = (element: DerElement): Buffer => element.bytes.subarray(element.from, element.to);
export const contentOf = (element: DerElement): Buffer => element.bytes.subarray(element.contentFrom, element.to);

/** Whether it is this object identifier, given in DER. */
export const isOid = (element: DerElement | undefined, der: Buffer): boolean =>
  element !== undefined && whole(element).equals(der);
