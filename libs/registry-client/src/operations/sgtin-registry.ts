import { defined, isJsonObject, PedigreeError, type JsonObject, type JsonValue } from '#kernel';
import { objectOf } from '../call/answers.js';
import { READ, READ_ONE, type Caller } from '../call/caller.js';
import type { Reading } from '../call/classify.js';
import { mayReadAgain } from '../call/read-again.js';
import { ACCESS_DENIED_CODE, NOT_FOUND_CODE, readOutcome, type ReadOutcome } from '../call/read-outcome.js';
import { asList, instant, key, number, readRecord, readRecords, text, type RecordOf } from '../lists/shape.js';
import type { RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import { PRODUCT } from './directory.js';

/** A pack as the registry has it (public-facts 1.3). `status` as the registry writes it, known to us or not. */
export const SGTIN = {
  sgtin: key('sgtin'),
  gtin: text('gtin'),
  series: text('batch', 'series_number'),
  status: text('sgtin_status', 'internal_state'),
  statusAt: instant('status_date'),
  owner: text('owner'),
  inn: text('inn'),
  /** Code of the money that paid for it (public-facts 1.3). */
  funding: text('source_type'),
  /** The place of activity where it lies. */
  place: text('branch_id'),
  systemId: text('sys_id'),
  sscc: text('pack3_id', 'sscc'),
  prodSellName: text('prod_sell_name', 'sell_name', 'prod_desc_label'),
  prodName: text('prod_name'),
  releasedAt: instant('release_date'),
  emittedAt: instant('emission_operation_date'),
  movedAt: instant('last_tracing_op_date'),
  expiresOn: text('expiration_date'),
  emissionType: number('emission_type'),
  withdrawalType: text('withdrawal_type'),
  haltId: text('halt_id'),
  haltNumber: text('halt_doc_num'),
  haltDecidedAt: instant('halt_doc_date'),
  haltedAt: instant('halt_date'),
};
export type SgtinRecord = RecordOf<typeof SGTIN>;

/** A document in the history of one pack. `status` as the registry writes it. */
export const PACK_DOCUMENT = {
  documentId: key('document_id'),
  requestId: text('request_id'),
  docType: number('doc_type'),
  docNum: text('doc_num'),
  status: text('doc_status'),
  receivedAt: instant('date'),
  processedAt: instant('processed_date'),
  sender: text('sender'),
  receiver: text('receiver'),
  sscc: text('sscc'),
};

/**
 * Why there is no record for a pack that was asked for. `not_told`: the registry named it among the failed and gave no
 * reason.
 */
export type NoRecord = {
  sgtin: string;
  reason: 'not_found' | 'access_denied' | 'not_told' | 'other';
  code?: string;
  text?: string;
};

export interface SgtinAnswers {
  found: SgtinRecord[];
  failed: NoRecord[];
  /** Asked for and not mentioned in the answer: nothing is known of them. */
  unanswered: string[];
}

/**
 * The registers of packs that are asked by list. The archive holds what reached a final status 60 days ago
 * (registry-interface 3.3).
 */
export type SgtinList = 'sgtins_by_list' | 'public_sgtins_by_list' | 'archived_sgtins_by_list';

/**
 * The SGTIN registry and its archive by list and one by one; by filter they are lists of the table (registry-interface
 * 2.3 and 3.3; public-facts 1.3).
 */
export class SgtinRegistry {
  constructor(private readonly caller: Caller) {}

  /** @param sgtins At least one, at most a page of the profile. @throws PedigreeError invalid_parameter. */
  async byList(
    account: string,
    sgtins: string[],
    list: SgtinList = 'sgtins_by_list',
  ): Promise<ReadOutcome<SgtinAnswers>> {
    const { profile, requests } = this.caller;
    const most = this.most(list);
    if (sgtins.length === 0 || sgtins.length > most)
      throw new PedigreeError('invalid_parameter', `${sgtins.length} packs; one call takes 1 to ${most}`, {
        field: 'sgtins',
      });
    const request = requests.plain(list, {}, { [profile.fields.filter]: { [profile.fields.sgtins]: sgtins } });
    return readOutcome(
      await this.caller.call(account, list, {
        request,
        manner: READ,
        read: (raw) => readAnswers(raw, sgtins, profile),
      }),
    );
  }

  /**
   * Any number of packs, a page a call; a call that fails is made again, a few times; ends at the first that fails for
   * good. @throws PedigreeError invalid_parameter for none.
   */
  async byLists(
    account: string,
    sgtins: string[],
    list: SgtinList = 'sgtins_by_list',
  ): Promise<ReadOutcome<SgtinAnswers>> {
    const asked = [...new Set(sgtins)];
    const most = this.most(list);
    const all: SgtinAnswers = { found: [], failed: [], unanswered: [] };
    let outcome = await this.part(account, asked.slice(0, most), list);
    for (let next = most; outcome.kind === 'ok'; next += most) {
      all.found = all.found.concat(outcome.value.found);
      all.failed = all.failed.concat(outcome.value.failed);
      all.unanswered = all.unanswered.concat(outcome.value.unanswered);
      if (next >= asked.length) return { ...outcome, value: all };
      outcome = await this.part(account, asked.slice(next, next + most), list);
    }
    return outcome;
  }

  private async part(account: string, sgtins: string[], list: SgtinList): Promise<ReadOutcome<SgtinAnswers>> {
    for (let failures = 1; ; failures += 1) {
      const outcome = await this.byList(account, sgtins, list);
      if (outcome.kind === 'ok' || !(await mayReadAgain(outcome, failures, this.caller.clock))) return outcome;
    }
  }

  /**
   * One pack with its product. A pack of somebody else is `access_denied`; one that moved to the archive is `not_found`
   * in the registry.
   */
  async one(
    account: string,
    sgtin: string,
    from: 'sgtin' | 'archived_sgtin' = 'sgtin',
  ): Promise<ReadOutcome<{ sgtin: SgtinRecord; product?: RecordOf<typeof PRODUCT> }>> {
    const { profile, requests } = this.caller;
    const read = (raw: RawAnswer): Reading<{ sgtin: SgtinRecord; product?: RecordOf<typeof PRODUCT> }> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const record = readRecord(json.value[profile.fields.sgtin_info] ?? null, SGTIN, profile);
      if ('problem' in record) return { problem: `"${profile.fields.sgtin_info}": ${record.problem}` };
      const product = readRecord(json.value[profile.fields.gtin_info] ?? null, PRODUCT, profile);
      return { value: { sgtin: record.value, ...('value' in product ? { product: product.value } : {}) } };
    };
    return readOutcome(
      await this.caller.call(account, from, { request: requests.plain(from, { sgtin }), manner: READ_ONE, read }),
    );
  }

  /** One product (registry-interface 2.3). */
  async product(account: string, gtin: string): Promise<ReadOutcome<RecordOf<typeof PRODUCT>>> {
    const { profile, requests } = this.caller;
    const read = (raw: RawAnswer): Reading<RecordOf<typeof PRODUCT>> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      return readRecord(json.value[profile.fields.gtin_info] ?? json.value, PRODUCT, profile);
    };
    return readOutcome(
      await this.caller.call(account, 'product', {
        request: requests.plain('product', { gtin }),
        manner: READ_ONE,
        read,
      }),
    );
  }

  private most(list: SgtinList): number {
    return this.caller.profile.operations[list].pageSize ?? 500;
  }
}

