import { canonicalUuid, defined, PedigreeError } from '#kernel';
import { readInstant } from './instants.js';
import type { ReceiptFacts } from './port.js';
import { SeriesCollector } from './series.js';
import { walkXml, type XmlLeaf, type XmlListener } from './walk-xml.js';
import { xmlError } from './xml/text.js';

export interface ReceiptOptions {
  /**
   * Zone that a time without one is read in, as ±HH:MM. Default +03:00, in which the registry writes such times
   * (public-facts 1.2).
   */
  zone?: string;
}

const RESULTS: Record<string, ReceiptFacts['result']> = {
  Accepted: 'accepted',
  Partial: 'partial',
  Rejected: 'rejected',
};
/** More errors and warnings than the largest document has items. */
const MAX_REMARKS = 200_000;
/** Its comment may have any length: room for a sentence about each item. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** A longer comment is told by its beginning: it goes into an event, and beside each item that it refuses. */
const LONGEST_COMMENT = 65_536;
const BEGINNING = 4_000;
/** By action_id: the element, and the query that it answers in place of a receipt. */
const HEADS: Readonly<Record<string, { element: string; answers?: number }>> = {
  200: { element: 'result' },
  201: { element: 'result_service' },
  211: { element: 'kiz_info', answers: 210 },
  221: { element: 'hierarchy_info', answers: 220 },
};
const ERROR_PARTS = new Set(['error_code', 'error_desc', 'object_id']);
const HAS_ZONE = /(Z|[+-]\d{2}:\d{2})$/;

/**
 * Reads a receipt, scheme 200 or 201 (public-facts 2.3), or the answer to a query in its place, 211 or 221 (2.4), which
 * says nothing but that the registry answered. Elements that it does not know are passed over, for the registry adds
 * some without a new version. `acceptedAt` is passed on in UTC, whatever zone it was written in. Throws PedigreeError:
 * `malformed_xml`, `forbidden_xml`; `unknown_document_type` for anything but a receipt; `schema_violation` for a part
 * that is missing or out of range, with its path.
 */
export function readReceipt(bytes: Uint8Array, options: ReceiptOptions = {}): ReceiptFacts {
  const collector = new ReceiptCollector(options.zone ?? '+03:00');
  walkXml(bytes, collector, { mostCharacters: MOST_CHARACTERS });
  return collector.facts();
}

class ReceiptCollector implements XmlListener {
  private acceptTime: string | undefined;
  private head: (typeof HEADS)[string] | undefined;
  private readonly fields = new Map<string, string>();
  private readonly warnings: string[] = [];
  private readonly errors: ReceiptFacts['errors'] = [];
  /** The child of the head that is open, and its parts. */
  private within = '';
  private parts = new Map<string, string>();
  private readonly series = new SeriesCollector();
  /** The pack that an answer is about. */
  private asked: string | undefined;

  constructor(private readonly zone: string) {}

  open(name: string, attributes: Record<string, string>, { depth, line }: { depth: number; line: number }): void {
    if (depth === 0 && name !== 'documents')
      throw xmlError('schema_violation', `the root element is <${name}>, not <documents>`, { line, element: name });
    if (depth === 1) this.openResult(name, attributes, line);
    if (depth === 2) this.within = name;
    if (depth === 2) this.parts = new Map();
    this.series.open(depth);
  }

  leaf({ name, depth, text, line }: XmlLeaf): void {
    this.series.leaf({ name, depth, text });
    if (depth === 3 && name === 'sgtin') this.asked = text;
    if (depth === 2) {
      // An `errors` or `operation_warnings` without children says nothing.
      if (this.fields.has(name) && name.startsWith('operation') && this.head?.answers === undefined)
        throw xmlError('schema_violation', `<${name}> stands twice in the receipt`, { line, element: name });
      this.fields.set(name, text);
    } else if (depth === 3) {
      if (name === 'operation_warning') this.warnings.push(text);
      else this.part(name, text);
    }
    if (this.warnings.length + this.errors.length > MAX_REMARKS)
      throw xmlError('schema_violation', `more than ${MAX_REMARKS} errors and warnings`, { line });
  }

