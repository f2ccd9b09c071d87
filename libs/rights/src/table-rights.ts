import type { Role } from './roles.js';

/** What the holders of each role may do with a table, in the words of GRANT. Whoever is not named may do nothing. */
type Rights = Partial<Record<Role, string>>;

const READ = 'SELECT';
const ADD = 'SELECT, INSERT';
const ADD_AND_REMOVE = 'SELECT, INSERT, DELETE';
const KEEP = 'SELECT, INSERT, UPDATE';
const WORK = 'SELECT, INSERT, UPDATE, DELETE';

/** What people may read: a backup is taken of nearly everything, and an inspector reads what holds no secret. */
const PEOPLE: Rights = { backup: READ, inspector: READ };
const ALL_READ: Rights = { gateway: READ, worker: READ, auditor: READ, reconciler: READ, ...PEOPLE };

/** A read model: its projection runs in the worker, and the auditor compares it with what log and evidence give. */
const MODEL: Rights = { ...ALL_READ, worker: KEEP };
/** Rows of a read model that never change. */
const FACTS: Rights = { ...ALL_READ, worker: ADD };
/** What the worker keeps for itself; the gateway shows it. */
const OF_WORKER: Rights = { gateway: READ, worker: WORK, ...PEOPLE };
const OF_GATEWAY: Rights = { gateway: WORK, ...PEOPLE };
/** The gateway tells what was signed, and how often the log was broken off. */
const OF_AUDITOR: Rights = { auditor: ADD, gateway: READ, ...PEOPLE };

/**
 * Every table of every program. A test migrates all schemas and fails where one is missing here. The owner, who
 * migrates, rebuilds and restores, has all rights by owning them, and is not named.
 */
export const TABLE_RIGHTS: Readonly<Record<string, Rights>> = {
  // The log. Nobody writes it but append_batch, and record_host_export by it.
  event: ALL_READ,
  event_counter: ALL_READ,
  event_any: { backup: READ },
  // Where the log lies is settled by whichever program starts first.
  log_place: { gateway: KEEP, worker: KEEP, auditor: KEEP, reconciler: KEEP, ...PEOPLE },
  installation: ALL_READ,
  schema_migration: ALL_READ,
  restoration: { ...ALL_READ, worker: 'SELECT, UPDATE' },
  program_process: { gateway: WORK, worker: WORK, auditor: WORK, reconciler: WORK, ...PEOPLE },
  // Bytes are kept for ever: nobody changes or removes them.
  evidence: { ...ALL_READ, gateway: ADD, worker: ADD },

  // Intake and delivery.
  command: { gateway: ADD, worker: READ, ...PEOPLE },
  group_resumption: { gateway: ADD, worker: READ, ...PEOPLE },
  api_key: { gateway: KEEP, backup: READ },
  webhook: { gateway: WORK, backup: READ },
  outcome_delivery: OF_GATEWAY,
  bus_command: OF_GATEWAY,
  bus_dead_letter: { ...OF_GATEWAY, gateway: ADD_AND_REMOVE },
  bus_outcome: { ...OF_GATEWAY, gateway: ADD_AND_REMOVE },

  // Durable work.
  task_key: { gateway: ADD, worker: WORK, reconciler: ADD, ...PEOPLE },
  task: { gateway: KEEP, worker: WORK, reconciler: WORK, ...PEOPLE },
  call_budget: { ...OF_WORKER, worker: KEEP },
  registry_session: { worker: KEEP },
  upload_link: { worker: WORK, backup: READ },

  // Subscriptions. One table has the checkpoints of all of them.
  checkpoint: { ...ALL_READ, worker: KEEP, auditor: WORK },
  saga_state: OF_WORKER,
  saga_dependent: { ...OF_WORKER, worker: ADD_AND_REMOVE },
  parked_instance: OF_WORKER,
  held_event: { ...OF_WORKER, worker: ADD_AND_REMOVE },
  claim_holder: { ...OF_WORKER, reconciler: READ },
  item_claim: { ...OF_WORKER, worker: ADD_AND_REMOVE, reconciler: READ },
  item_wait: OF_WORKER,
  item_container: OF_WORKER,
  item_operation: { ...OF_WORKER, worker: KEEP },
  item_claim_start: { ...OF_WORKER, worker: READ },

  // What the registry's lists have shown, and what was compared with it.
  list_cursor: { gateway: READ, worker: KEEP, reconciler: READ, ...PEOPLE },
  registry_document: { gateway: READ, worker: KEEP, reconciler: READ, ...PEOPLE },
  reconciliation_request: { gateway: ADD, worker: READ, reconciler: KEEP, ...PEOPLE },
  reconciliation_finding: { gateway: READ, reconciler: ADD_AND_REMOVE, ...PEOPLE },
  segment: { gateway: READ, reconciler: KEEP, ...PEOPLE },
  registry_fetch: { gateway: ADD, worker: KEEP, reconciler: KEEP, ...PEOPLE },
  registry_fetch_asked: { worker: WORK, reconciler: WORK, ...PEOPLE },
  registry_fetch_page: { worker: WORK, reconciler: WORK, ...PEOPLE },

  // The Merkle log. A break begins a new tree, and that empties the old one. The gateway proves its answers from it.
  audit_tree: { auditor: 'SELECT, INSERT, UPDATE, TRUNCATE', ...PEOPLE },
  audit_tile: { ...OF_AUDITOR, auditor: 'SELECT, INSERT, UPDATE, TRUNCATE' },
  audit_page: { ...OF_AUDITOR, auditor: 'SELECT, INSERT, TRUNCATE' },
  audit_count: { ...OF_AUDITOR, auditor: 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE' },
  audit_count_bucket: { ...OF_AUDITOR, auditor: 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE' },
  audit_checkpoint: OF_AUDITOR,
  audit_cosignature: { ...OF_AUDITOR, auditor: KEEP },
  audit_break: { ...OF_AUDITOR, auditor: ADD_AND_REMOVE },

  // Read models.
  document_outcome: MODEL,
  document_outcome_count: MODEL,
  document_open: { ...MODEL, worker: WORK },
  document_group: MODEL,
  inbound_document: MODEL,
  document_timing: MODEL,
  sent_document: MODEL,
  movement_document: MODEL,
  movement_effect: FACTS,
  item_movement: FACTS,
  containment: FACTS,
  pack_state: { ...MODEL, worker: WORK },
  pack_stay: { ...MODEL, worker: WORK },
  place_move: FACTS,
  series_told: FACTS,
  content_question: MODEL,
  reconciliation_case: MODEL,
  access_entry: MODEL,
  suspension: MODEL,
  suspended_list: MODEL,
  // The gateway delivers outcomes, so it removes what was delivered long ago.
  outcome_event: { ...FACTS, gateway: 'SELECT, DELETE' },
  outcome_removed: { ...ALL_READ, gateway: KEEP },
};

/** Who may call a function or procedure. */
export const ROUTINE_RIGHTS: Readonly<Record<string, readonly Role[]>> = {
  append_events: ['gateway', 'worker', 'auditor', 'reconciler'],
  append_batch: ['gateway', 'worker', 'auditor', 'reconciler'],
  // People who read take nothing out unrecorded. It writes this one event, and no other.
  record_host_export: ['backup', 'inspector'],
  task_next_due_ms: ['gateway', 'worker', 'reconciler'],
};

/** Routines that run with the rights of their owner. Each must have a fixed search path. */
export const OWNERS_ROUTINES: readonly string[] = ['append_batch', 'record_host_export'];

export const rightsOn = (table: string, role: Role): string[] => TABLE_RIGHTS[table]?.[role]?.split(', ') ?? [];
