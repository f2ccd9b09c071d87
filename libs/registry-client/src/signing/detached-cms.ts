import { createHash, sign, type KeyObject } from 'node:crypto';
import * as asn1js from 'asn1js';
import {
  der,
  context,
  GENERALIZED_TIME,
  INTEGER,
  NULL,
  OCTET_STRING,
  OID,
  oid,
  SEQUENCE,
  SET,
  setOf,
  UTC_TIME,
} from './der.js';

const DIGEST_BYTES = 32;
const VERSION_1 = der(INTEGER, Buffer.from([1]));
const SHA256 = der(SEQUENCE, oid(OID.sha256));
/**
 * Fillers that stand where digest, time and signature go; they occur nowhere else in the bytes by their length and
 * pattern.
 */
const DIGEST_HOLE = Buffer.alloc(DIGEST_BYTES, 0xd1);

/** Everything of a signature that is the same for every document, and where the rest goes. */
interface Template {
  /** The signed attributes as they are signed: a SET OF (RFC 5652, 5.4). */
  attributes: Buffer;
  attributesDigestAt: number;
  attributesTimeAt: number;
  /** The whole ContentInfo. */
  message: Buffer;
  messageDigestAt: number;
  messageTimeAt: number;
  signatureAt: number;
}

/** The time as ASN.1 wants it: UTCTime until 2049, GeneralizedTime from 2050 (RFC 5652, 11.3). */
function timeText(at: Date): { tag: number; text: string } {
  const digits = at.toISOString().slice(0, 19).replace(/[-T:]/g, '');
  return at.getUTCFullYear() < 2050
    ? { tag: UTC_TIME, text: `${digits.slice(2)}Z` }
    : { tag: GENERALIZED_TIME, text: `${digits}Z` };
}

/** Issuer name and serial number, byte for byte as the certificate has them. */
function issuerAndSerial(certificate: Buffer): { issuer: Buffer; serial: Buffer } {
  const { result } = asn1js.fromBER(certificate);
  const tbs = (result as asn1js.Sequence).valueBlock.value[0] as asn1js.Sequence;
  const fields = tbs.valueBlock.value;
  // The version is [0] EXPLICIT and absent in version 1 certificates.
  const first = fields[0]?.idBlock.tagClass === 3 ? 1 : 0;
  const bytesOf = (block: asn1js.AsnType | undefined): Buffer =>
    Buffer.from((block as asn1js.AsnType).valueBeforeDecodeView);
  return { serial: bytesOf(fields[first]), issuer: bytesOf(fields[first + 2]) };
}

const attribute = (type: string, value: Buffer): Buffer => der(SEQUENCE, oid(type), der(SET, value));

/**
 * ESS signing-certificate-v2 (RFC 5035): binds the signature to this very certificate. SHA-256 is its default and left
 * out.
 */
function signingCertificate(certificate: Buffer, names: { issuer: Buffer; serial: Buffer }): Buffer {
  const hash = der(OCTET_STRING, createHash('sha256').update(certificate).digest());
  const issuerSerial = der(SEQUENCE, der(SEQUENCE, der(context(4), names.issuer)), names.serial);
  return attribute(OID.signingCertificateV2, der(SEQUENCE, der(SEQUENCE, der(SEQUENCE, hash, issuerSerial))));
}

function templateOf(certificate: Buffer, signatureBytes: number, time: { tag: number; text: string }): Template {
  const names = issuerAndSerial(certificate);
  const timeHole = Buffer.alloc(time.text.length, 0xd2);
  const signatureHole = Buffer.alloc(signatureBytes, 0xd3);
  const parts = [
    attribute(OID.contentType, oid(OID.data)),
    attribute(OID.signingTime, der(time.tag, timeHole)),
    attribute(OID.messageDigest, der(OCTET_STRING, DIGEST_HOLE)),
    signingCertificate(certificate, names),
  ];
  const signerInfo = der(
    SEQUENCE,
    VERSION_1,
    der(SEQUENCE, names.issuer, names.serial),
    SHA256,
    setOf(context(0), parts),
    der(SEQUENCE, oid(OID.rsaEncryption), NULL),
    der(OCTET_STRING, signatureHole),
  );
  const signedData = der(
    SEQUENCE,
    VERSION_1,
    der(SET, SHA256),
    der(SEQUENCE, oid(OID.data)),
    der(context(0), certificate),
    der(SET, signerInfo),
  );
  const message = der(SEQUENCE, oid(OID.signedData), der(context(0), signedData));
  const attributes = setOf(SET, parts);
  return {
    attributes,
    attributesDigestAt: attributes.indexOf(DIGEST_HOLE),
    attributesTimeAt: attributes.indexOf(timeHole),
    message,
    messageDigestAt: message.lastIndexOf(DIGEST_HOLE),
    messageTimeAt: message.lastIndexOf(timeHole),
    signatureAt: message.length - signatureBytes,
  };
}

/**
 * Writes detached CMS SignedData (RFC 5652) over SHA-256 with RSA: content type, message digest, signing time and
 * signing-certificate-v2 are signed; the signer's certificate alone is inside (public-facts 1.1). Everything constant
 * is laid out once, so that one signature costs two digests and one RSA operation, which runs in the thread pool.
 */
export class DetachedCms {
  private template: Template | undefined;
  private templateTag = 0;

  constructor(
    private readonly key: KeyObject,
    private readonly certificate: Buffer,
  ) {}

  /** DER of the signature over `content`, said to be made at `at`. */
  async sign(content: Uint8Array, at: Date): Promise<Buffer> {
    const time = timeText(at);
    const template = this.templateFor(time);
    const digest = createHash('sha256').update(content).digest();
    const attributes = Buffer.from(template.attributes);
    digest.copy(attributes, template.attributesDigestAt);
    attributes.write(time.text, template.attributesTimeAt, 'latin1');
    const signature = await rsaSign(attributes, this.key);
    const message = Buffer.from(template.message);
    digest.copy(message, template.messageDigestAt);
    message.write(time.text, template.messageTimeAt, 'latin1');
    signature.copy(message, template.signatureAt);
    return message;
  }

  private templateFor(time: { tag: number; text: string }): Template {
    if (this.template === undefined || this.templateTag !== time.tag) {
      const modulusBits = this.key.asymmetricKeyDetails?.modulusLength ?? 0;
      this.template = templateOf(this.certificate, Math.ceil(modulusBits / 8), time);
      this.templateTag = time.tag;
    }
    return this.template;
  }
}

const rsaSign = (bytes: Buffer, key: KeyObject): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    sign('sha256', bytes, key, (error, signature) => (error ? reject(error) : resolve(signature))),
  );
