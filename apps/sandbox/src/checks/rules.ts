import { PAUSED } from '../packs/trail.js';
import { AS_BEFORE, becomes, claims, ships, whyCounterpartyFails, whyNotOfShipper } from './blocks.js';
import { changeProperty, noteSales, recall, saleCorrection } from './corrections.js';
import { healthCare, recipe, retailSale, returnToCirculation, withdrawal, withdrawalWithoutTill } from './disposals.js';
import { field, itemRule, type Operation, type OperationRule } from './operation.js';
import { multiPack, multiUnitAppend, unitAppend, unitExtract, unitPack, unitUnpack } from './packing.js';
import { movePlaceAll, notOnBalance, successorAcceptance } from './places.js';
import { changeInformation, codeEmission, endPacking } from './production.js';
import { hierarchyInfo, kizInfo } from './queries.js';
import { refusalByReceiver, refusalBySender } from './refusals.js';
import { bookSscc, editTrusted, registrarConnected } from './registers.js';
import { accept, moveOrder, movePlace, moveReturn, receiveOrder } from './transfers.js';

const CIRCULATING = ['in_circulation'] as const;
const IMPORTED = ['arrived', 'declared', 'declared_warehouse', 'moved_to_warehouse'] as const;

/** 335: what the customs decided, by custom_procedure_code. */
const CLEARED: Record<string, string> = {
  40: 'declared',
  93: 'moved_for_disposal',
  94: 'out_of_circulation',
  31: 'reexported',
  10: 'reexported',
  80: 'moved_to_warehouse',
};

/** Whom a 702 names as the shipper, by place or INN. */
function namedHolder(operation: Operation): string | undefined {
  const { world } = operation;
  const inn = field(operation, 'shipper_info/inn');
  const byInn = [...world.participants.values()].find((one) => one.inn === inn);
  const place = field(operation, 'shipper_id');
  return place === '' ? byInn?.key : (world.participantAt(place)?.key ?? 'nobody');
}

/** Whoever writes the document has the goods from then on. */
const TAKEN_ON: Pick<Parameters<typeof itemRule>[0], 'next' | 'container'> = {
  next: (pack, { sender, place }) => ({ ...pack, status: 'in_circulation', owner: sender.key, place }),
  container(container, { sender, place }) {
    Object.assign(container, { owner: sender.key, place });
  },
};

/** 702: goods are taken on without their holder's document; he is told by 627. */
const posting: OperationRule = {
  item: itemRule({
    leavesContainer: true,
    check: (pack, operation) =>
      whyNotOfShipper(pack, operation, {
        from: [...CIRCULATING, 'moved_to_unregistered'],
        shipper: namedHolder(operation) ?? pack.owner,
      }),
    ...TAKEN_ON,
  }),
};

/** 442: the receiver of what went to an unregistered place has registered, and takes it on. */
const receiveUnregistered: OperationRule = {
  document: (operation) => whyCounterpartyFails(operation, 'shipper_id'),
  item: itemRule({
    leavesContainer: true,
    check: (pack, operation) => whyNotOfShipper(pack, operation, { from: ['moved_to_unregistered'] }),
    ...TAKEN_ON,
  }),
};

const underArbitration = becomes({ from: CIRCULATING, to: 'in_arbitration' });
const fromArbitration = becomes({ from: ['in_arbitration'], to: 'in_circulation' });

const till = (rule: OperationRule): OperationRule => ({ ...rule, after: noteSales });

/**
 * Every document type that participants, order stations, registrars and tills send: its element, and what it does. What
 * no source tells is the sandbox's own choice; docs/sandbox.md says where.
 */
