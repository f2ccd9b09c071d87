import type { Sgtin } from '#kernel';
import { documentMetadata } from '../documents/metadata.js';
import { jsonAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import type { PackState } from '../packs/pack.js';
import type { Registry } from '../registry.js';
import { entriesAnswer, listed, notFound, notYours } from './answers.js';
import { findPacks } from './pack-filter.js';
import { mayRead } from './pack-facts.js';
import { productRecord, publicRecord, sgtinRecord } from './records.js';
import { listBody, pageOfList, pageOfQuery } from './request.js';

const MAX_LISTED = 500;

/** POST reestr/sgtin/filter: the caller's own touched packs that are not archived (public-facts 1.3). */
export const sgtins: UserOperation = (registry, call) => {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  const { numbers, total } = findPacks(registry, filter, {
    page,
    owner: call.account.participant.key,
    archived: false,
  });
  return entriesAnswer(registry, call, { entries: numbers.map((number) => recordOf(registry, number)), total });
};

export const recordOf = (registry: Registry, number: number): Record<string, unknown> => {
  const { index } = registry.packs;
  return sgtinRecord(registry, index.sgtin(number), index.state(number));
};

/**
 * POST reestr/sgtin/sgtins-by-list: records of up to 500 packs that the caller owns or that are shipped to or by him.
 */
export const sgtinsByList: UserOperation = (registry, call) => {
  registry.upToNow();
  const asked = askedSgtins(registry, call);
  const entries: unknown[] = [];
  const failed: unknown[] = [];
  for (const sgtin of asked) {
    const state = livePack(registry, sgtin);
    if (state === undefined) failed.push(registry.profile.named({ sgtin, ...notFound(registry) }));
    else if (!mayRead(registry.world, call.account.participant, state))
      failed.push(registry.profile.named({ sgtin, ...notYours(registry) }));
    else entries.push(sgtinRecord(registry, sgtin, state));
  }
  return byListAnswer(registry, { asked, entries, failed });
};

/** POST reestr/sgtin/public/sgtins-by-list: what anybody may know of up to 500 packs. */
export const publicSgtinsByList: UserOperation = (registry, call) => publicList(registry, call, livePack);
/** POST reestr/sgtin/public/archive/sgtins-by-list: the same of archived packs. */
export const archivedSgtinsByList: UserOperation = (registry, call) => publicList(registry, call, archivedPack);

/** GET reestr/sgtin/{sgtin}: the record and the product. */
export const sgtin: UserOperation = (registry, call) => oneSgtin(registry, call, livePack);
/** GET reestr/sgtin/archive/{sgtin}: the same of an archived pack. */
export const archivedSgtin: UserOperation = (registry, call) => oneSgtin(registry, call, archivedPack);

/** GET reestr/sgtin/documents: the documents of one pack's life to which the caller is a party, newest first. */
export const sgtinDocuments: UserOperation = (registry, call) => documentsOf(registry, call, livePack);
/** GET reestr/sgtin/archive/documents: the same of an archived pack. */
export const archivedSgtinDocuments: UserOperation = (registry, call) => documentsOf(registry, call, archivedPack);

type Find = (registry: Registry, sgtin: Sgtin) => PackState | undefined;

const livePack: Find = ({ packs }, sgtin) => (packs.isArchived(sgtin) ? undefined : packs.pack(sgtin));
const archivedPack: Find = ({ packs }, sgtin) => (packs.isArchived(sgtin) ? packs.pack(sgtin) : undefined);

function publicList(registry: Registry, call: UserCall, find: Find) {
  registry.upToNow();
  const asked = askedSgtins(registry, call);
  const entries: unknown[] = [];
  const failed: string[] = [];
  for (const sgtin of asked) {
    const state = find(registry, sgtin);
    if (state === undefined) failed.push(sgtin);
    else entries.push(publicRecord(registry, sgtin, state));
  }
  return byListAnswer(registry, { asked, entries, failed });
}

function askedSgtins({ profile }: Registry, call: UserCall): string[] {
  const filter = jsonObjectOf(call.body)[profile.field('filter')];
  const list =
    typeof filter === 'object' && filter !== null
      ? (filter as Record<string, unknown>)[profile.field('sgtins')]
      : undefined;
  if (!Array.isArray(list) || list.length === 0) throw refuse(400, 'filter.sgtins is missing or empty');
  if (list.length > MAX_LISTED) throw refuse(400, `filter.sgtins holds more than ${MAX_LISTED} packs`);
  if (list.some((one) => typeof one !== 'string')) throw refuse(400, 'filter.sgtins is not a list of texts');
  return list as string[];
}

/** `total` is how many were asked for and found out about; `failed`, how many of them failed (public-facts 1.3). */
function byListAnswer(
  registry: Registry,
  { asked, entries, failed }: { asked: string[]; entries: unknown[]; failed: unknown[] },
) {
  return jsonAnswer(
    200,
    registry.profile.named({
      total: asked.length,
      failed: failed.length,
      entries: listed(registry, entries),
      failed_entries: listed(registry, failed),
    }),
  );
}

function oneSgtin(registry: Registry, call: UserCall, find: Find) {
  registry.upToNow();
  const sgtin = call.params['sgtin'] ?? '';
  const state = readable(registry, call, { sgtin, state: find(registry, sgtin) });
  return jsonAnswer(
    200,
    registry.profile.named({
      sgtin_info: sgtinRecord(registry, sgtin, state),
      gtin_info: productRecord(registry, sgtin.slice(0, 14)) ?? null,
    }),
  );
}

function readable(
  registry: Registry,
  call: UserCall,
  { sgtin, state }: { sgtin: string; state: PackState | undefined },
): PackState {
  if (state === undefined) throw refuse(404, `the pack ${sgtin} is not in this registry`);
  if (!mayRead(registry.world, call.account.participant, state))
    throw refuse(403, `the pack ${sgtin} is another's`, 'not_yours');
  return state;
}

function documentsOf(registry: Registry, call: UserCall, find: Find) {
  const virtualMs = registry.upToNow();
  const sgtin = call.query.get(registry.profile.field('sgtin'));
  if (sgtin === null) throw refuse(400, 'sgtin is missing');
  const state = readable(registry, call, { sgtin, state: find(registry, sgtin) });
  const { key } = call.account.participant;
  const { profile, world } = registry;
  const context = {
    profile,
    virtualMs,
    listDates: registry.settings.listDates,
    systemIdOf: (participant: string) => world.participants.get(participant)?.systemId ?? participant,
  };
  const entries: unknown[] = [];
  for (let step = state.trail; step !== undefined; step = step.previous) {
    const { document } = step.change;
    if (document === undefined || (document.sender !== key && document.receiver !== key)) continue;
    entries.push({ ...documentMetadata(document, context), ...profile.named({ sgtin, sscc: step.sscc }) });
  }
  return entriesAnswer(registry, call, {
    entries: pageOfList(entries, pageOfQuery(call.query, profile)),
    total: entries.length,
  });
}
