import type { Channel } from 'rabbitmq-client';

/** The names of one installation on a broker that others may share. */
export interface BusNames {
  commands: string;
  /** The queue of dead letters, and the exchange that leads to it. */
  dead: string;
  outcomes: string;
}

export const busNames = (prefix: string): BusNames => ({
  commands: `${prefix}.commands`,
  dead: `${prefix}.commands.dead`,
  outcomes: `${prefix}.outcomes`,
});

/**
 * Looking at a dead letter counts as a delivery, and RabbitMQ 4 drops what was delivered 20 times unless told
 * otherwise; `-1` is not known to older ones.
 */
const NO_LIMIT = 2_000_000_000;

/**
 * Declares what is ours, as often as one likes. Everything is durable; both queues are quorum queues. Dead letters that
 * the broker itself makes are handed over at least once, which wants `reject-publish`. Rejects when something of the
 * name is there with other arguments.
 */
export async function declareTopology(
  channel: Channel,
  names: BusNames,
  { deliveryLimit, withOutcomes }: { deliveryLimit: number; withOutcomes: boolean },
): Promise<void> {
  if (withOutcomes) await channel.exchangeDeclare({ exchange: names.outcomes, type: 'topic', durable: true });
  await channel.exchangeDeclare({ exchange: names.dead, type: 'fanout', durable: true });
  await channel.queueDeclare({
    queue: names.dead,
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': NO_LIMIT },
  });
  await channel.queueBind({ queue: names.dead, exchange: names.dead, routingKey: '' });
  await channel.queueDeclare({
    queue: names.commands,
    durable: true,
    arguments: commandQueueArguments(names, deliveryLimit),
  });
}

/** The broker counts the returns and lets that many pass, so `deliveryLimit` deliveries are one return less. */
const commandQueueArguments = (names: BusNames, deliveryLimit: number): Record<string, string | number> => ({
  'x-queue-type': 'quorum',
  'x-delivery-limit': deliveryLimit - 1,
  'x-dead-letter-exchange': names.dead,
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
});
