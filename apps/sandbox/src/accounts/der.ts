/** One element of a DER text: its tag byte and the bounds of its content inside `bytes`. */
export interface DerElement {
  bytes: Buffer;
  tag: number;
  /** Where the tag byte lies. */
  from: number;
  contentFrom: number;
  to: number;
}

const MAX_CHILDREN = 256;

/**
 * The element that begins at `from`. Throws on anything but definite lengths inside `limit`.
 * Why not a library: a general ASN.1 parser builds an object for every node of the certificate that comes with each
 * signature, 0.6 ms a document; checking a signature needs six fields of it.
 */
export function derElement(bytes: Buffer, from = 0, limit = bytes.length): DerElement {
  const tag = bytes[from];
  const first = bytes[from + 1];
  if (tag === undefined || first === undefined || from + 2 > limit) throw new Error('the DER text is cut off');
  if ((tag & 0x1f) === 0x1f) throw new Error('DER tags above 30 are not expected here');
  let contentFrom = from + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4 || contentFrom + count > limit)
      throw new Error('the DER length is indefinite or too long');
    length = bytes.readUIntBE(contentFrom, count);
    contentFrom += count;
  }
  const to = contentFrom + length;
  if (to > limit) throw new Error('the DER text is cut off');
  return { bytes, tag, from, contentFrom, to };
}

/** The elements inside a constructed one. */
export function derChildren(parent: DerElement): DerElement[] {
  const children: DerElement[] = [];
  for (let from = parent.contentFrom; from < parent.to;) {
    if (children.length === MAX_CHILDREN) throw new Error('the DER text has too many elements');
    const child = derElement(parent.bytes, from, parent.to);
    children.push(child);
    from = child.to;
  }
  return children;
}

/** The child with this tag, or an error that names it. */
export function derChild(children: DerElement[], tag: number, what: string): DerElement {
  const child = children.find((one) => one.tag === tag);
  if (child === undefined) throw new Error(`${what} is missing`);
  return child;
}

/** Tag, length and content. */
export const derWhole = (element: DerElement): Buffer => element.bytes.subarray(element.from, element.to);
export const derContent = (element: DerElement): Buffer => element.bytes.subarray(element.contentFrom, element.to);
/** Content of an object identifier as hexadecimal digits: enough to compare. */
export const derOid = (element: DerElement): string => derContent(element).toString('hex');
