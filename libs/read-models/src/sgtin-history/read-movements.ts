import { readToldContent } from '#domain';
import type { EvidenceStore } from '#evidence';
import type { Sha256 } from '#kernel';
import { withinBytes, type PageBounds } from '../page-bounds.js';
import { contentMovementsOf, type ContentObservation } from './content-movements.js';
import { inboundMovementsOf, tellsMovements, type InboundConclusion } from './inbound-movements.js';
import { movementsOf, type Conclusion, type DocumentReading, type Movements } from './movements.js';
import { linesOf, runsOf, type HistoryEvent, type ReadMovements, type Run } from './runs.js';

/** What names evidence that tells of items. */
type Telling = Conclusion | InboundConclusion | ContentObservation;

/** What the first events of a page tell: as many as fit into one transaction. */
export interface ReadPage {
  events: number;
  /** One after another. */
  runs: Run[];
}

export interface Reading {
  evidence: EvidenceStore;
  documents: DocumentReading;
  bounds: PageBounds;
  /** See `runsOf`. */
  runItems: number;
}

/** Conclusions whose XML and receipts are in memory at once. */
const DOCUMENTS_AT_ONCE = 100;

/**
 * Reads what events tell out of the evidence, and on request before it is asked for: while the database writes one
 * page, the program reads the next. What was read ahead is the same as what is read when asked: evidence never changes.
 */
export class MovementReader {
  private ahead: { first: HistoryEvent; page: Promise<ReadPage> }[] = [];

  /** Until then the program has other work, for which the database waits. */
  private free = Promise.resolve();

  constructor(private readonly reading: Reading) {}

  /** Puts off what is begun from now on, until the function that it returns is called. */
  hold(): () => void {
    let release = (): void => undefined;
    this.free = new Promise((resolve) => (release = resolve));
    return release;
  }

  /** Begins to read as soon as the program is free; a failure shows when these events are asked for. */
  begin(events: HistoryEvent[]): void {
    const [first] = events;
    if (first === undefined || this.ahead.some((one) => one.first.id === first.id)) return;
    const page = this.free.then(() => readPage(events, this.reading));
    page.catch(() => undefined);
    this.ahead.push({ first, page });
  }

  async read(events: HistoryEvent[]): Promise<ReadPage> {
    const [first] = events;
    if (first === undefined) return { events: 0, runs: [] };
    const begun = this.ahead.find((one) => one.first.id === first.id);
    // What was begun for events that were passed over would stay for ever.
    this.ahead = this.ahead.filter((one) => one.first.position > first.position);
    const page = await (begun?.page ?? readPage(events, this.reading));
    return page.events <= events.length ? page : readPage(events, this.reading);
  }
}

/** As far as the bounds go; one event at least. */
async function readPage(events: HistoryEvent[], reading: Reading): Promise<ReadPage> {
  const { evidence, documents, bounds } = reading;
  const places = events.flatMap((event, place) => (tellsItems(event) ? [{ event, place }] : []));
  const fitting = await withinBytes(places, ({ event }) => digestsOf(event), { evidence, bytes: bounds.bytes });
  const movements = new Map<bigint, ReadMovements>();
  let items = 0;
  for (let from = 0; from < fitting; from += DOCUMENTS_AT_ONCE) {
    const group = places.slice(from, Math.min(fitting, from + DOCUMENTS_AT_ONCE));
    const bytes = await evidence.getMany([...new Set(group.flatMap(({ event }) => digestsOf(event)))]);
    for (const { event, place } of group) {
      if (items >= bounds.items) return pageOf(events.slice(0, place), movements, reading);
      const told = readMovements(event, bytes, documents);
      movements.set(event.position, { ...told, lines: linesOf(told) });
      items += told.items.length;
    }
  }
  return pageOf(events.slice(0, places[movements.size]?.place), movements, reading);
}

const pageOf = (
  events: HistoryEvent[],
  movements: ReadonlyMap<bigint, ReadMovements>,
  { runItems }: Reading,
): ReadPage => ({ events: events.length, runs: runsOf(events, { movements, runItems }) });

function digestsOf(event: Telling): Sha256[] {
  if (event.type === 'ContainerContentObserved') return [event.data.contentSha256];
  return [event.data.documentSha256, event.data.receiptSha256].filter((one) => one !== undefined);
}

/** Ours, those of others of which there are bytes that tell, and what the registry told of containers. */
function tellsItems(event: HistoryEvent): event is HistoryEvent & Telling {
  if (event.type === 'DocumentConcluded' || event.type === 'ConclusionRevised') return true;
  if (event.type === 'ContainerContentObserved') return true;
  return event.type === 'InboundConcluded' && tellsMovements(event);
}

function readMovements(event: Telling, bytes: Map<Sha256, Buffer>, documents: DocumentReading): Movements {
  if (event.type === 'ContainerContentObserved')
    return contentMovementsOf(event, readToldContent(present(bytes, event.data.contentSha256, event)));
  const { documentSha256, receiptSha256 } = event.data;
  const xml = present(bytes, documentSha256 as Sha256, event);
  if (event.type === 'InboundConcluded') {
    // A receipt that could not be read is kept all the same; only one that told the outcome is read here.
    const hasTold =
      receiptSha256 !== undefined && event.data.outcome !== 'undetermined' && event.data.outcome !== 'failed';
    const receipt = hasTold ? documents.readReceipt(present(bytes, receiptSha256, event)) : undefined;
    return inboundMovementsOf(event, { facts: documents.readForeignDocument(xml), receipt }, documents);
  }
  const receipt = receiptSha256 === undefined ? undefined : documents.readReceipt(present(bytes, receiptSha256, event));
  return movementsOf(event, { facts: documents.readDocument(xml, documentSha256 as Sha256), receipt }, documents);
}

function present(bytes: Map<Sha256, Buffer>, sha256: Sha256, event: Telling): Buffer {
  const found = bytes.get(sha256);
  if (found === undefined)
    throw new Error(
      `evidence ${sha256}, named by ${event.type} at position ${event.position} of ${event.stream}, is missing`,
    );
  return found;
}
