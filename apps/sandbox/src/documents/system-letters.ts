import { zonedInstant } from '../clock/dates.js';
import type { DocumentItem } from './document.js';
import { escape } from './receipt.js';

/** What the registry itself writes to participants where no document says the same in other words. */
interface Head {
  /** Written at this moment, on the virtual clock. */
  atVirtualMs: number;
}

const leaf = (name: string, text: string | undefined): string =>
  text === undefined || text === '' ? '' : `<${name}>${escape(text)}</${name}>`;
const moment = (name: string, { atVirtualMs }: Head): string =>
  `<${name}>${zonedInstant(atVirtualMs, '+03:00', 180)}</${name}>`;
const letter = (docType: number, element: string, parts: string[]): string =>
  `<documents version="1.38"><${element} action_id="${docType}">${parts.join('')}</${element}></documents>`;

/** 627, to the holder: another has posted goods of his (702). */
export const postingLetter = (
  about: Head & {
    subject: string;
    inn: string;
    name: string;
    holder: string;
    fields: ReadonlyMap<string, string>;
    items: DocumentItem[];
  },
): string => {
  const { subject, inn, name, holder, fields, items } = about;
  const own = (field: string) => leaf(field, fields.get(field));
  return letter(627, 'posting_notification', [
    leaf('subject_id', subject),
    leaf('inn', inn),
    leaf('organisation_name', name),
    leaf('owner_id', holder),
    own('shipper_id'),
    moment('operation_date', about),
    own('receive_type'),
    own('doc_num'),
    own('doc_date'),
    `<order_details>${items.map(({ kind, id }) => leaf(kind, id)).join('')}</order_details>`,
  ]);
};

/** 631, to the predecessor: everything of a place is the successor's now (812). */
export const successorLetter = (
  about: Head & { subject: string; name: string; shipper: string; receiver: string; operationId: string },
): string =>
  letter(631, 'successor_acceptance_notification', [
    leaf('subject_id', about.subject),
    leaf('organisation_name', about.name),
    leaf('shipper_id', about.shipper),
    leaf('receiver_id', about.receiver),
    moment('operation_date', about),
    leaf('operation_id', about.operationId),
  ]);

/** 634, to the receiving place: everything of another place comes (432). */
export const wholePlaceLetter = (
  about: Head & { subject: string; fields: ReadonlyMap<string, string>; operationId: string },
): string =>
  letter(634, 'move_place_all_notification', [
    leaf('subject_id', about.subject),
    leaf('receiver_id', about.fields.get('receiver_id')),
    moment('operation_date', about),
    leaf('doc_num', about.fields.get('doc_num')),
    leaf('doc_date', about.fields.get('doc_date')),
    leaf('operation_id', about.operationId),
  ]);

/** A pack as a 632 names it. */
interface WrittenOff {
  sgtin: string;
  series: string;
  /** `31.12.2028` */
  expires: string;
}

/** 632: expired packs were written off. */
export const writeOffLetter = (about: Head & { subject: string; packs: WrittenOff[] }): string =>
  letter(632, 'expired_writeoff_notification', [
    leaf('subject_id', about.subject),
    moment('operation_date', about),
    '<order_details>',
    ...about.packs.map(
      ({ sgtin, series, expires }) =>
        leaf('sgtin', sgtin) +
        leaf('gtin', sgtin.slice(0, 14)) +
        leaf('series_number', series) +
        leaf('expiration_date', expires),
    ),
    '</order_details>',
  ]);

/** 633: a warning, or word of a violation. */
export const attentionLetter = (
  about: Head & { type: number; description: string; comment?: string | undefined },
): string =>
  letter(633, 'attention_notification', [
    moment('notification_date', about),
    leaf('warning_type', String(about.type)),
    leaf('warning_description', about.description),
    leaf('comment', about.comment),
  ]);
