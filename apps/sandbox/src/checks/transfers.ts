import type { PackState, Trail, Transfer } from '../packs/packs.js';
import { movedTo, PAUSED, RETURNING } from '../packs/trail.js';
import { claims, ships, whyCounterpartyFails } from './blocks.js';
import { disposable, field, itemRule, placeOfSide, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';

/** A return (turnover_type 2 or 3) fails where the goods were received by 702 (public-facts 3.2). */
function whyNotReturnable({ trail, owner }: PackState, operation: Operation): Reason | undefined {
  if (!['2', '3'].includes(field(operation, 'turnover_type'))) return undefined;
  const isOwnStep = (step: Trail) => step.state.owner === owner;
  for (let step = trail; step !== undefined && isOwnStep(step); step = step.previous)
    if (step.change.docType === 702) return because('posted');
  return undefined;
}

/** 415: the sender ships; the goods stay his, in_realization, until the receiver accepts them (public-facts 2.5). */
export const moveOrder = ships({
  status: 'in_realization',
  check: (pack, operation) => disposable(pack, operation) ?? whyNotReturnable(pack, operation),
});

/** 416, the reverse order: the receiver says what he got; the goods wait for the shipper's confirmation. */
export const receiveOrder = claims();

/** 417: suspended goods go back, and what a 391 brought back as of bad quality (public-facts 3.2). */
export const moveReturn = ships({
  status: RETURNING,
  accepted: PAUSED,
  check: (pack, operation) => disposable(pack, operation, pack.flawed === true ? [PAUSED, 'in_circulation'] : [PAUSED]),
});

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
function newPlace({ transfer }: PackState, { world, place }: Operation): string {
  if (transfer?.order === 'reverse') return placeOfSide(world, transfer.to);
  const isPlace = world.participantAt(place)?.systemId !== place;
  return isPlace ? place : placeOfSide(world, transfer?.to ?? place);
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
        ...movedTo(pack, pack.transfer?.accepted ?? 'in_circulation'),
        flawed: undefined,
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

export const MOVABLE = ['in_circulation', 'marked', 'expired', PAUSED] as const;

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
