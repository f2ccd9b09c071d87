import type { DocumentItem } from '../documents/document.js';

/** What simulated participants write. */
export interface Letter {
  /** The place that speaks. */
  subject: string;
  /** The other side. */
  counterparty: string;
  operationDate: string;
  items: Pick<DocumentItem, 'kind' | 'id'>[];
}

const envelope = (docType: number, element: string, body: string): string =>
  `<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`;
const signs = (items: Letter['items']): string =>
  `<order_details>${items.map(({ kind, id }) => `<${kind}>${id}</${kind}>`).join('')}</order_details>`;
const priced = (items: Letter['items']): string => {
  const named = ({ kind, id }: Letter['items'][number]) =>
    kind === 'sscc' ? `<sscc_detail><sscc>${id}</sscc></sscc_detail>` : `<sgtin>${id}</sgtin>`;
  const union = (item: Letter['items'][number]) =>
    `<union>${named(item)}<cost>100.00</cost><vat_value>10.00</vat_value></union>`;
  return `<order_details>${items.map(union).join('')}</order_details>`;
};
/** `2026-11-21T...` as `21.11.2026`. */
const calendarDate = (instant: string): string => instant.slice(0, 10).split('-').reverse().join('.');
const numbered = (docNum: string, { operationDate }: Letter): string =>
  `<doc_num>${docNum}</doc_num><doc_date>${calendarDate(operationDate)}</doc_date>`;

export const acceptLetter = (letter: Letter): string => {
  const { subject, counterparty, operationDate, items } = letter;
  const head =
    `<subject_id>${subject}</subject_id><counterparty_id>${counterparty}</counterparty_id><operation_date>` +
    `${operationDate}</operation_date>`;
  return envelope(701, 'accept', head + signs(items));
};

/** 251 by a shipper, 252 by a receiver. */
export function refusalLetter(by: 'shipper' | 'receiver', letter: Letter): string {
  const { subject, counterparty, operationDate, items } = letter;
  const [docType, element, other] =
    by === 'shipper'
      ? ([251, 'refusal_sender', 'receiver_id'] as const)
      : ([252, 'refusal_receiver', 'shipper_id'] as const);
  const head =
    `<subject_id>${subject}</subject_id><operation_date>${operationDate}</operation_date><${other}>${counterparty}` +
    `</${other}><reason>not ordered</reason>`;
  return envelope(docType, element, head + signs(items));
}

export function shipmentLetter(docNum: string, letter: Letter): string {
  const { subject, counterparty, operationDate, items } = letter;
  const head =
    `<subject_id>${subject}</subject_id><receiver_id>${counterparty}</receiver_id><operation_date>${operationDate}` +
    '</operation_date>';
  const terms = '<turnover_type>1</turnover_type><source>1</source><contract_type>1</contract_type>';
  return envelope(415, 'move_order', head + numbered(docNum, letter) + terms + priced(items));
}

export function reverseLetter(docNum: string, letter: Letter): string {
  const { subject, counterparty, operationDate, items } = letter;
  const head =
    `<subject_id>${subject}</subject_id><shipper_id>${counterparty}</shipper_id><operation_date>${operationDate}` +
    '</operation_date>';
  const terms = '<receive_type>1</receive_type><source>1</source><contract_type>1</contract_type>';
  return envelope(416, 'receive_order', head + numbered(docNum, letter) + terms + priced(items));
}
