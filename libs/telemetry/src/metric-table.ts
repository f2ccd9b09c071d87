/** A metric as Prometheus shows it. Units are the last word of a name: seconds, ratio, events; `_total` counts up. */
export interface MetricEntry {
  kind: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels: readonly string[];
  /** Upper bounds of a histogram, in seconds. */
  buckets?: readonly number[];
}

const QUICK_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SLOW_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Every metric of every program: the one place that dashboards and alert rules are checked against. No label takes
 * values without a limit: accounts, methods and lanes are configured, types are few, and no document, pack or person
 * is ever a label.
 */
export const METRICS = {
  pedigree_info: { kind: 'gauge', help: 'Always 1; what runs is in the labels.', labels: ['version', 'profile'] },
  pedigree_need_up: {
    kind: 'gauge',
    help: '1 while a service that this program needs answers, else 0.',
    labels: ['need'],
  },
  pedigree_degraded: {
    kind: 'gauge',
    help: '1 for what degrades the readiness of this program, by the name that readiness has for it.',
    labels: ['trouble'],
  },

  pedigree_commands_total: {
    kind: 'counter',
    help: 'Commands by where they came from and what was answered: acknowledged, repeated, refused, unavailable.',
    labels: ['source', 'result'],
  },
  pedigree_command_seconds: {
    kind: 'histogram',
    help: 'From the arrival of a command to its acknowledgement or refusal.',
    labels: ['source'],
    buckets: QUICK_SECONDS,
  },
  pedigree_bus_connected: { kind: 'gauge', help: '1 while the message bus answers, else 0.', labels: [] },
  pedigree_bus_blocked: {
    kind: 'gauge',
    help: '1 while the broker takes no messages because its memory or disk is full, else 0.',
    labels: [],
  },
  pedigree_bus_commands_waiting: { kind: 'gauge', help: 'Commands that wait on the bus to be taken.', labels: [] },
  pedigree_dead_letters: {
    kind: 'gauge',
    help: 'Messages that were put aside with a reason and wait for a person.',
    labels: [],
  },
  pedigree_outcomes_unpublished: {
    kind: 'gauge',
    help: 'Outcomes in the outbox that the bus has not confirmed yet.',
    labels: [],
  },
  pedigree_outcomes_oldest_unpublished_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest outcome that the bus has not confirmed yet; 0 when there is none.',
    labels: [],
  },
  pedigree_webhooks_failing_seconds: {
    kind: 'gauge',
    help: 'How long a webhook has taken nothing, though it was tried; of the one that fails longest, 0 when none does.',
    labels: [],
  },
  pedigree_webhooks_oldest_waiting_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest outcome that a webhook lacks, of those in use; 0 when none lacks any.',
    labels: [],
  },
  pedigree_webhooks_halted: { kind: 'gauge', help: 'Webhooks that were given up and wait for a person.', labels: [] },

  pedigree_api_keys_refused_total: {
    kind: 'counter',
    help: 'Calls with an API key that was refused, by why: unknown, malformed, revoked, expired, suspended.',
    labels: ['reason'],
  },
  pedigree_api_keys_suspended: {
    kind: 'gauge',
    help: 'API keys that wait for somebody to confirm them after a restore.',
    labels: [],
  },
  pedigree_api_key_expires_seconds: {
    kind: 'gauge',
    help: 'Time until the first of the valid API keys expires; absent while none is valid.',
    labels: [],
  },

  pedigree_segment_newest_seconds: {
    kind: 'gauge',
    help: 'How long ago the log recorded the last document of the newest segment; absent while there is none.',
    labels: [],
  },

  pedigree_documents: {
    kind: 'gauge',
    help: 'Documents by phase; concluded ones by outcome too.',
    labels: ['phase', 'outcome'],
  },
  pedigree_documents_oldest_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest unconcluded document of a phase: since it was sent, else since its registration.',
    labels: ['phase'],
  },
  pedigree_documents_unconfirmed_seconds: {
    kind: 'gauge',
    help: 'For how long nothing was learnt of a send of unknown outcome, of the longest; 0 when there is none.',
    labels: [],
  },
  pedigree_documents_duplicate: {
    kind: 'gauge',
    help: 'Documents of which the registry holds, or held, more than one: they stay counted. A rise is an alarm.',
    labels: [],
  },
  pedigree_documents_not_understood: {
    kind: 'gauge',
    help: 'Documents of others, seen in seven days, of a type that is not known. Anything but 0 is an alarm.',
    labels: [],
  },
  pedigree_inbound_documents_given_up: {
    kind: 'gauge',
    help: 'Documents of others, given up in seven days: without bytes or receipt, or with what cannot be read.',
    labels: [],
  },
  pedigree_inbound_documents_oldest_seconds: {
    kind: 'gauge',
    help: 'How long ago the oldest document of others without an end was first seen; 0 when there is none.',
    labels: [],
  },
  pedigree_documents_orphaned: {
    kind: 'gauge',
    help: 'Unconcluded documents and groups that nothing carries on. Anything but 0 is an alarm.',
    labels: [],
  },
  pedigree_documents_held: {
    kind: 'gauge',
    help: 'Documents and groups that are held: by what they come after, their packs, a suspension or a person.',
    labels: [],
  },
  pedigree_documents_held_oldest_seconds: {
    kind: 'gauge',
    help: 'For how long the oldest of them is held; 0 when there is none.',
    labels: [],
  },
  pedigree_documents_held_overdue: {
    kind: 'gauge',
    help: 'Those held for longer than PEDIGREE_HELD_ALERT_HOURS: somebody has to release or end them.',
    labels: [],
  },
  pedigree_container_contents_total: {
    kind: 'counter',
    help: 'What came of asking for contents of containers: told, withheld, given_up, over_limit (not asked).',
    labels: ['result'],
  },
  pedigree_container_contents_unknown: {
    kind: 'gauge',
    help: 'Containers that came to us and whose content is not known: asked, or unavailable (given up).',
    labels: ['standing'],
  },
  pedigree_deadlines_near: {
    kind: 'gauge',
    help: 'Documents that are due within PEDIGREE_DEADLINE_ALERT_HOURS and not sent, or not answered.',
    labels: ['role', 'doc_type'],
  },
  pedigree_deadlines_breached: {
    kind: 'gauge',
    help: 'Documents that are not sent, or not answered, and whose due moment has passed; incoming ones for 30 days.',
    labels: ['role', 'doc_type'],
  },
  pedigree_deadlines_unknown: {
    kind: 'gauge',
    help: '1 for a type of the last seven days of which no calendar tells when it is due, with why.',
    labels: ['role', 'doc_type', 'why'],
  },
  pedigree_cases_unresolved: {
    kind: 'gauge',
    help: 'Cases of reconciliations that are not resolved.',
    labels: ['severity'],
  },
  pedigree_cases_overdue: {
    kind: 'gauge',
    help: 'Cases that are open or acknowledged, and whose due moment has passed.',
    labels: ['severity'],
  },
  pedigree_document_list_unread_seconds: {
    kind: 'gauge',
    help: 'For how long a document list was not read whole: refused, not to its end, or with entries not understood.',
    labels: ['account', 'list'],
  },
  pedigree_suspended_list_age_seconds: {
    kind: 'gauge',
    help: 'Age of the older of the newest lists, of suspended packs and of decisions; where none came, of the watch.',
    labels: [],
  },
  pedigree_suspended_list_doubted: {
    kind: 'gauge',
    help: '1 while the newest version of one of these lists is doubted and nobody has confirmed it.',
    labels: [],
  },
  pedigree_suspension_decisions_not_understood: {
    kind: 'gauge',
    help: 'Entries of the newest lists, of suspended packs and of decisions, that nobody understands.',
    labels: [],
  },
  pedigree_tasks_ready: { kind: 'gauge', help: 'Tasks of a lane that wait, due or not.', labels: ['lane'] },
  pedigree_tasks_overdue: { kind: 'gauge', help: 'Tasks of a lane that are due and not begun.', labels: ['lane'] },
  pedigree_task_lag_seconds: {
    kind: 'gauge',
    help: 'For how long the oldest due task of a lane has waited.',
    labels: ['lane'],
  },
  pedigree_tasks_failed: { kind: 'gauge', help: 'Tasks that were given up and wait for a person.', labels: [] },
  pedigree_saga_instances_parked: {
    kind: 'gauge',
    help: 'Instances of a saga that one of their events stopped, and that wait for a person.',
    labels: ['saga'],
  },
  pedigree_subscription_lag_events: {
    kind: 'gauge',
    help: 'How far a subscription is behind the log: events with PostgreSQL, log positions with EventStoreDB.',
    labels: ['subscription'],
  },
  pedigree_subscription_lag_seconds: {
    kind: 'gauge',
    help: 'For how long a subscription that is behind has not moved; 0 when it is not behind.',
    labels: ['subscription'],
  },
  pedigree_subscription_processes: {
    kind: 'gauge',
    help: 'Processes that run a subscription or stand by. 0: nobody runs it.',
    labels: ['subscription'],
  },
  pedigree_subscription_halted: {
    kind: 'gauge',
    help: '1 while a subscription stands at an event and a person must look, else 0.',
    labels: ['subscription'],
  },
  pedigree_audit_contradicted: {
    kind: 'gauge',
    help: '1 while the log contradicts what the auditor has signed, and nothing is sealed, else 0.',
    labels: [],
  },
  pedigree_audit_first_differing_leaf: {
    kind: 'gauge',
    help: 'The first leaf of the Merkle log that is not the event it was; absent while none is known.',
    labels: [],
  },
  pedigree_audit_witness_size: {
    kind: 'gauge',
    help: 'Leaves of the newest checkpoint that a witness has cosigned, by the name of the witness.',
    labels: ['witness'],
  },
  pedigree_audit_witness_refused: {
    kind: 'gauge',
    help: '1 while a witness knows another or a larger tree than the auditor, else 0, by the name of the witness.',
    labels: ['witness'],
  },
  pedigree_audit_unwitnessed_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest checkpoint that too few witnesses have cosigned, as the policy says; 0 when none is.',
    labels: [],
  },
  pedigree_witness_size: {
    kind: 'gauge',
    help: 'At a witness: leaves of the newest checkpoint that it cosigned, by the name of the log.',
    labels: ['log'],
  },
  pedigree_witness_contradicted: {
    kind: 'gauge',
    help: 'At a witness: 1 once a log has signed what does not follow from what was cosigned, by the name of the log.',
    labels: ['log'],
  },
  pedigree_witness_answers_total: {
    kind: 'counter',
    help: 'At a witness: answered requests for a cosignature, by HTTP status.',
    labels: ['status'],
  },
  pedigree_audit_findings: {
    kind: 'gauge',
    help: 'What sweeps found and is not mended, by what it is: event, tile, evidence, read_model and others.',
    labels: ['what'],
  },
  pedigree_audit_not_compared: {
    kind: 'gauge',
    help: 'Read models, or counts of streams, of which the last sweep did not compare everything.',
    labels: [],
  },
  pedigree_audit_sweep_passes: {
    kind: 'gauge',
    help: 'Number of the last sweep over log, evidence and read models that came to its end; 0 before the first.',
    labels: [],
  },
  pedigree_audit_sweep_age_seconds: {
    kind: 'gauge',
    help: 'How long ago that sweep ended; before the first one, how long the auditor runs.',
    labels: [],
  },
  pedigree_audit_sweep_late_seconds: {
    kind: 'gauge',
    help: 'For how long the next sweep has been due (AUDIT_SWEEP_HOURS) without an end; absent where none is wanted.',
    labels: [],
  },
  pedigree_audit_sweep_done_ratio: {
    kind: 'gauge',
    help: 'How much of the sweep that is under way is done, about; absent between two sweeps.',
    labels: [],
  },
  pedigree_program_processes: {
    kind: 'gauge',
    help: 'Processes of a program that are there, by the name of the program. 0: it should run and does not.',
    labels: ['name'],
  },

  pedigree_registry_calls_total: {
    kind: 'counter',
    help: 'Calls at the registry by what they brought.',
    labels: ['account', 'method', 'result'],
  },
  pedigree_registry_rate_limited_total: {
    kind: 'counter',
    help: 'Calls that the registry refused with 429.',
    labels: ['account', 'method'],
  },
  pedigree_registry_interval_seconds: {
    kind: 'gauge',
    help: 'The least interval between two calls that is in force.',
    labels: ['account', 'method'],
  },
  pedigree_registry_budget_used_ratio: {
    kind: 'gauge',
    help: "This process's calls x interval / time from its first to its last call.",
    labels: ['account', 'method'],
  },
  pedigree_registry_calls_per_document: {
    kind: 'gauge',
    help: 'Calls of this process for each document that it concluded.',
    labels: [],
  },
  pedigree_registry_token_age_seconds: { kind: 'gauge', help: 'Age of the token in use.', labels: ['account'] },
  pedigree_certificate_expires_seconds: {
    kind: 'gauge',
    help: "Time until the signer's certificate ends.",
    labels: ['account'],
  },
  pedigree_account_paused: {
    kind: 'gauge',
    help: '1 for an account through which nothing is sent until a person resumes it, with the cause.',
    labels: ['account', 'cause'],
  },
  pedigree_tasks_done_total: {
    kind: 'counter',
    help: 'Tasks of this process by how they ended: done, retry, failed, threw.',
    labels: ['kind', 'result'],
  },
  pedigree_task_seconds: {
    kind: 'histogram',
    help: 'How long a task was worked on, waiting for its slot included.',
    labels: ['kind'],
    buckets: SLOW_SECONDS,
  },
} as const satisfies Record<string, MetricEntry>;

export type MetricName = keyof typeof METRICS;
/** Names of the metrics of one kind. */
export type MetricOf<Kind extends MetricEntry['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];
/** Gauges without labels. */
export type PlainGauge = {
  [Name in MetricOf<'gauge'>]: (typeof METRICS)[Name]['labels'] extends readonly [] ? Name : never;
}[MetricOf<'gauge'>];
/** The labels of a metric, all of them. */
export type LabelsOf<Name extends MetricName> = Record<(typeof METRICS)[Name]['labels'][number], string>;
