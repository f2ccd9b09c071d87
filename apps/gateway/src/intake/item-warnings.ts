import type { DocumentItem, DocumentJson } from '#documents';
import { suspensionsOf, type ItemWarning, type SuspensionFinding } from '#domain';
import { PedigreeError, pointer, readItemCode, wrongCheckDigitOf, type JsonObject, type JsonValue } from '#kernel';

/** Fields of a JSON document that hold an item, in whatever row they stand. */
const KIND_OF: Readonly<Record<string, DocumentItem['kind']>> = { sgtin: 'sgtin', sscc: 'sscc' };
const NAMES = { sgtin: 'an SGTIN', sscc: 'an SSCC' };
/** Where an element with attributes has its text. */
const TEXT_FIELD = 'value';
/** Places that a warning names. */
const MOST_PLACES = 20;

/** Reads the items of one command, and collects what its giver is to be told of them. */
export class ItemWarnings {
  private readonly found = new Map<ItemWarning['code'], ItemWarning>();
  private readonly wrongNumbers = new Set<string>();
  /** How long it took to ask which packs are suspended. */
  markedMs = 0;
  /** That took too long, and the rest was not asked of. */
  isCutOff = false;

  /** `onNone`: what is done with a text that is not the item that is needed. */
  constructor(private readonly onNone: 'refuse' | 'leave' = 'refuse') {}

  /** Undefined where there is nothing to tell. */
  get list(): ItemWarning[] | undefined {
    return this.found.size === 0 ? undefined : [...this.found.values()];
  }

  /**
   * The document with each item as the registry writes it. `field`: where in the command it stands. Throws
   * PedigreeError `invalid_identifier` with the JSON pointer of what is not an item, unless that is left as it is.
   */
  readItems(document: DocumentJson, field: string): DocumentJson {
    return this.object(document, field) as DocumentJson;
  }

  /** Items that were given in XML, which stays as it is. */
  checkItems(items: readonly Pick<DocumentItem, 'kind' | 'id'>[], field: string): void {
    for (const item of items) this.checkDigit(item, field);
  }

  /** Packs that were suspended when the command came, and those of which nobody knows. */
  addSuspended(finding: SuspensionFinding, field: string): void {
    const { series, packCount, unknown } = finding;
    const { places: before = [], count = 0, suspensions = [] } = this.found.get('suspended') ?? {};
    if (packCount > 0)
      this.found.set('suspended', {
        code: 'suspended',
        count: count + packCount,
        places: [...before, ...series.flatMap((one) => one.packs.map((item) => ({ field, item })))].slice(
          0,
          MOST_PLACES,
        ),
        suspensions: [...new Set([...suspensions, ...suspensionsOf(finding)])].slice(0, MOST_PLACES),
      });
    for (const item of unknown?.items ?? []) this.add('series_unknown', { field, item });
    const told = this.found.get('series_unknown');
    if (told !== undefined && unknown !== undefined) told.count += unknown.itemCount - unknown.items.length;
  }

  private object(value: JsonObject, field: string): JsonObject {
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [name, this.named(name, child, `${field}${pointer([name])}`)]),
    );
  }

  private named(name: string, value: JsonValue, field: string): JsonValue {
    const kind = Object.hasOwn(KIND_OF, name) ? KIND_OF[name] : undefined;
    if (typeof value === 'string') return kind === undefined ? value : this.item(kind, value, field);
    if (Array.isArray(value)) return value.map((one, i) => this.named(name, one, `${field}/${i}`));
    if (typeof value !== 'object' || value === null) return value;
    const text = kind !== undefined && Object.hasOwn(value, TEXT_FIELD) ? value[TEXT_FIELD] : undefined;
    if (kind === undefined || typeof text !== 'string') return this.object(value, field);
    return { ...value, [TEXT_FIELD]: this.item(kind, text, `${field}/${TEXT_FIELD}`) };
  }

  private item(kind: DocumentItem['kind'], text: string, field: string): string {
    const read = readItemCode(text);
    if (read.kind !== kind && this.onNone === 'leave') return text;
    if (read.kind === 'none') throw noItem(kind, { text, field, why: read.why });
    if (read.kind !== kind)
      throw noItem(kind, { text, field, why: `is ${NAMES[read.kind]}; ${NAMES[kind]} is needed here` });
    const { id, mended } = read;
    for (const code of mended) this.add(code, { field, item: id });
    this.checkDigit(read, field);
    return id;
  }

  private checkDigit(item: Pick<DocumentItem, 'kind' | 'id'>, field: string): void {
    const wrong = wrongCheckDigitOf(item);
    if (wrong === undefined || this.wrongNumbers.has(wrong)) return;
    this.wrongNumbers.add(wrong);
    this.add('wrong_check_digit', { field, item: item.id });
  }

  private add(code: ItemWarning['code'], place: ItemWarning['places'][number]): void {
    const warning = this.found.get(code) ?? { code, count: 0, places: [] };
    this.found.set(code, warning);
    warning.count += 1;
    if (warning.places.length < MOST_PLACES) warning.places.push(place);
  }
}

function noItem(element: string, { text, field, why }: { text: string; field: string; why: string }): PedigreeError {
  const item = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  return new PedigreeError('invalid_identifier', `${field}: ${JSON.stringify(item)} ${why}`, { field, item, element });
}
