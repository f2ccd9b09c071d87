import { PedigreeError, type JsonObject } from '#kernel';
import type { Account, DocumentStatus, DocumentToSend, OutgoingQuery } from '../port.js';
import type { Profile } from '../profile.js';
import type { OperationName } from '../profile-names.js';
import { formatRegistryDate } from '../registry-dates.js';

export interface RequestParts {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With the base path, path values filled in and the query. */
  path: string;
  body?: string;
}

/** Builds requests by the names, paths and formats of the profile (registry-interface 4; public-facts 1.2). */
export class Requests {
  constructor(private readonly profile: Profile) {}

  /** An operation whose parameters are in its path, with an optional JSON body. */
  plain(name: OperationName, values: Record<string, string> = {}, body?: JsonObject): RequestParts {
    const { method, path } = this.profile.operations[name];
    const filled = path.replace(/\{(\w+)\}/g, (whole, key: string) =>
      key in values ? encodeURIComponent(values[key] as string) : whole,
    );
    return {
      method,
      path: this.profile.basePath + filled,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }

  signInCode(account: Pick<Account, 'clientId' | 'clientSecret' | 'userId' | 'signer'>): RequestParts {
    const { fields } = this.profile;
    return this.plain(
      'sign_in_code',
      {},
      {
        [fields.client_id]: account.clientId,
        [fields.client_secret]: account.clientSecret,
        [fields.user_id]: account.userId,
        [fields.auth_type]: account.signer.kind === 'password' ? 'PASSWORD' : 'SIGNED_CODE',
      },
    );
  }

  /**
   * @param proof A detached CMS over the UTF-8 bytes of the code, in base64; or the password of a user who does not
   *   sign.
   */
  signInToken(code: string, proof: { signature: string } | { password: string }): RequestParts {
    const { fields } = this.profile;
    const [name, value] = 'password' in proof ? [fields.password, proof.password] : [fields.signature, proof.signature];
    return this.plain('sign_in_token', {}, { [fields.code]: code, [name]: value });
  }

  /** A user without a signature leaves the field out (public-facts 1.1). */
  send(document: Pick<DocumentToSend, 'xml' | 'signature' | 'requestId' | 'bulkProcessing'>): RequestParts {
    const { fields } = this.profile;
    const xml = Buffer.from(document.xml.buffer, document.xml.byteOffset, document.xml.byteLength);
    return this.plain(
      'send',
      {},
      {
        [fields.document]: xml.toString('base64'),
        ...(document.signature === undefined ? {} : { [fields.sign]: document.signature.toString('base64') }),
        [fields.request_id]: document.requestId,
        ...(document.bulkProcessing === undefined ? {} : { [fields.bulk_processing]: document.bulkProcessing }),
      },
    );
  }

  /** A page of a document list: a GET takes the filter flat in its query, a POST as {filter, start_from, count}. */
  list(name: 'list_outgoing' | 'list_incoming', query: OutgoingQuery): RequestParts {
    const { fields } = this.profile;
    const operation = this.profile.operations[name];
    const pageSize = operation.pageSize ?? 100;
    const paging = {
      [fields.start_from]: query.offset ?? 0,
      [fields.count]: Math.min(query.limit ?? pageSize, pageSize),
    };
    const filter = this.filter(query);
    if (operation.method === 'POST') return this.plain(name, {}, { [fields.filter]: filter, ...paging });
    return this.inQuery(name, {}, { ...filter, ...paging });
  }

  /** An operation whose parameters are in its query; a list repeats its key. */
  inQuery(name: OperationName, values: Record<string, string> | undefined, query: JsonObject): RequestParts {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) {
      for (const single of Array.isArray(value) ? value : [value]) parameters.append(key, String(single));
    }
    const parts = this.plain(name, values);
    return { ...parts, path: `${parts.path}?${parameters.toString()}` };
  }

  private filter(query: OutgoingQuery): JsonObject {
    const { fields, listDateFormat, zone } = this.profile;
    const filter: JsonObject = {};
    if (query.documentIds !== undefined) filter[fields.document_ids] = query.documentIds;
    if (query.requestId !== undefined) filter[fields.request_id] = query.requestId;
    if (query.docType !== undefined) filter[fields.doc_type] = query.docType;
    if (query.status !== undefined) filter[fields.doc_status] = this.statusName(query.status);
    if (query.from !== undefined) filter[fields.start_date] = formatRegistryDate(query.from, listDateFormat, zone);
    if (query.to !== undefined) filter[fields.end_date] = formatRegistryDate(query.to, listDateFormat, zone);
    return filter;
  }

  private statusName(status: DocumentStatus): string {
    const { statuses, name } = this.profile;
    const names = Object.keys(statuses).filter((one) => statuses[one] === status);
    if (names.length === 1) return names[0] as string;
    const message =
      `lists cannot be filtered by status ${status}: profile ${name} has ` +
      `${names.length === 0 ? 'no name' : `the names ${names.join(', ')}`} for it`;
    throw new PedigreeError('invalid_parameter', message, { field: 'status' });
  }
}
