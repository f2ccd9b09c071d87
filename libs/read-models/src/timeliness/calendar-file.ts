import { readFileSync, statSync } from 'node:fs';
import { readCalendar, type CalendarName, type DeadlineCalendar } from '#domain';
import { parseStrictJson, sha256Hex, type Sha256 } from '#kernel';

/** A calendar of deadlines, and the digest of the file that it was read from. */
export interface CalendarFile {
  calendar: DeadlineCalendar;
  sha256: Sha256;
}

/** A calendar of forty years with a thousand rows is a tenth of it. */
const MOST_BYTES = 4 * 1024 * 1024;

/** @throws Error that names the file and the place in it. */
export function readCalendarFile(file: string): CalendarFile {
  try {
    if (statSync(file).size > MOST_BYTES) throw new Error(`is larger than ${MOST_BYTES} bytes`);
    const bytes = readFileSync(file);
    return { calendar: readCalendar(parseStrictJson(bytes, 'it')), sha256: sha256Hex(bytes) };
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** What names a calendar, with the digest of its file. */
export type NamedCalendar = CalendarName & { sha256: Sha256 };
export const namedCalendar = ({ calendar, sha256 }: CalendarFile): NamedCalendar => ({ ...calendar.named, sha256 });