  /**
   * The schema set knows one object for an error. Were a second one passed over, it would count as applied: it is told
   * with an error of its own.
   */
  private part(name: string, text: string): void {
    if (this.within === 'errors' && ERROR_PARTS.has(name) && this.parts.has(name)) {
      this.tellError();
      if (name !== 'object_id') this.parts = new Map();
    }
    this.parts.set(name, text);
  }

  close(name: string, depth: number): void {
    this.series.close(depth);
    if (depth === 2 && name === 'errors') this.tellError();
  }

  private tellError(): void {
    const code = this.parts.get('error_code');
    if (code === undefined) throw missing('errors/error_code');
    const objectId = this.parts.get('object_id')?.trim();
    this.errors.push({
      code,
      text: this.parts.get('error_desc') ?? '',
      ...(objectId === undefined || objectId === '' ? {} : { objectId }),
    });
  }

  facts(): ReceiptFacts {
    if (this.head === undefined)
      throw xmlError('schema_violation', '<documents> holds no result', { line: 1, element: 'documents' });
    const { answers } = this.head;
    if (answers !== undefined)
      return {
        ...{ operation: String(answers), answers, result: 'accepted', warnings: this.warnings, errors: [] },
        ...this.series.facts(this.asked),
      };
    const said = this.fields.get('operation_result') ?? raise('operation_result');
    const result = Object.hasOwn(RESULTS, said) ? RESULTS[said] : undefined;
    if (result === undefined) {
      const element = '/documents/result/operation_result';
      throw new PedigreeError(
        'schema_violation',
        `operation_result is "${said.slice(0, 60)}"; it must be Accepted, Partial or Rejected`,
        { element },
      );
    }
    const comment = this.fields.get('operation_comment');
    return {
      operation: this.fields.get('operation') ?? raise('operation'),
      operationId: canonicalUuid(this.fields.get('operation_id') ?? raise('operation_id')),
      result,
      acceptedAt: this.acceptedAt(),
      ...defined({ comment: comment && shortened(comment) }),
      warnings: this.warnings,
      errors: this.errors,
    };
  }

  private openResult(name: string, attributes: Record<string, string>, line: number): void {
    if (this.head !== undefined)
      throw xmlError('schema_violation', `<documents> holds a second element, <${name}>`, { line, element: name });
    const head = HEADS[attributes.action_id ?? ''];
    if (head?.element !== name) {
      const found = `<${name}> with action_id ${attributes.action_id ?? '(none)'}`;
      const message = `line ${line}: ${found} is neither a receipt (result, 200) nor an answer to a query`;
      throw new PedigreeError('unknown_document_type', message, { line, element: name });
    }
    this.head = head;
    this.acceptTime = attributes.accept_time;
  }

  private acceptedAt(): string {
    const time = this.acceptTime ?? raise('@accept_time');
    const read = readInstant(HAS_ZONE.test(time) ? time : `${time}${this.zone}`);
    if ('why' in read)
      throw new PedigreeError('schema_violation', `accept_time "${time.slice(0, 60)}" ${read.why}`, {
        element: '/documents/result/@accept_time',
      });
    return read.at;
  }
}

function shortened(comment: string): string {
  if (comment.length <= LONGEST_COMMENT) return comment;
  const beginning = comment.slice(0, BEGINNING).replace(/[\ud800-\udbff]$/, '');
  return `${beginning} ... (${comment.length} characters; the receipt has all)`;
}

const missing = (part: string): PedigreeError =>
  new PedigreeError('schema_violation', `the receipt has no ${part}`, { element: `/documents/result/${part}` });

function raise(part: string): never {
  throw missing(part);
}
