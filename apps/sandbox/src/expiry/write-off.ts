import { randomUUID } from 'node:crypto';
import { isGtin, isSgtin } from '#kernel';
import { z } from 'zod';
import { attentionLetter, writeOffLetter } from '../documents/system-letters.js';
import type { Intake } from '../documents/intake.js';
import { refuse } from '../http/refusal.js';
import type { PackState, PackStore } from '../packs/packs.js';
import type { World } from '../packs/world.js';
import { parse } from '../counterparties/order.js';

const writeOffShape = z.union([
  z.strictObject({ sgtins: z.array(z.string().refine(isSgtin, 'is no SGTIN')).min(1).max(25_000) }),
  z.strictObject({ gtin: z.string().refine(isGtin, 'is no GTIN'), batch: z.string().min(1).max(20) }),
]);

const attentionShape = z.strictObject({
  to: z.string(),
  warning_type: z.number().int().min(1).max(8).default(4),
  description: z.string().min(1).max(4000),
  comment: z.string().min(1).max(4000).optional(),
});

const WRITTEN_OFF = 632;
/** Packs that are on somebody's balance and not on their way. */
const ON_BALANCE: ReadonlySet<string> = new Set([
  'in_circulation',
  'expired',
  'paused_circulation',
  'in_partial_sale',
  'in_partial_discount_prescription_sale',
  'in_partial_medical_use',
  'in_partial_dispensing_by_document',
  'in_partial_ooc',
]);

/** The packs of an order to write off expired ones. Throws a 400 that says what is wrong. */
export function expiredPacks(packs: PackStore, body: unknown): string[] {
  const order = parse(writeOffShape, body);
  const named =
    'sgtins' in order
      ? packs.packsOf({ gtin: '', batch: undefined, ...order })
      : packs.packsOf({ ...order, sgtins: undefined });
  const found = named.filter((sgtin) => {
    const pack = packs.pack(sgtin);
    return pack?.transfer === undefined && ON_BALANCE.has(pack?.status ?? '');
  });
  if (found.length === 0) throw refuse(400, 'none of these packs is on the balance of anybody');
  return found;
}

/** The registry writes expired packs off by itself (632). */
export function writeOff(packs: PackStore, sgtins: string[], atMs: number): void {
  packs.begin({ atMs, docType: WRITTEN_OFF });
  for (const sgtin of sgtins) {
    packs.takeOutPack(sgtin);
    packs.setPack(sgtin, { ...(packs.pack(sgtin) as PackState), status: 'out_of_circulation', partUsed: undefined });
  }
}

interface Telling {
  packs: PackStore;
  world: World;
  intake: Intake;
}

/** Tells each owner by place. Answers with the ids of the notifications. */
export function tellOfWriteOff({ packs, world, intake }: Telling, sgtins: string[], atVirtualMs: number): string[] {
  const places = new Map<string, string[]>();
  for (const sgtin of sgtins) {
    const place = packs.pack(sgtin)?.place ?? '';
    places.set(place, [...(places.get(place) ?? []), sgtin]);
  }
  return [...places].map(([subject, gone]) => {
    const rows = gone.map((sgtin) => ({
      sgtin,
      series: packs.seriesOf(sgtin) ?? 'none',
      expires: packs.pack(sgtin)?.expires ?? world.standing.expirationDate,
    }));
    const owner = packs.pack(gone[0] as string)?.owner ?? '';
    const xml = writeOffLetter({ atVirtualMs, subject, packs: rows });
    return delivered(intake, { to: owner, xml, atVirtualMs });
  });
}

/** 633: the registry warns a participant. Throws a 400 on a bad order. */
export function warn({ world, intake }: Omit<Telling, 'packs'>, body: unknown, atVirtualMs: number): string {
  const { to, warning_type: type, description, comment } = parse(attentionShape, body);
  if (!world.participants.has(to)) throw refuse(400, `there is no participant "${to}"`);
  return delivered(intake, { to, xml: attentionLetter({ atVirtualMs, type, description, comment }), atVirtualMs });
}

function delivered(intake: Intake, letter: { to: string; xml: string; atVirtualMs: number }): string {
  const id = randomUUID();
  intake.announce({ ...letter, id, requestId: id, from: letter.to });
  return id;
}