export const RULES: Readonly<Record<number, readonly [element: string, rule: OperationRule]>> = {
  // Queries, registers and corrections
  210: ['query_kiz_info', { answer: kizInfo }],
  212: ['edit_counterparty_list', editTrusted],
  213: ['booking_sscc', bookSscc],
  220: ['query_hierarchy_info', { answer: hierarchyInfo }],
  250: ['recall', recall],
  251: ['refusal_sender', refusalBySender],
  252: ['refusal_receiver', refusalByReceiver],
  253: ['change_information', changeInformation],
  254: ['change_property', changeProperty],
  // Codes, production, import
  300: [
    'transfer_code_to_custom',
    becomes({
      from: ['emitted'],
      to: 'transferred_to_customs',
      arrives: true,
      document: (operation) => whyCounterpartyFails(operation, 'custom_receiver_id'),
    }),
  ],
  313: [
    'register_product_emission',
    becomes({ from: ['marked', 'waiting_for_release'], to: 'in_circulation', leaves: true }),
  ],
  314: [
    'move_to_release',
    ships({ to: 'owner_id', from: ['marked'], status: 'transferred_for_release', accepted: 'waiting_for_release' }),
  ],
  315: [
    'return_contract_production',
    ships({ from: ['waiting_for_release', 'marked'], status: 'transfer_to_production', accepted: 'marked' }),
  ],
  331: ['foreign_shipment', ships({ from: ['marked'], status: 'shipped', accepted: 'arrived' })],
  332: ['foreign_import', claims({ from: ['marked'], accepted: 'arrived' })],
  333: ['foreign_import_owner', becomes({ from: ['marked'], to: 'arrived', arrives: true })],
  334: ['custom_move', becomes({ from: ['arrived', 'declared_warehouse'], to: 'moved_to_warehouse', arrives: true })],
  335: [
    'fts_data',
    becomes({
      from: ['arrived', 'moved_to_warehouse'],
      to: (_pack, operation) => CLEARED[field(operation, 'custom_procedure_code')] ?? 'declared',
      arrives: true,
    }),
  ],
  336: ['import_info', ships({ from: ['marked'], status: 'transferred_to_importer', accepted: 'arrived' })],
  337: [
    'return_import',
    ships({ to: 'shipper_id', from: IMPORTED, status: 'awaiting_return_confirmation', accepted: 'marked' }),
  ],
  341: ['receive_importer', becomes({ from: ['declared'], to: 'declared_warehouse', arrives: true })],
  342: [
    'release_in_circulation',
    becomes({ from: ['declared_warehouse', 'waiting_for_release'], to: 'in_circulation' }),
  ],
  351: [
    'change_owner',
    ships({ from: [...CIRCULATING, 'marked', ...IMPORTED], status: 'change_owner', accepted: AS_BEFORE }),
  ],
  360: ['eeu_owner', becomes({ from: ['marked'], to: 'arrived', arrives: true })],
  361: ['eeu_shipment', ships({ from: ['marked'], status: 'shipped', accepted: 'arrived' })],
  362: ['eeu_import', claims({ from: ['marked'], accepted: 'arrived' })],
  363: ['eeu_release', becomes({ from: ['arrived'], to: 'in_circulation' })],
  381: [
    'move_owner',
    ships({ to: 'owner_id', from: [...CIRCULATING, 'marked'], status: 'transfered_to_owner', accepted: AS_BEFORE }),
  ],
  10300: ['code_emission', codeEmission],
  10305: ['skzkm_report_of_dropout', becomes({ from: ['emitted'], to: 'eliminated', arrives: true })],
  10311: ['skzkm_register_end_packing', endPacking],
  10319: ['skzkm_foreign_emission', endPacking],
  // Between participants and places
  391: ['return_to_circulation', returnToCirculation],
  415: ['move_order', moveOrder],
  416: ['receive_order', receiveOrder],
  417: ['move_return', moveReturn],
  431: ['move_place', movePlace],
  432: ['move_place_all', movePlaceAll],
  441: ['move_unregistered_order', becomes({ from: CIRCULATING, to: 'moved_to_unregistered', leaves: true })],
  442: ['receive_unregistered_order', receiveUnregistered],
  461: ['move_eeu', becomes({ from: CIRCULATING, to: 'moved_to_eeu', leaves: true })],
  470: ['move_state_dispatch', movePlace],
  471: ['state_dispatch', ships({ status: 'change_owner_state_gov' })],
  472: ['agent_dispatch', ships({ status: 'transferred_to_agent' })],
  473: ['agent_acceptance', claims()],
  481: [
    'arbitration',
    {
      document: (operation) => whyCounterpartyFails(operation, 'counterparty_id'),
      item: (operation, item) =>
        (field(operation, 'sign_arbitration') === '1' ? underArbitration : fromArbitration).item?.(operation, item),
    },
  ],
  701: ['accept', accept],
  702: ['posting', posting],
  705: ['not_on_balance', notOnBalance],
  812: ['successor_acceptance', successorAcceptance],
  // Out of circulation
  511: ['retail_sale', retailSale],
  512: ['withdrawal_without_kkt', withdrawalWithoutTill],
  521: ['recipe', recipe],
  531: ['health_care', healthCare],
  541: [
    'move_destruction',
    becomes({ from: [...CIRCULATING, PAUSED, 'expired'], to: 'moved_for_disposal', leaves: true }),
  ],
  542: ['destruction', becomes({ from: ['moved_for_disposal'], to: 'disposed', leaves: true })],
  552: ['withdrawal', withdrawal],
  10501: ['retail_sell_kkt_corrected', saleCorrection],
  10502: ['recipe_kkt_corrected', saleCorrection],
  10511: ['retail_sell_kkt', till(retailSale)],
  10521: ['skzkm_recipe', recipe],
  10522: ['recipe_kkt', till(recipe)],
  10523: ['skzkm_code_error_recipe', becomes({ from: CIRCULATING, to: 'discount_prescription_error' })],
  10531: ['skzkm_health_care', healthCare],
  10532: ['skzkm_code_error_healthcare', becomes({ from: CIRCULATING, to: 'med_care_error' })],
  20521: ['service_disposal_registrar', registrarConnected],
  // Units
  911: ['unit_pack', unitPack],
  912: ['unit_unpack', unitUnpack],
  913: ['unit_extract', unitExtract],
  914: ['unit_append', unitAppend],
  915: ['multi_pack', multiPack],
  916: ['multi_unit_append', multiUnitAppend],
};
