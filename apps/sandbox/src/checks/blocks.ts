import type { PackState } from '../packs/packs.js';
import { PAUSED } from '../packs/trail.js';
import { disposable, field, itemRule, placeOfSide, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';

/** The counterparty must be a known participant and not the sender. */
export function whyCounterpartyFails(operation: Operation, name: string): Reason | undefined {
  const counterparty = field(operation, name);
  const participant = operation.world.participantAt(counterparty);
  if (participant === undefined) return because('unknown_counterparty', counterparty);
  return participant.key === operation.sender.key ? because('counterparty_is_own', counterparty) : undefined;
}

/** The status that the pack had before. */
export const AS_BEFORE = Symbol('as before');

/** What is noted in a transfer beside its sides; nothing for goods in circulation. */
const terms = (pack: PackState, accepted: string | typeof AS_BEFORE | undefined) => ({
  ...(pack.status === 'in_circulation' ? {} : { was: pack.status }),
  ...(accepted === undefined ? {} : { accepted: accepted === AS_BEFORE ? pack.status : accepted }),
});

interface Shipping {
  /** Field of the receiver. */
  to?: string;
  from?: readonly string[];
  status: string;
  /** At the receiver, when he accepts; in_circulation when absent. */
  accepted?: string | typeof AS_BEFORE;
  check?(pack: PackState, operation: Operation): Reason | undefined;
}

/** The owner ships; the goods stay his until the receiver accepts them (public-facts 2.5). */
export function ships({ to = 'receiver_id', from, status, accepted, check = disposable }: Shipping): OperationRule {
  return {
    document: (operation) => whyCounterpartyFails(operation, to),
    item: itemRule({
      leavesContainer: true,
      check: (pack, operation) => (from === undefined ? check(pack, operation) : disposable(pack, operation, from)),
      next: (pack, operation) => ({
        ...pack,
        status,
        transfer: { from: operation.place, to: field(operation, to), order: 'direct', ...terms(pack, accepted) },
      }),
    }),
  };
}

/** The receiver says what he got; the goods wait for the owner's confirmation. */
export const claims = ({
  from = ['in_circulation'],
  accepted,
}: {
  from?: readonly string[];
  accepted?: string;
} = {}): OperationRule => ({
  document: (operation) => whyCounterpartyFails(operation, 'shipper_id'),
  item: itemRule({
    leavesContainer: false,
    check: (pack, operation) => whyNotOfShipper(pack, operation, { from }),
    next: (pack, operation) => ({
      ...pack,
      status: 'waiting_confirmation',
      transfer: {
        from: field(operation, 'shipper_id'),
        to: operation.place,
        order: 'reverse',
        ...terms(pack, accepted),
      },
    }),
  }),
});

const shipperOf = (operation: Operation): string | undefined =>
  operation.world.participantAt(field(operation, 'shipper_id'))?.key;

/** A pack that another owns, the shipper where the document names one, and may give away. */
export function whyNotOfShipper(
  pack: PackState,
  operation: Operation,
  { from, shipper = shipperOf(operation) }: { from: readonly string[]; shipper?: string | undefined },
): Reason | undefined {
  if (pack.owner === operation.sender.key) return because('already_accepted');
  if (pack.owner !== shipper) return because('other_counterparty');
  if (pack.transfer !== undefined) return because('awaits_acceptance');
  if (pack.status === PAUSED) return because('suspended');
  return from.includes(pack.status) ? undefined : because('wrong_status', pack.status);
}

interface Becoming {
  from: readonly string[];
  to: string | ((pack: PackState, operation: Operation) => string);
  /** The owner's goods, wherever they lie; they are then at the subject's place. */
  arrives?: boolean;
  leaves?: boolean;
  document?(operation: Operation): Reason | undefined;
}

/** The owner's packs become something else. */
export function becomes({ from, to, arrives = false, leaves = false, document }: Becoming): OperationRule {
  const placeOf = ({ place }: { place: string }, operation: Operation) =>
    arrives ? placeOfSide(operation.world, operation.place) : place;
  return {
    ...(document === undefined ? {} : { document }),
    item: itemRule({
      leavesContainer: leaves || 'stays',
      check: (pack, operation) =>
        disposable(pack, arrives ? { ...operation, place: operation.sender.systemId } : operation, from),
      next: (pack, operation) => ({
        ...pack,
        status: typeof to === 'string' ? to : to(pack, operation),
        place: placeOf(pack, operation),
      }),
      container(container, operation) {
        container.place = placeOf(container, operation);
      },
    }),
  };
}
