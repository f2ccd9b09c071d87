import type { MessageBus } from '#bus';
import { SOFTWARE_VERSION, type EventStore } from '#event-store';
import type { EvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { TokenCipher } from '#registry-client';
import { runRemovals } from '#retention';
import type { ServiceLog } from '#service';
import type { GatewayConfig } from '../config.js';
import { AddressRules } from '../webhooks/addresses.js';
import { runWebhooks } from '../webhooks/run-webhooks.js';
import { Webhooks } from '../webhooks/webhooks.js';
import { AMQP_GONE_MINUTES } from './delivery-table.js';
import { OutcomeNotifier } from './outcome-notifier.js';
import type { DeliveryOptions } from './delivery.js';
import { Outcomes } from './outcomes.js';
import { runPublisher } from './publisher.js';
import { deadLetterRemoval } from './dead-letter-removal.js';
import { outcomeRemoval } from './retention.js';

export interface StartOutcomesOptions {
  pool: Pool;
  store: EventStore;
  evidence: EvidenceStore;
  bus: Pick<MessageBus, 'publishOutcomes'>;
  config: Pick<
    GatewayConfig,
    'bus' | 'encryptionKey' | 'outcomesKeptMs' | 'deadLettersKeptDays' | 'webhookAllowed' | 'participant' | 'profile'
  >;
  log: Pick<ServiceLog, 'error' | 'warn'>;
}

/** The way out to the ERP, under way. */
export interface OutcomesSide {
  outcomes: Outcomes;
  webhooks: Webhooks;
  /** Answers whoever waits, finishes in-flight work, releases its turns. */
  stop(): Promise<void>;
}

/**
 * Starts all that brings outcomes to the ERP: the bus, the webhooks, the feed, and the removal of what everybody has.
 */
export function startOutcomes({ pool, store, evidence, bus, config, log }: StartOutcomesOptions): OutcomesSide {
  const { participant, profile, encryptionKey } = config;
  const stopping = new AbortController();
  const { signal } = stopping;
  const notifier = new OutcomeNotifier({ pool });
  const rules = new AddressRules(config.webhookAllowed);
  const cipher = encryptionKey && new TokenCipher(encryptionKey);
  const report = reportTo(log);
  const removals = [
    outcomeRemoval({ keptMs: config.outcomesKeptMs }),
    deadLetterRemoval({ keptDays: config.deadLettersKeptDays, log }),
  ];
  const via = config.bus.amqpUrl === undefined ? 'embedded' : 'amqp';
  const reportStandsBack = (): void => log.warn({ name: 'bus' }, STANDS_BACK);
  const running = [
    runPublisher({ pool, notifier, bus, via, signal, report, reportStandsBack }),
    runWebhooks({ pool, notifier, rules, cipher, softwareVersion: SOFTWARE_VERSION, signal, report }),
    runRemovals({
      pool,
      removals,
      signal,
      report: (table, err) => log.warn({ err, table }, 'could not remove old rows'),
    }),
  ];
  return {
    outcomes: new Outcomes({ pool, store, evidence, notifier }),
    webhooks: new Webhooks({ pool, store, rules, cipher, participant, softwareVersion: SOFTWARE_VERSION, profile }),
    stop: async () => {
      stopping.abort();
      await notifier.close();
      await Promise.all(running);
    },
  };
}

const STANDS_BACK =
  `publishes no outcomes: a gateway with RabbitMQ did within ${AMQP_GONE_MINUTES} minutes, and this one has no ` +
  'AMQP_URL. Give all the same; where RabbitMQ was given up, this one goes on by itself';

const reportTo =
  (log: StartOutcomesOptions['log']): DeliveryOptions['report'] =>
  ({ halted, ...problem }) => {
    if (halted) log.error(problem, 'publishing outcomes is suspended until somebody resumes it');
    else log.warn(problem, 'could not publish outcomes');
  };
