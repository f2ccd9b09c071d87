import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { UPLOAD_TYPES, type RegistryDocument } from '../documents/document.js';
import { NOTICES } from '../documents/notice.js';
import { readDocument } from '../documents/xml.js';
import { refuse } from '../http/refusal.js';
import { placesOf, type Participant } from '../packs/world.js';
import type { Registry } from '../registry.js';
import { counterpartyShape } from './knobs.js';
import { parse } from './order.js';

const MAX_ITEMS = 25_000;
const partial = counterpartyShape.partial();
const shipShape = z.strictObject({
  from: z.string(),
  to: z.string(),
  count: z.number().int().min(1).max(MAX_ITEMS).default(1),
  gtin: z.string().optional(),
  /** The packs lie in this container, which comes to be. */
  sscc: z
    .string()
    .regex(/^\d{18}$/, 'must have 18 digits')
    .optional(),
});
const reverseShape = z.strictObject({
  by: z.string(),
  from: z.string(),
  ids: z.array(z.string()).min(1).max(MAX_ITEMS),
});
const actShape = z.strictObject({
  from: z.string(),
  xml: z.string(),
  after_ms: z
    .number()
    .int()
    .min(0)
    .max(86_400_000 * 90)
    .default(0),
  request_id: z.uuid().optional(),
});
const uploadTypes = Object.keys(UPLOAD_TYPES) as (keyof typeof UPLOAD_TYPES)[];
const outsideShape = z.strictObject({
  participant: z.string().optional(),
  via: z.enum(uploadTypes),
  xml: z.string(),
  after_ms: z.number().int().min(0).default(0),
});

/** Sets some of the knobs; answers all. */
export function setCounterparties(registry: Registry, body: unknown): unknown {
  registry.counterparties.knobs = {
    ...registry.counterparties.knobs,
    ...parse(partial, body),
  } as typeof registry.counterparties.knobs;
  return registry.counterparties.knobs;
}

/**
 * POST /counterparties/ship: a supplier ships fresh packs, by themselves or in a container: { from, to, count?, gtin?,
 * sscc? }.
 */
export function orderShipment(registry: Registry, body: unknown): unknown {
  const { from, to, count, gtin, sscc } = parse(shipShape, body);
  if (sscc !== undefined && registry.packs.container(sscc) !== undefined)
    throw refuse(400, `the container ${sscc} is there already`);
  const now = registry.processing.drainNow();
  return taken(
    registry,
    registry.counterparties.ship({
      from: participant(registry, from),
      to: place(registry, to),
      count,
      gtin,
      sscc,
      key: randomUUID(),
      atVirtualMs: now,
    }),
    toldBy(415),
  );
}

/** POST /counterparties/reverse: a customer claims packs or units of ours: { by, from, ids }. */
export function orderClaim(registry: Registry, body: unknown): unknown {
  const { by, from, ids } = parse(reverseShape, body);
  const now = registry.processing.drainNow();
  const items = ids.map((id) => ({ kind: id.length === 18 ? ('sscc' as const) : ('sgtin' as const), id }));
  return taken(
    registry,
    registry.counterparties.claim({
      by: participant(registry, by),
      from: place(registry, from),
      items,
      key: randomUUID(),
      atVirtualMs: now,
    }),
    toldBy(416),
  );
}

/**
 * POST /counterparties/act: any document of a simulated participant, processed with all that follows: { from, xml,
 * after_ms? }.
 */
export function orderAct(registry: Registry, body: unknown): unknown {
  const { from, xml, after_ms: afterMs, request_id: requestId = randomUUID() } = parse(actShape, body);
  return take(registry, { from: participant(registry, from), requestId, uploadType: UPLOAD_TYPES.api, xml, afterMs });
}

/**
 * POST /outside: a document of ours that came past the API, through a registrar, a fiscal operator or the cabinet: {
 * via, xml, participant? }.
 */
export function orderOutside(registry: Registry, body: unknown): unknown {
  const {
    participant: key = registry.world.standingReceiver.key,
    via,
    xml,
    after_ms: afterMs,
  } = parse(outsideShape, body);
  return take(registry, {
    from: participant(registry, key),
    requestId: randomUUID(),
    uploadType: UPLOAD_TYPES[via],
    xml,
    afterMs,
  });
}

function take(
  registry: Registry,
  action: { from: Participant; requestId: string; uploadType: number; xml: string; afterMs: number },
): unknown {
  const { docType } = readDocument(Buffer.from(action.xml));
  const atVirtualMs = registry.processing.drainNow();
  const where = action.uploadType === UPLOAD_TYPES.api ? toldBy(docType) : 'the registers, and documents/outcome';
  return taken(
    registry,
    registry.intake.act({ ...action, from: action.from.key, id: randomUUID(), atVirtualMs }),
    where,
  );
}

/** The document, and when what it does will show: in real time too, since the virtual clock may run faster. */
function taken({ clock }: Registry, document: RegistryDocument | undefined, where: string): unknown {
  if (document === undefined) return { document_id: null, request_id: null };
  const { documentId, requestId, dueVirtualMs } = document;
  const inMs = Math.max(0, Math.ceil((dueVirtualMs - clock.nowMs()) / clock.speed));
  const shows = { at: new Date(dueVirtualMs).toISOString(), in_ms: inMs, where };
  return { document_id: documentId, request_id: requestId, shows };
}

/** Where the system tells the other side of a document. */
const toldBy = (docType: number): string =>
  NOTICES[docType] === undefined
    ? 'the registers'
    : `the registers, and documents/income of the other side as a ${NOTICES[docType].docType}`;

function participant({ world }: Registry, key: string): Participant {
  const found = world.participants.get(key);
  if (found === undefined)
    throw refuse(400, `there is no participant "${key}"; known are ${[...world.participants.keys()].join(', ')}`);
  return found;
}

function place({ world }: Registry, named: string): string {
  if (world.participantAt(named) === undefined)
    throw refuse(400, `there is no place ${named}; known are ${placesOf(world).join(', ')}`);
  return named;
}
