import { tmpdir } from 'node:os';
import { packsSeen, type KnownCase } from '#domain';
import { Duck } from '#duckdb';
import { PedigreeError, Semaphore } from '#kernel';
import { strangersTo, type CaseLog } from '#reconciliation';

const MEMORY_MB = 200;
const GTIN_LENGTH = 14;
/** Files of runs that are read at once; as many more wait. */
const turns = new Semaphore(2, 'items of cases', 16);

/**
 * Items that are to leave a case are in it: of its product, in none of its parts yet, and, as far as the files of its
 * last run are on this machine, among those that it found.
 * @throws PedigreeError `invalid_parameter` that names the first that is not.
 */
export async function mustBeOfCase(
  known: KnownCase,
  items: readonly string[],
  { log, segmentsFolder: folder }: { log: Pick<CaseLog, 'find'>; segmentsFolder: string | undefined },
): Promise<void> {
  const { cause, parts } = known;
  const seen = packsSeen(known);
  // A container is a product of its own.
  const productOf = (item: string): string => (item.length === 18 ? item : item.slice(0, GTIN_LENGTH));
  const other = cause.kind === 'series' ? items.find((item) => productOf(item) !== cause.gtin) : undefined;
  if (other !== undefined && cause.kind === 'series') throw stranger(known, other, `it is of ${cause.gtin}`);
  for (const part of parts) {
    const taken = (await log.find(part))?.cause;
    const twice = items.find((item) => taken?.kind === 'part' && taken.items.includes(item));
    if (twice !== undefined) throw stranger(known, twice, `it was taken out before, into ${part}`);
  }
  if (folder === undefined) return;
  const [first] = (await turns.take(() => strangersIn({ folder, seen, items }))) ?? [];
  if (first !== undefined) throw stranger(known, first, `its last run, of ${seen.run.moment}, did not find that there`);
}

async function strangersIn(of: Parameters<typeof strangersTo>[1]): Promise<string[] | undefined> {
  const duck = await Duck.open({ memoryMb: MEMORY_MB, threads: 1, temporary: tmpdir() });
  try {
    return await strangersTo(duck, of);
  } finally {
    await duck.close();
  }
}

const stranger = ({ caseId }: KnownCase, item: string, why: string): PedigreeError =>
  new PedigreeError('invalid_parameter', `${item} is no item of case ${caseId}: ${why}`, { field: '/items', item });
