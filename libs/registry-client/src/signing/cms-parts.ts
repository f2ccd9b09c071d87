import { PedigreeError } from '#kernel';
import * as asn1js from 'asn1js';
import { OID } from './der.js';

/** Says what is wrong with a signature. */
export const refuse = (why: string): never => {
  throw new PedigreeError('invalid_parameter', `signature: ${why}`, { field: 'signature' });
};

/** Children of a constructed element. */
export function children(block: asn1js.AsnType | undefined, what: string): asn1js.AsnType[] {
  const value = (block as asn1js.Constructed | undefined)?.valueBlock?.value;
  return Array.isArray(value) ? (value as asn1js.AsnType[]) : refuse(`${what} is not where it should be`);
}

/** The element whole: tag, length, content. */
export const bytesOf = (block: asn1js.AsnType | undefined): Buffer =>
  block === undefined ? refuse('it ends too early') : Buffer.from(block.valueBeforeDecodeView);
export const contentOf = (block: asn1js.AsnType | undefined): Buffer =>
  block instanceof asn1js.OctetString
    ? Buffer.from(block.valueBlock.valueHexView)
    : refuse('an octet string is missing');
export const oidOf = (block: asn1js.AsnType | undefined): string =>
  block instanceof asn1js.ObjectIdentifier ? block.valueBlock.toString() : '';
/** Whether the element stands under the context tag n. */
const tagged = (block: asn1js.AsnType | undefined, n: number): boolean =>
  block?.idBlock.tagClass === 3 && block.idBlock.tagNumber === n;

/** The parts of SignedData with one signer (RFC 5652, 5.1). */
export function partsOf(cms: Uint8Array): { certificates: Buffer[]; signer: asn1js.AsnType[] } {
  const { offset, result } = asn1js.fromBER(cms);
  if (offset !== cms.length) return refuse('it is not one DER value');
  const [type, explicit] = children(result, 'ContentInfo');
  if (oidOf(type) !== OID.signedData) return refuse('it is not SignedData');
  const data = children(children(explicit, 'SignedData')[0], 'SignedData');
  const encapsulated = children(data[2], 'EncapsulatedContentInfo');
  if (oidOf(encapsulated[0]) !== OID.data || encapsulated.length > 1) return refuse('it is not detached');
  const certificates = data
    .filter((block) => tagged(block, 0))
    .flatMap((block) => children(block, 'certificates').map(bytesOf));
  const signers = children(data[data.length - 1], 'SignerInfos');
  if (signers.length !== 1) return refuse(`it has ${signers.length} signers instead of one`);
  return { certificates, signer: children(signers[0], 'SignerInfo') };
}

/** Signed attributes by type; each has one value. */
export function attributesOf(block: asn1js.AsnType | undefined): Map<string, asn1js.AsnType> {
  if (!tagged(block, 0)) return refuse('it has no signed attributes');
  return new Map(
    children(block, 'signedAttrs').map((attribute) => {
      const [type, values] = children(attribute, 'Attribute');
      return [oidOf(type), children(values, 'Attribute values')[0] as asn1js.AsnType];
    }),
  );
}
