import type { Pool } from '#postgres';
import type { MessageBus } from './port.js';
import { PostgresBus } from './postgres/postgres-bus.js';
import { RabbitMqBus } from './rabbitmq/rabbitmq-bus.js';

export interface BusOptions {
  /** Absent: the embedded bus, on the pool's database. */
  amqpUrl?: string;
  /** Begins the names of our queues and exchanges on the broker. */
  prefix: string;
  deliveryLimit: number;
  pool: Pool;
  connectionName: string;
  report(problem: string): void;
}

/** The bus of this installation. */
export function openBus({ amqpUrl, pool, prefix, deliveryLimit, connectionName, report }: BusOptions): MessageBus {
  return amqpUrl === undefined
    ? new PostgresBus({ pool, deliveryLimit, report })
    : new RabbitMqBus({ url: amqpUrl, prefix, deliveryLimit, connectionName, report });
}
