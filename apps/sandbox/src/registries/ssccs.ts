import type { Sscc } from '#kernel';
import { jsonAnswer } from '../http/answer.js';
import { refuse } from '../http/refusal.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import type { Container } from '../packs/pack.js';
import type { Registry } from '../registry.js';
import type { Decision } from '../suspensions/suspensions.js';
import { entriesAnswer, listed, notFound, notYours } from './answers.js';
import { expiration, isoSecond, mayRead } from './pack-facts.js';
import { sgtinRecord } from './records.js';
import { listBody, pageOfList } from './request.js';

const MAX_ASKED = 10;
const MAX_LEVELS = 10;

/**
 * GET reestr/sscc/{sscc}/hierarchy: units around and inside, each list beginning with the asked one; a miss is a 200
 * with an error_code (public-facts 1.5).
 */
export const ssccHierarchy: UserOperation = (registry, call) => {
  registry.upToNow();
  const sscc = call.params['sscc'] ?? '';
  const unit = registry.packs.container(sscc);
  if (unit === undefined || !mayReadUnit(registry, call, unit))
    return jsonAnswer(
      200,
      registry.profile.named({ up: [], down: [], ...(unit === undefined ? notFound : notYours)(registry) }),
    );
  const shown = (one: Container) =>
    registry.profile.named({
      sscc: one.sscc,
      release_date: isoSecond(one.packedAtMs ?? 0),
      system_subj_id: registry.world.participants.get(one.owner)?.systemId,
    });
  const inside = registry.packs.contentOf(unit)?.containers ?? [];
  return jsonAnswer(
    200,
    registry.profile.named({
      up: listed(registry, registry.packs.unitsAbove(unit).map(shown)),
      down: listed(registry, inside.map(shown)),
    }),
  );
};

/** POST reestr/sscc/{sscc}/sgtins: the packs that lie directly inside; a miss is a 200 with an error_code. */
export const ssccSgtins: UserOperation = (registry, call) => {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  const special = filter.flag('vzn_drug') === true || filter.flag('gnvlp') === true;
  filter.end();
  const unit = registry.packs.container(call.params['sscc'] ?? '');
  if (unit === undefined || !mayReadUnit(registry, call, unit))
    return jsonAnswer(
      200,
      registry.profile.named({ entries: [], total: 0, ...(unit === undefined ? notFound : notYours)(registry) }),
    );
  const all = special ? [] : [...unit.packs];
  const entries = pageOfList(all, page).flatMap((sgtin) => {
    const state = registry.packs.pack(sgtin);
    return state === undefined ? [] : [sgtinRecord(registry, sgtin, state)];
  });
  return entriesAnswer(registry, call, { entries, total: all.length });
};

/**
 * GET reestr/sscc/{sscc}/full-hierarchy: the units around down to the asked one, and all that is in it, units and packs
 * mixed. With `?sscc=` in place of the path, up to ten at once, as an array. An unknown unit is a 404.
 */
export const ssccFullHierarchy: UserOperation = (registry, call) => {
  registry.upToNow();
  const { sscc } = call.params;
  if (sscc !== undefined) return jsonAnswer(200, fullHierarchy(registry, call, sscc));
  const asked = call.query
    .getAll(registry.profile.field('sscc'))
    .flatMap((text) => text.split(','))
    .filter((text) => text !== '');
  if (asked.length === 0) throw refuse(400, 'sscc is missing');
  if (asked.length > MAX_ASKED) throw refuse(400, `more than ${MAX_ASKED} units are asked for`);
  return jsonAnswer(
    200,
    asked.map((one) => fullHierarchy(registry, call, one)),
  );
};

function fullHierarchy(registry: Registry, call: UserCall, sscc: Sscc): unknown {
  const unit = registry.packs.container(sscc);
  if (unit === undefined) throw refuse(404, `the logistic unit ${sscc} is not registered`);
  if (!mayReadUnit(registry, call, unit)) throw refuse(403, `the logistic unit ${sscc} is another's`, 'not_yours');
  let up: Record<string, unknown> | undefined;
  for (const one of registry.packs.unitsAbove(unit))
    up = { ...node(registry, one), ...registry.profile.named({ childs: up === undefined ? [] : [up] }) };
  return registry.profile.named({ up, down: contentNode(registry, unit, 0) });
}

function contentNode(registry: Registry, unit: Container, level: number): Record<string, unknown> {
  if (level > MAX_LEVELS) throw new Error(`the logistic unit ${unit.sscc} nests too deep`);
  const units = [...unit.containers].flatMap((sscc) => registry.packs.container(sscc) ?? []);
  const packs = [...unit.packs].map((sgtin) => leaf(registry, unit.sscc, sgtin));
  const childs = [
    ...packs.slice(0, 1),
    ...units.map((one) => contentNode(registry, one, level + 1)),
    ...packs.slice(1),
  ];
  return { ...node(registry, unit), ...registry.profile.named({ childs }) };
}

function node({ world, profile }: Registry, unit: Container): Record<string, unknown> {
  const owner = world.participants.get(unit.owner);
  return profile.named({
    sscc: unit.sscc,
    packing_date: isoSecond(unit.packedAtMs ?? 0),
    owner_id: owner?.systemId,
    owner_organization_name: owner?.name,
  });
}

/** A pack in the tree; what says its status and series has two names in the wild (public-facts 1.5). */
function leaf(registry: Registry, sscc: Sscc, sgtin: string): Record<string, unknown> {
  const { packs, world, settings, profile } = registry;
  const status = packs.pack(sgtin)?.status;
  const series = packs.seriesOf(sgtin) ?? '';
  const decision = packs.suspensionOf(sgtin);
  return profile.named({
    sgtin,
    sscc,
    gtin: sgtin.slice(0, 14),
    ...(settings.leafNames === 'internal_state'
      ? { internal_state: status, series_number: series }
      : { sgtin_status: status, batch: series }),
    expiration_date: expiration(world, packs.pack(sgtin)?.expires),
    ...(decision === undefined ? {} : { pause_decision_info: profile.named(suspension(decision)) }),
  });
}

const suspension = ({ haltId, docNum, docDateMs, haltDateMs }: Decision): Record<string, unknown> => ({
  pause_decision_id: haltId,
  pause_decision_num: docNum,
  pause_decision_date: isoSecond(docDateMs).slice(0, 10),
  halt_date: isoSecond(haltDateMs),
});

/** Its owner, or a side of a shipment that it is in: one pack tells, for a unit travels whole. */
function mayReadUnit({ packs, world }: Registry, call: UserCall, unit: Container): boolean {
  const { participant } = call.account;
  if (unit.owner === participant.key) return true;
  const [sgtin] = packs.contentOf(unit)?.sgtins ?? [];
  const state = sgtin === undefined ? undefined : packs.pack(sgtin);
  return state !== undefined && mayRead(world, participant, state);
}
