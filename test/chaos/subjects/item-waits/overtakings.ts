import { documentReading, documentTypeOf, RECALL, type DocumentFacts } from '#documents';
import { groupIdOfStream, requestIdOfStream, type GroupRegistered, type Registration } from '#domain';
import { PostgresEvidenceStore } from '#evidence';
import type { LoggedEvent } from '../../campaign-log.js';
import { complaints, type Ended } from '../subject.js';

/** A document of ours, as the log and its bytes tell of it. */
interface Sent {
  registration: Registration;
  /** Its group, or itself. */
  unit: string;
  /** Place in the order: the position of its registration, or of its group's. */
  place: bigint;
  /** Positions of its first send and of its end. */
  sentAt: bigint | undefined;
  endedAt: bigint | undefined;
  /** When it, or its group, was held first. */
  heldAt?: bigint;
  /** The registry's id of it. */
  documentId?: string;
  /** The operation that it takes back, by either id. */
  recalls?: string;
  /** What it names, with containers that it packs into; and the places of which it moves all. */
  named: Set<string>;
  /** What it packs, if it is accepted. */
  packs: { item: string; into: string }[];
  /** Its other places, and containers around what it names, when it registered and when it was first sent. */
  around: Set<string>;
}

const READ_AT_ONCE = 200;

/**
 * Pairs of documents about the same items, through containers too, of which the later was sent before the earlier had
 * ended. What is held keeps its place for its packs alone. By the log and the evidence alone, and by the plainest
 * reading of the rules. Those whose commands say how they stand to each other, resends and members of one group are
 * looked at elsewhere.
 */
export async function overtakings({ log, pool }: Pick<Ended, 'log' | 'pool'>): Promise<string[]> {
  const events = await log.events();
  const sent = sentIn(events);
  await readItems([...sent.values()], new PostgresEvidenceStore({ pool }));
  nameRecalled([...sent.values()]);
  nest(events, sent);
  const after = afterOf(events, sent);
  const byItem = new Map<string, Sent[]>();
  const inOrder = [...sent.values()].filter((one) => one.place > 0n).sort((a, b) => Number(a.place - b.place));
  for (const one of inOrder)
    for (const item of [...one.named, ...one.around]) byItem.set(item, [...(byItem.get(item) ?? []), one]);
  const pairs = new Map<string, [Sent, Sent, string]>();
  for (const [item, those] of byItem)
    for (const [n, later] of those.entries())
      for (const earlier of those.slice(0, n))
        if (isOvertaken(earlier, later, item) && !stand(earlier, later, after))
          pairs.set(`${earlier.registration.requestId} ${later.registration.requestId}`, [earlier, later, item]);
  return complaints(
    pairs.values(),
    ([earlier, later, item]) =>
      `${later.registration.commandId} was sent at ${later.sentAt}, before ${earlier.registration.commandId}, which ` +
      `concerns ${item} too, ended at ${earlier.endedAt ?? 'no time'}`,
  );
}

const isOvertaken = (earlier: Sent, later: Sent, item: string): boolean =>
  earlier.unit !== later.unit &&
  (earlier.named.has(item) || later.named.has(item)) &&
  later.sentAt !== undefined &&
  (earlier.endedAt === undefined || earlier.endedAt > later.sentAt) &&
  !(isPlace(item) && isHeldBefore(earlier, later.sentAt));

/** What is held stops no place: a document of another pack goes ahead of it. */
const isHeldBefore = ({ heldAt }: Sent, position: bigint): boolean => heldAt !== undefined && heldAt < position;

/** Whether something else than their items orders these two. */
const stand = (earlier: Sent, later: Sent, after: Map<string, Set<string>>): boolean =>
  after.get(earlier.unit)?.has(later.unit) === true ||
  [earlier, later].some(
    ({ registration: one }) => (one.resendOf ?? one.supersedes ?? one.waivesItemWait) !== undefined,
  );

function newly(registration: Registration, position: bigint): Sent {
  const unit = registration.group?.groupId ?? registration.requestId;
  // A member's place is that of its group, which registers after it.
  const place = registration.group === undefined ? position : 0n;
  const nothing = { sentAt: undefined, endedAt: undefined, packs: [] };
  return { registration, unit, place, named: new Set(), around: new Set(), ...nothing };
}

function sentIn(events: readonly LoggedEvent[]): Map<string, Sent> {
  const sent = new Map<string, Sent>();
  for (const event of events) {
    const { type, stream, data, position } = event;
    const known = sent.get(requestIdOfStream(stream));
    if (type === 'DocumentRegistered') {
      const registration = data as unknown as Registration;
      sent.set(registration.requestId, newly(registration, position));
    } else if (type === 'GroupRegistered') {
      for (const { requestId } of (data as unknown as GroupRegistered['data']).members) {
        const member = sent.get(requestId);
        if (member !== undefined) member.place = position;
      }
    } else if (type === 'GroupHeld') {
      for (const one of sent.values()) if (one.unit === groupIdOfStream(stream)) one.heldAt ??= position;
    } else if (known !== undefined) happen(known, event);
  }
  return sent;
}

