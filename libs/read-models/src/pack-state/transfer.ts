import { typeKnowledge } from '#documents';
import { neverReached } from '#kernel';

/** What one document does to the transfer of its items: ownership changes when the awaited side accepts. */
export interface TransferStep {
  step: NonNullable<ReturnType<typeof typeKnowledge.transferOf>>;
  subject: string;
  counterparty: string | null;
}

/** The transfer after a document, as it is stored, and where the goods then are; absent where the document says so. */
export function transferAfter(
  before: string | null,
  { step, subject, counterparty }: TransferStep,
): { transfer: string | null; place?: string } {
  const other = counterparty ?? '';
  const [order, from = '', to = ''] = before?.split(' ') ?? [];
  switch (step) {
    case 'begins':
      return { transfer: `direct ${subject} ${other}` };
    case 'is claimed':
      return { transfer: `reverse ${other} ${subject}` };
    case 'ends':
      return { transfer: null, ...(order === 'reverse' ? { place: to } : {}) };
    case 'is taken back':
    case 'is refused':
      return { transfer: null, ...(order === undefined ? {} : { place: from }) };
    default:
      return neverReached(step, 'step of a transfer');
  }
}

/** Where the goods of a transfer come from and go, and whose acceptance is missing. */
export function transferParts(transfer: string): { from: string; to: string; awaited: string } {
  const [order, from = '', to = ''] = transfer.split(' ');
  return { from, to, awaited: order === 'reverse' ? from : to };
}
