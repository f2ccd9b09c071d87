import { checkDigitOf } from '#kernel';
import { daysBefore, type DisposalRow, type RecordRow, type RegistryRow, type StockRow } from './world.js';

/** What a story says of its pack, beside what a pack on the shelf says. Null: the side has no row. */
interface Telling {
  stock?: Partial<StockRow> | null;
  record?: Partial<RecordRow> | null;
  registry?: Partial<RegistryRow> | null;
  disposal?: Partial<DisposalRow>;
  /** The newest document of ours that has no good end. `older`: our record knows the pack from a later one. */
  document?: { standing: string; moment?: string; older?: true };
  /** Our record has learnt it after the stock was counted, and after the registry has answered. */
  learntLate?: true;
  /** Its stock rows differ in state, too. */
  statesDiffer?: boolean;
  /** A GTIN with a wrong check digit. */
  wrongDigit?: boolean;
}

/** What a case puts a finding down to. */
export type CauseKind = 'document' | 'container' | 'series';
type Severity = 'critical' | 'warning' | 'information';

export type Finds = [code: string, severity: Severity, cause: CauseKind];

export interface Story extends Telling {
  name: string;
  /** Absent: an innocent difference. */
  finds?: Finds;
  /** Differences that are explained, by the rule that does. */
  explained?: string[];
}

/** Places of the stock file, a branch that it does not speak of, and two customers. */
export const HERE = 'P1';
export const HERE_TOO = 'P2';
export const OTHER_BRANCH = 'P3';
export const CUSTOMER = 'Q1';
export const NEXT_CUSTOMER = 'Q2';
/** Tax numbers: ours, and that of one whose packs we keep. */
export const OURS = '7701234567';
export const THEIRS = '7709876543';
/** Containers in stock, by the state of their row, and one that lies in BOX's pallet. */
const sscc = (n: number): string => {
  const digits = `04601234567890${String(n).padStart(3, '0')}`;
  return `${digits}${checkDigitOf(digits)}`;
};
export const BOX = sscc(1);
export const HELD_BOX = sscc(2);
export const PALLET = sscc(3);
export const INNER = sscc(4);
export const TRAVELLING = sscc(5);
/** Not in stock, and a document in flight names it. */
export const FLYING_BOX = sscc(8);
/** Not in stock. */
export const GONE_BOX = sscc(6);
export const OTHER_BOX = sscc(7);
/** In stock, and the registry was asked about them: their numbers have MD5s that begin with a. */
export const WHOLE_BOX = sscc(15);
/** Nothing is in it at the registry. */
export const OPENED_BOX = sscc(38);
/** One pack of it is elsewhere at the registry. */
export const MIXED_BOX = sscc(50);
/** At another place at the registry. */
export const FAR_BOX = sscc(65);
export const UNKNOWN_BOX = sscc(72);
/** The row of the pallet is refused, and the box is on it. */
export const REFUSED_PALLET = sscc(9);
export const BOX_ON_REFUSED = sscc(10);
export const HIDDEN_BOX = sscc(108);

/** Log position from which on our record is younger than the other sides. */
export const LATE = 1_000_000;
export const SERIES = 'AB1';
export const CYRILLIC_SERIES = '\u0410\u0412' + '1';
export const OLD_EXPIRY = '2026-11-22';
export const recent = daysBefore(3);
export const old = daysBefore(60);

export const sold = { status: 'in_sale', moved_at: old };
export const shipped = { status: 'in_realization', place: CUSTOMER };
export const packed = { container: BOX };
export const inBox = { stock: null, record: packed, registry: packed };
export const notHere = { stock: null };
export const notFound = { answer: 'not_found' };
export const archived = { answer: 'archived' };
export const denied = { answer: 'denied' };

/** A word that no mapping knows: the row is refused. */
export const UNREAD = 'Waiting';
export const unread = { stock: { state: UNREAD } };

export const inFlight = { standing: 'in_flight' };
export const refused = { standing: 'refused' };
