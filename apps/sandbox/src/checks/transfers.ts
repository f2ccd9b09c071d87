import type { PackState, Transfer } from '../packs/packs.js';
import { disposable, itemRule, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';

const field = (operation: Operation, name: string): string => operation.content.fields.get(name) ?? '';

/** The counterparty must be a known participant and not the sender. */
function whyCounterpartyFails(operation: Operation, name: string): Reason | undefined {
  const counterparty = field(operation, name);
  const participant = operation.world.participantAt(counterparty);
  if (participant === undefined) return because('unknown_counterparty', counterparty);
  return participant.key === operation.sender.key ? because('counterparty_is_own', counterparty) : undefined;
}

/** 415: the sender ships; the goods stay his, in_realization, until the receiver accepts them (public-facts 2.5). */
export const moveOrder: OperationRule = {
  document: (operation) => whyCounterpartyFails(operation, 'receiver_id'),
  item: itemRule({
    leavesContainer: true,
    check: disposable,
    next: (pack, operation) => ({
      ...pack,
      status: 'in_realization',
      transfer: { from: operation.place, to: field(operation, 'receiver_id'), order: 'direct' },
    }),
  }),
};

/** 416, the reverse order: the receiver says what he got; the goods wait for the shipper's confirmation. */
export const receiveOrder: OperationRule = {
  document: (operation) => whyCounterpartyFails(operation, 'shipper_id'),
  item: itemRule({
    leavesContainer: false,
    check(pack, operation) {
      const shipper = operation.world.participantAt(field(operation, 'shipper_id'));
      if (pack.owner === operation.sender.key) return because('already_accepted');
      if (pack.owner !== shipper?.key) return because('other_counterparty');
      if (pack.transfer !== undefined) return because('awaits_acceptance');
      if (pack.status === 'paused_circulation') return because('suspended');
      return pack.status === 'in_circulation' ? undefined : because('wrong_status', pack.status);
    },
    next: (pack, operation) => ({
      ...pack,
      status: 'waiting_confirmation',
      transfer: { from: field(operation, 'shipper_id'), to: operation.place, order: 'reverse' },
    }),
  }),
};

/** Who has to accept a transfer, and who is the other side. */
function sides(transfer: Transfer): { accepter: string; other: string } {
  return transfer.order === 'direct'
    ? { accepter: transfer.to, other: transfer.from }
    : { accepter: transfer.from, other: transfer.to };
}

/** Whether the side, a place or a system id, is this place or its participant. */
export function isSide(operation: Operation, side: string, named: string): boolean {
  if (side === named) return true;
  const participant = operation.world.participantAt(side);
  if (participant === undefined || participant !== operation.world.participantAt(named)) return false;
  return participant.systemId === side || participant.systemId === named;
}

function whyNotAcceptable(pack: PackState, operation: Operation): Reason | undefined {
  const { transfer } = pack;
  if (transfer === undefined)
    return pack.owner === operation.sender.key ? because('already_accepted') : because('not_shipped');
  const { accepter, other } = sides(transfer);
  if (!isSide(operation, accepter, operation.place)) return because('other_receiver');
  if (!isSide(operation, other, field(operation, 'counterparty_id'))) return because('other_counterparty');
  return undefined;
}

/** The receiver of a transfer becomes the owner, at the place where he accepts or said that he got it. */
function newPlace(pack: PackState, operation: Operation): string {
  return pack.transfer?.order === 'reverse' ? pack.transfer.to : operation.place;
}

/** 701: the awaited side accepts. A subset may be accepted, but a logistic unit only whole (public-facts 2.5). */
export const accept: OperationRule = {
  document: (operation) => whyCounterpartyFails(operation, 'counterparty_id'),
  item: itemRule({
    leavesContainer: false,
    check: whyNotAcceptable,
    next(pack, operation) {
      const place = newPlace(pack, operation);
      return {
        ...pack,
        status: 'in_circulation',
        owner: operation.world.participantAt(place)?.key ?? pack.owner,
        place,
        transfer: undefined,
      };
    },
    container(container, operation) {
      const [sgtin] = operation.packs.contentOf(container)?.sgtins ?? [];
      const pack = sgtin === undefined ? undefined : operation.packs.pack(sgtin);
      container.owner = pack?.owner ?? container.owner;
      container.place = pack?.place ?? container.place;
    },
  }),
};

const MOVABLE = ['in_circulation', 'marked', 'expired', 'paused_circulation'] as const;

/** 431: a move between places of the same owner; it needs no acceptance. */
export const movePlace: OperationRule = {
  document(operation) {
    const receiver = field(operation, 'receiver_id');
    if (!operation.sender.branches.includes(receiver)) return because('counterparty_not_own', receiver);
    return receiver === operation.place ? because('same_place', receiver) : undefined;
  },
  item: itemRule({
    leavesContainer: true,
    check: (pack, operation) => disposable(pack, operation, MOVABLE),
    next: (pack, operation) => ({ ...pack, place: field(operation, 'receiver_id') }),
    container(container, operation) {
      container.place = field(operation, 'receiver_id');
    },
  }),
};
