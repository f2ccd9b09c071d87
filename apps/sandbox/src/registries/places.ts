import { jsonAnswer, type Answer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import type { Participant } from '../packs/world.js';
import type { Registry } from '../registry.js';
import { entriesAnswer } from './answers.js';
import { branchRecord, REGISTERED } from './directory.js';
import { listBody, pageOfList, type FilterReader } from './request.js';

interface Place {
  id: string;
  of: Participant;
}

const branchesOf = (of: Participant): Place[] => of.branches.map((id) => ({ id, of }));
const warehousesOf = (of: Participant): Place[] => of.warehouses.map((id) => ({ id, of }));
const everyone = ({ world }: Registry): Participant[] => [...world.participants.values()];

/** GET reestr/branches/{branch_id}: one of the caller's places of activity. */
export const branch: UserOperation = (registry, call) =>
  one(registry, branchesOf(call.account.participant), call.params['branch_id']);
/** GET reestr/warehouses/{warehouse_id}: one of the caller's warehouses of responsible storage. */
export const warehouse: UserOperation = (registry, call) =>
  one(registry, warehousesOf(call.account.participant), call.params['warehouse_id']);

/** POST reestr/branches/public/filter: the places of activity of all participants. */
export const publicBranches: UserOperation = (registry, call) =>
  list(registry, call, everyone(registry).flatMap(branchesOf));
/** POST reestr/warehouses/filter: the caller's warehouses. */
export const warehouses: UserOperation = (registry, call) =>
  list(registry, call, warehousesOf(call.account.participant));
/** POST reestr/warehouses/public/filter: the warehouses of all participants. */
export const publicWarehouses: UserOperation = (registry, call) =>
  list(registry, call, everyone(registry).flatMap(warehousesOf));

/** POST reestr/warehouses/available_safe_warehouses_addresses: addresses of a participant by INN, else the caller's. */
export const safeWarehouseAddresses: UserOperation = (registry, call) => {
  const { profile } = registry;
  const inn = call.body.length === 0 ? undefined : jsonObjectOf(call.body)[profile.field('inn')];
  const of = inn === undefined ? [call.account.participant] : everyone(registry).filter((one) => one.inn === inn);
  const entries = of.flatMap(warehousesOf).map((place) => {
    const { address } = recordOf(registry, place);
    return profile.named({ address_id: place.id, address });
  });
  return entriesAnswer(registry, call, { entries, total: entries.length });
};

function one(registry: Registry, own: Place[], id: string | undefined): Answer {
  const place = own.find((each) => each.id === id);
  if (place === undefined) throw refuse(404, `${id} is not a place of yours`);
  return jsonAnswer(200, { ...registry.profile.named({ branch_id: place.id }), ...recordOf(registry, place) });
}

function list(registry: Registry, call: UserCall, places: Place[]): Answer {
  const { filter, page } = listBody(call.body, registry.profile);
  const isWanted = wantedBy(filter, registry);
  const all = places.filter(isWanted);
  const entries = pageOfList(all, page).map((place) => recordOf(registry, place));
  return entriesAnswer(registry, call, { entries, total: all.length });
}

/** What a filter asks of a place: each of its fields stands in the record under the same name, but for these. */
function wantedBy(filter: FilterReader, registry: Registry): (place: Place) => boolean {
  const id = filter.text('branch_id');
  const inn = filter.text('inn');
  const systemId = filter.text('system_subj_id');
  const subject = filter.text('federal_subject_code');
  const district = filter.text('federal_district_code');
  const house = filter.text('houseguid');
  const statuses = filter.numbers('branch_status');
  const licences = ['has_pharm_license', 'has_prod_license', 'has_med_license', 'is_withdrawal_via_document_allowed']
    .map((name) => [name, filter.flag(name)] as const)
    .filter(([, wanted]) => wanted !== undefined);
  const isRegistered = filter.range('start_date', 'end_date')(Date.parse(REGISTERED));
  filter.end();
  if (house !== undefined || district !== undefined || !isRegistered || statuses?.includes(1) === false)
    return () => false;
  return (place) => {
    const record = recordOf(registry, place);
    return (
      [place.id, undefined].includes(id) &&
      [place.of.inn, undefined].includes(inn) &&
      [place.of.systemId, undefined].includes(systemId) &&
      [record[registry.profile.field('federal_subject_code')], undefined].includes(subject) &&
      licences.every(([name, wanted]) => (record[registry.profile.field(name)] ?? false) === wanted)
    );
  };
}

const recordOf = (registry: Registry, { id, of }: Place): Record<string, unknown> =>
  registry.profile.named(branchRecord(of, id));