function happen(to: Sent, { type, data, position }: LoggedEvent): void {
  if (type === 'DocumentHeld') to.heldAt ??= position;
  else if (type === 'SendAttempted') to.sentAt ??= position;
  else if (type === 'DocumentSent') to.documentId = (data as { documentId: string }).documentId;
  else if (type === 'DocumentConcluded') to.endedAt ??= position;
}

async function readItems(sent: Sent[], evidence: PostgresEvidenceStore): Promise<void> {
  const { readDocument } = documentReading();
  for (let from = 0; from < sent.length; from += READ_AT_ONCE) {
    const some = sent.slice(from, from + READ_AT_ONCE);
    const bytes = await evidence.getMany([...new Set(some.map((one) => one.registration.documentSha256))]);
    for (const one of some) {
      const { documentSha256 } = one.registration;
      const xml = bytes.get(documentSha256);
      if (xml === undefined) continue;
      nameAll(one, readDocument(xml, documentSha256));
    }
  }
}

const isPlace = (id: string | undefined): boolean => id !== undefined && /^\d{14}$/.test(id);

function nameAll(one: Sent, { docType, subjectId, counterpartyId, items, fields }: DocumentFacts): void {
  for (const { id, into } of items) {
    one.named.add(id);
    if (into === undefined) continue;
    one.named.add(into);
    one.packs.push({ item: id, into });
  }
  const whole = documentTypeOf(docType)?.wholePlace;
  const places = [subjectId, counterpartyId, whole && fields[whole]].filter(isPlace) as string[];
  for (const place of places) (whole === undefined ? one.around : one.named).add(place);
  if (docType === RECALL) one.recalls = fields['operation_id'] ?? '';
}

/** A recall concerns what its operation names, and the places of that, where the operation was sent before. */
function nameRecalled(sent: Sent[]): void {
  const byId = new Map(sent.flatMap((one) => [one.registration.requestId, one.documentId].map((id) => [id, one])));
  for (const one of sent) {
    const operation = one.recalls === undefined ? undefined : byId.get(one.recalls);
    if (operation === undefined) continue;
    for (const item of operation.named) one.named.add(item);
    for (const place of operation.around) one.around.add(place);
  }
}

/**
 * Which containers were around what a document names, by what had been accepted when it registered, and when it was
 * sent: what it comes after may have packed them.
 */
function nest(events: readonly LoggedEvent[], sent: Map<string, Sent>): void {
  const inside = new Map<string, string>();
  for (const { type, stream, data } of events) {
    const one = sent.get(requestIdOfStream(stream));
    if (one === undefined) continue;
    const isAccepted = type === 'DocumentConcluded' && (data as { outcome?: string }).outcome === 'accepted';
    // A recall leaves containers as they are, and so does a move of a whole place, which takes them along.
    if (isAccepted && one.recalls === undefined) changeContainers(inside, one);
    if (type === 'DocumentRegistered' || type === 'SendAttempted')
      for (const item of one.named) addAround(one.around, inside, item);
  }
}

const UNPACKING = 912;

function changeContainers(inside: Map<string, string>, { named, packs, registration }: Sent): void {
  for (const item of named) inside.delete(item);
  if (registration.docType === UNPACKING)
    for (const [child, parent] of inside) if (named.has(parent)) inside.delete(child);
  for (const { item, into } of packs) inside.set(item, into);
}

function addAround(around: Set<string>, inside: Map<string, string>, item: string): void {
  for (let parent = inside.get(item); parent !== undefined && !around.has(parent); parent = inside.get(parent))
    around.add(parent);
}

/** Units that each unit's command comes after, over any number of steps. */
function afterOf(events: readonly LoggedEvent[], sent: Map<string, Sent>): Map<string, Set<string>> {
  const direct = new Map<string, string[]>();
  for (const { type, data } of events) {
    if (type !== 'DocumentRegistered' && type !== 'GroupRegistered') continue;
    const { requestId, groupId, after } = data as unknown as {
      requestId?: string;
      groupId?: string;
      after: { requestId: string }[];
    };
    const unit = requestId ?? groupId ?? '';
    direct.set(
      unit,
      after.map((one) => sent.get(one.requestId)?.unit ?? one.requestId),
    );
  }
  const all = new Map<string, Set<string>>();
  for (const unit of direct.keys()) {
    const found = new Set<string>();
    const open = [...(direct.get(unit) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...(direct.get(next) ?? []));
    }
    all.set(unit, found);
  }
  return all;
}
