import { extname } from 'node:path';
import type { Sha256 } from '#kernel';

const DIGITS = 16;
const MOMENT = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([0-9a-f]{16})$/;

const stemOf = (name: string): string => name.slice(0, name.length - extname(name).length);

/**
 * The name of an uploaded file in the folder of stock files: `stock-20261122T200000000Z-<digits of its SHA-256>.csv`,
 * so that no file takes the place of another one, and the same stock of a later moment is a file of its own. `moment`:
 * ISO 8601 in UTC with milliseconds, as its sender says it; null: it says none, and none is added.
 */
export function uploadedName({
  name,
  sha256,
  moment,
}: {
  name: string;
  sha256: Sha256;
  moment: string | null;
}): string {
  const parts = [stemOf(name), ...(moment === null ? [] : [moment.replaceAll(/[-:.]/g, '')]), sha256.slice(0, DIGITS)];
  return `${parts.join('-')}${extname(name)}`;
}

/** The moment in the name that an upload gave a file of these bytes, ISO 8601; undefined where it has none. */
export function momentOfUpload(name: string, sha256: Sha256): string | undefined {
  const [, year, month, day, hours, minutes, seconds, ms, digits] = MOMENT.exec(stemOf(name)) ?? [];
  if (digits !== sha256.slice(0, DIGITS)) return undefined;
  const at = new Date(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${ms}Z`);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