function readAnswers(raw: RawAnswer, asked: string[], profile: Profile): Reading<SgtinAnswers> {
  const { fields } = profile;
  const json = objectOf(raw, profile);
  if ('problem' in json) return json;
  if (!(fields.entries in json.value) && !(fields.failed_entries in json.value))
    return { problem: `the answer has neither "${fields.entries}" nor "${fields.failed_entries}"` };
  const failures = asList(json.value[fields.failed_entries]);
  const found = readRecords(asList(json.value[fields.entries]), SGTIN, profile);
  if ('problem' in found) return { problem: `"${fields.entries}"${found.problem}` };
  const failed = failures.map((failure) => noRecord(failure, profile)).filter((failure) => failure !== undefined);
  const answered = new Set([...found.value, ...failed].map((one) => one.sgtin));
  return { value: { found: found.value, failed, unanswered: asked.filter((sgtin) => !answered.has(sgtin)) } };
}

/** The public register names failed packs by their code alone, the other one with a reason. */
function noRecord(value: JsonValue, profile: Profile): NoRecord | undefined {
  if (typeof value === 'string') return { sgtin: value, reason: 'not_told' };
  if (!isJsonObject(value)) return undefined;
  const { fields } = profile;
  const told = (name: string): string | undefined => textOf(value, name);
  const sgtin = told(fields.sgtin);
  if (sgtin === undefined) return undefined;
  const code = told(fields.error_code);
  const words = told(fields.error_desc) ?? told(fields.error_description);
  const reason =
    code === NOT_FOUND_CODE
      ? 'not_found'
      : code === ACCESS_DENIED_CODE
        ? 'access_denied'
        : code === undefined
          ? 'not_told'
          : 'other';
  return { sgtin, reason, ...defined({ code, text: words }) };
}

const textOf = (object: JsonObject, name: string): string | undefined => {
  const value = object[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};
