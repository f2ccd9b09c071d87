import { z } from 'zod';

/**
 * A day as the registry writes it, DD.MM.YYYY or ISO 8601 with or without a time, as YYYY-MM-DD. Undefined for any
 * other text, and for a day that no calendar has.
 */
export function registryDay(text = ''): string | undefined {
  const day = /^\d{4}-\d\d-\d\d/.exec(text)?.[0] ?? text.replace(/^(\d\d)\.(\d\d)\.(\d{4}).*$/, '$3-$2-$1');
  return z.iso.date().safeParse(day).data;
}
