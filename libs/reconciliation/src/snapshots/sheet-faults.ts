import { SaxesParser } from 'saxes';
import { openPromise, type Entry, type ZipFile } from 'yauzl';

/** Columns of a sheet (ECMA-376). */
export const SHEET_COLUMNS = 16_384;
/** Parts of a workbook, cells that are noted, and bytes of a sheet's XML. More is no stock file. */
const MOST_PARTS = 100_000;
const MOST_NOTED = 5_000_000;
const MOST_XML_BYTES = 4 * 1024 ** 3;

/** What a spreadsheet shows where a formula fails, in English and in Russian: also of text that it has written. */
export const SHEET_ERROR = '#(?:N/A|Н/Д|[A-ZА-ЯЁ][A-ZА-ЯЁ_/0]*[!?])';
const IS_ERROR = new RegExp(`^${SHEET_ERROR}$`);
/** Stand where a formula was saved without its result, and where a cell is merged into another. */
const NO_RESULT = '#FORMULA!';
const MERGED = '#MERGED!';

/** A cell is a number: its row times the columns of a sheet, and its column; both from 0. */
export interface SheetFaults {
  /** Cells without a value that ought to have one, by what stands there instead. */
  cells: [text: string, cells: number[]][];
  /** First and last cell, and what those between are where they look empty, and the first does not. */
  ranges: [first: number, last: number, text: string][];
}

/**
 * Cells of a sheet that are not empty, and of which the library that reads its values says so. `sheet`: its name;
 * absent: the first. Of what is no workbook, or has no such sheet, the library tells.
 */
export async function sheetFaults(path: string, sheet: string | undefined): Promise<SheetFaults> {
  const zip = await openPromise(path, { autoClose: false });
  try {
    const parts = new Map<string, Entry>();
    if (zip.entryCount > MOST_PARTS) throw new Error(`it has ${zip.entryCount} parts`);
    for await (const entry of zip.eachEntry()) parts.set(entry.fileName, entry);
    const noted = new Noted();
    await hear({ zip, parts }, await fileOf({ zip, parts }, sheet), noted);
    return noted.faults();
  } finally {
    zip.close();
  }
}

interface Book {
  zip: ZipFile;
  parts: ReadonlyMap<string, Entry>;
}

interface Heard {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

const localOf = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Reads a part of the workbook, as far as it is there. What is wrong with its XML, the library tells. */
async function hear({ zip, parts }: Book, name: string, heard: Heard): Promise<void> {
  const part = parts.get(name);
  if (part === undefined) return;
  if (part.uncompressedSize > MOST_XML_BYTES) throw new Error(`${name} is larger than ${MOST_XML_BYTES} bytes`);
  const parser = new SaxesParser({ position: false, xmlns: false });
  parser.on('error', () => undefined);
  parser.on('opentag', (tag) => heard.open(localOf(tag.name), tag.attributes));
  parser.on('closetag', (tag) => heard.close?.(localOf(tag.name)));
  // The library does not read CDATA either.
  parser.on('text', (text) => heard.text?.(text));
  const decoder = new TextDecoder();
  for await (const bytes of await zip.openReadStreamPromise(part))
    parser.write(decoder.decode(bytes as Buffer, { stream: true }));
  parser.close();
}

/** The part that holds the sheet. */
async function fileOf(book: Book, sheet: string | undefined): Promise<string> {
  let relation: string | undefined;
  await hear(book, 'xl/workbook.xml', {
    open(tag, { name, ...attributes }) {
      if (tag !== 'sheet' || name === undefined || relation !== undefined) return;
      const isWanted = sheet === undefined || unescaped(name) === sheet;
      if (isWanted) relation = Object.entries(attributes).find(([key]) => localOf(key) === 'id')?.[1];
    },
  });
  let file = '';
  await hear(book, 'xl/_rels/workbook.xml.rels', {
    open(tag, { Id, Target = '' }) {
      if (tag === 'Relationship' && Id === relation) file = Target.startsWith('/') ? Target.slice(1) : `xl/${Target}`;
    },
  });
  return file;
}

const unescaped = (name: string): string =>
  name.replace(/_x([0-9A-Fa-f]{4})_/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));

/** A formula may have its results in many cells, and stands in the first of them. */
const IS_RANGE: ReadonlySet<string> = new Set(['array', 'dataTable']);
const IS_VALUE: ReadonlySet<string> = new Set(['v', 'is']);
const IS_TEXT: ReadonlySet<string> = new Set(['str', 'inlineStr']);

const newCell = (at: string, type: string) => ({
  ...{ at, type, isFormula: false },
  ...{ resultsIn: '', value: undefined as string | undefined },
});

/** What a sheet tells of its cells. */
class Noted implements Heard {
  private readonly cells = new Map<string, number[]>();
  private readonly ranges: SheetFaults['ranges'] = [];
  private noted = 0;
  private cell = newCell('', '');
  private isInValue = false;

  open(name: string, { r = '', t = '', ref = '' }: Readonly<Record<string, string>>): void {
    if (name === 'c') this.cell = newCell(r, t);
    else if (name === 'f') this.cell = { ...this.cell, isFormula: true, resultsIn: IS_RANGE.has(t) ? ref : '' };
    else if (IS_VALUE.has(name)) [this.isInValue, this.cell.value] = [true, ''];
    else if (name === 'mergeCell') this.note(ref, MERGED);
  }

  text(text: string): void {
    if (this.isInValue) this.cell.value += text;
  }

  close(name: string): void {
    if (IS_VALUE.has(name)) this.isInValue = false;
    const [text, at] = [name === 'c' ? this.fault() : undefined, numberOf(this.cell.at)];
    if (text === undefined || at === undefined) return;
    this.count();
    if (text === NO_RESULT) this.note(this.cell.resultsIn, text);
    const before = this.cells.get(text);
    if (before === undefined) this.cells.set(text, [at]);
    else before.push(at);
  }

  faults(): SheetFaults {
    return { cells: [...this.cells], ranges: this.ranges };
  }

  private fault(): string | undefined {
    const { type, isFormula, value } = this.cell;
    if (type === 'e') return value !== undefined && IS_ERROR.test(value) ? value : '#ERROR!';
    // An empty text is a result.
    const hasResult = value !== undefined && (value !== '' || IS_TEXT.has(type));
    return isFormula && !hasResult ? NO_RESULT : undefined;
  }

  private note(ref: string, text: string): void {
    const [first, last] = ref.split(':').map(numberOf);
    if (first === undefined || last === undefined) return;
    this.count();
    this.ranges.push([first, last, text]);
  }

  private count(): void {
    this.noted += 1;
    if (this.noted > MOST_NOTED) throw new Error(`more than ${MOST_NOTED} cells have an error, or are merged`);
  }
}

function numberOf(address: string): number | undefined {
  const [, letters, digits] = /^([A-Z]{1,3})(\d{1,7})$/.exec(address) ?? [];
  if (letters === undefined) return undefined;
  const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
  return (Number(digits) - 1) * SHEET_COLUMNS + column - 1;
}
