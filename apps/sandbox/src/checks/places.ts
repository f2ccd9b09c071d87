import type { DocumentItem } from '../documents/document.js';
import type { Participant } from '../packs/world.js';
import { PAUSED } from '../packs/trail.js';
import { becomes, whyCounterpartyFails } from './blocks.js';
import { disposable, field, itemRule, type Operation, type OperationRule } from './operation.js';
import { because } from './reasons.js';
import { MOVABLE, movePlace } from './transfers.js';

/** All that an owner has at a place and may move: loose packs, and units with all that is in them. */
function everythingAt({ packs }: Operation, owner: string, place: string): DocumentItem[] {
  const { sgtins, containers } = packs.thingsAt(owner, place);
  const isMovable = (sgtin: string) => {
    const pack = packs.pack(sgtin);
    return pack?.transfer === undefined && (MOVABLE as readonly string[]).includes(pack?.status ?? '');
  };
  const units = containers.filter((unit) => packs.contentOf(unit)?.sgtins.some(isMovable) === true);
  return [
    ...sgtins.filter(isMovable).map((id) => ({ kind: 'sgtin' as const, id })),
    ...units.map(({ sscc }) => ({ kind: 'sscc' as const, id: sscc })),
  ];
}

/** 432: everything that lies at a place moves to another place of the same owner. */
export const movePlaceAll: OperationRule = {
  ...movePlace,
  items: (operation) => everythingAt(operation, operation.sender.key, operation.place),
};

const predecessorOf = (operation: Operation): Participant =>
  operation.world.participantAt(field(operation, 'shipper_id')) as Participant;

/**
 * 812: everything that lies at a place of the predecessor becomes the legal successor's. The sandbox takes every sender
 * for a successor.
 */
export const successorAcceptance: OperationRule = {
  document(operation) {
    const receiver = field(operation, 'receiver_id');
    if (!operation.sender.branches.includes(receiver)) return because('counterparty_not_own', receiver);
    return whyCounterpartyFails(operation, 'shipper_id');
  },
  items: (operation) => everythingAt(operation, predecessorOf(operation).key, field(operation, 'shipper_id')),
  item: itemRule({
    leavesContainer: true,
    check: (pack, operation) =>
      disposable(
        pack,
        { ...operation, sender: predecessorOf(operation), place: field(operation, 'shipper_id') },
        MOVABLE,
      ),
    next: (pack, operation) => ({ ...pack, owner: operation.sender.key, place: field(operation, 'receiver_id') }),
    container(container, operation) {
      container.owner = operation.sender.key;
      container.place = field(operation, 'receiver_id');
    },
  }),
};

const ON_BALANCE = ['in_circulation', PAUSED, 'expired'] as const;

/** 705: packs, or a whole series, are not on our balance. */
export const notOnBalance: OperationRule = {
  ...becomes({ from: ON_BALANCE, to: 'out_of_circulation', leaves: true }),
  items(operation) {
    const { content, packs, sender, place } = operation;
    const gtin = field(operation, 'series_details/gtin');
    if (gtin === '') return content.items;
    const series = field(operation, 'series_details/series_number');
    const isMeant = (sgtin: string) => {
      const pack = packs.pack(sgtin);
      return (
        pack?.owner === sender.key && pack.place === place && disposable(pack, operation, ON_BALANCE) === undefined
      );
    };
    const found = packs.packsOf({ gtin, batch: series }).filter(isMeant).sort();
    return found.map((id) => ({ kind: 'sgtin', id }));
  },
};
