import type { UserCall, UserOperation } from '../operations/call.js';
import type { Registry } from '../registry.js';
import { entriesAnswer } from './answers.js';
import type { AwaitingEntry } from './awaiting.js';
import { isoSecond } from './pack-facts.js';
import { listBody, pageOfList } from './request.js';

/** Every entry of these queues still waits: what was withdrawn is in them no more. */
const WAITING = 0;
/** A sale by a discount prescription; any other sale of a till is a retail one. */
const PRESCRIPTION = 10_522;

const amount = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

/**
 * POST reestr/sgtin/kkt/awaiting-withdrawal/filter: sales of cash registers that await their withdrawal (public-facts
 * 1.3).
 */
export const salesAwaiting: UserOperation = (registry, call) =>
  queue(
    registry,
    call,
    'kkt',
  )(({ entry, checkedMs }, inn) => ({
    sgtin: entry.sgtin,
    sold_type: entry.docType === PRESCRIPTION ? 1 : 0,
    sale_status: WAITING,
    op_date: isoSecond(entry.opMs),
    inn,
    branch_id: entry.branch,
    last_check_status: {
      date: isoSecond(checkedMs),
      violation_reasons: entry.reason === undefined ? [] : [entry.reason],
    },
    price: amount(entry.price),
    vat_value: amount(entry.vatValue),
    sold_part: entry.soldPart,
    device_id: entry.deviceId,
    xml_document_id: entry.documentId,
    op_exec_date: isoSecond(entry.heardMs ?? entry.opMs),
  }));

/** POST reestr/sgtin/device/awaiting-withdrawal/filter: the same of disposal registrars. */
export const disposalsAwaiting: UserOperation = (registry, call) =>
  queue(
    registry,
    call,
    'device',
  )(({ entry }) => ({
    sgtin: entry.sgtin,
    xml_document_type: entry.docType,
    subject_id: entry.branch,
    op_date: isoSecond(entry.opMs),
    doc_num: entry.docNum,
    doc_date: isoSecond(entry.opMs).slice(0, 10),
    xml_document_id: entry.documentId,
    sold_part: entry.soldPart,
    device_id: entry.deviceId,
  }));

type Show = (one: { entry: AwaitingEntry; checkedMs: number }, inn: string | undefined) => Record<string, unknown>;

function queue(registry: Registry, call: UserCall, kind: AwaitingEntry['kind']) {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  const branch = filter.text('branch_id');
  const sgtin = filter.text('sgtin');
  const isWithin = filter.range('op_start_date', 'op_end_date');
  filter.end();
  const { branches, inn } = call.account.participant;
  const isWanted = ({ entry }: { entry: AwaitingEntry }) =>
    (branch === undefined || entry.branch === branch) &&
    (sgtin === undefined || entry.sgtin === sgtin) &&
    isWithin(entry.opMs);
  const all = registry.awaiting.of(kind, branches).filter(isWanted);
  return (show: Show) =>
    entriesAnswer(registry, call, {
      entries: pageOfList(all, page).map((one) => registry.profile.named(show(one, inn))),
      total: all.length,
    });
}
