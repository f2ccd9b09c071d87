/**
 * What a backup does with a table. `log`: the events up to the backup's head. `evidence`: everything; rows are never
 * deleted. `state`: as it stood at that head, all from one snapshot. `rebuilt`: a read model, filled again from log and
 * evidence. `left out`: not in the backup, for the reason given.
 */
type TableUse = 'log' | 'evidence' | 'state' | 'rebuilt' | 'left out';

interface TableEntry {
  use: TableUse;
  because: string;
  /** A condition on the rows that are taken; without it all are. */
  rows?: string;
  /** A column whose length tells how heavy a row is: a page ends after so many bytes of it. */
  weight?: string;
  /** Run after the rows were loaded: what only the old processes and the old clock gave a meaning. */
  afterLoad?: string;
}

const readModel = (because: string): TableEntry => ({ use: 'rebuilt', because });

/**
 * Every table of every program, in the order in which rows go back. A test migrates all schemas and fails where one is
 * missing here.
 */
export const TABLES: Readonly<Record<string, TableEntry>> = {
  installation: {
    use: 'state',
    because: 'its id is the namespace of every request_id: with another one a replay would make second documents',
  },
  log_place: { use: 'state', because: 'checkpoints count in the positions of this log' },
  event_counter: { use: 'state', because: 'the head of the log; the backup holds the events up to it' },
  event_any: { use: 'state', because: 'recognises repeated appends without an expected version' },
  command: { use: 'state', because: 'a command that the ERP repeats is known by it' },
  group_resumption: { use: 'state', because: 'a halted group is resumed once' },
  task_key: { use: 'state', because: 'no task is scheduled twice' },
  task: {
    use: 'state',
    because: 'what is to be done',
    weight: 'payload',
    afterLoad: `UPDATE task SET lease_until = clock_timestamp() WHERE lease_until > '-infinity'`,
  },
  saga_state: { use: 'state', because: 'what sagas remember', weight: 'state' },
  claim_holder: { use: 'state', because: 'documents that claim items, and whether their first send is planned' },
  item_claim: { use: 'state', because: 'which document claims which items' },
  item_wait: { use: 'state', because: 'which document waits for which by its items' },
  item_container: { use: 'state', because: 'which container each item is in, for claims' },
  item_operation: { use: 'state', because: 'which document a recall names, for claims' },
  item_claim_start: { use: 'state', because: 'where the version before ended, for claims' },
  saga_dependent: { use: 'state', because: 'who waits for an instance of a saga' },
  parked_instance: { use: 'state', because: 'what of a saga stands until somebody has it tried again' },
  held_event: { use: 'state', because: 'which events wait behind that' },
  checkpoint: {
    use: 'state',
    because: 'how far sagas and the auditor have come; projections begin anew, as their tables do',
    // As libs/subscriptions names them (projectionCheckpoint).
    rows: `name NOT LIKE 'projection:%'`,
    afterLoad: 'UPDATE checkpoint SET holder = NULL, held_until = NULL',
  },
  list_cursor: {
    use: 'state',
    because: 'how far the document lists were read: the comparison begins there',
    afterLoad: 'UPDATE list_cursor SET read_at = NULL',
  },
  registry_document: { use: 'state', because: 'what the document lists have shown' },
  segment: {
    use: 'left out',
    because: 'its files are not in the backup; both are written again from the tables of movements',
  },
  reconciliation_request: { use: 'state', because: 'which runs were asked for, by whom and why' },
  reconciliation_finding: { use: 'state', because: 'what runs have found', weight: 'finding' },
  registry_fetch: {
    use: 'state',
    because: 'which readings of the registry were asked for: their tasks are known as scheduled',
    afterLoad:
      `UPDATE registry_fetch SET phase = 'failed', failed_phase = NULL, problem = 'a backup was restored, which has ` +
      `nothing of what it had read: ask again' WHERE phase NOT IN ('failed', 'gathered') OR failed_phase IS NOT NULL`,
  },
  registry_fetch_asked: { use: 'left out', because: 'what that reading asks for' },
  registry_fetch_page: { use: 'left out', because: 'what that reading brought, until it lies in a snapshot' },
  upload_link: { use: 'state', because: 'where a large document goes up; encrypted with the installation’s key' },
  api_key: { use: 'state', because: 'who may call the API (hashes)' },
  webhook: { use: 'state', because: 'where outcomes are posted; secrets encrypted with the installation’s key' },
  outcome_delivery: {
    use: 'state',
    because: 'how far each way out has come',
    afterLoad: 'UPDATE outcome_delivery SET holder = NULL, held_until = NULL',
  },
  bus_command: {
    use: 'state',
    because: 'messages of the embedded bus that wait',
    weight: 'body',
    afterLoad: 'UPDATE bus_command SET available_at = least(available_at, clock_timestamp())',
  },
  bus_dead_letter: { use: 'state', because: 'messages that were put aside', weight: 'body' },
  bus_outcome: { use: 'state', because: 'what the embedded bus has published', weight: 'body' },
  audit_tree: { use: 'state', because: 'the Merkle tree over the log, as far as it was sealed' },
  audit_tile: { use: 'state', because: 'its hashes' },
  audit_page: { use: 'state', because: 'its leaves' },
  audit_count: { use: 'state', because: 'how far the events of each stream are counted, and what was signed of it' },
  audit_count_bucket: { use: 'state', because: 'its counts' },
  audit_checkpoint: { use: 'state', because: 'what was signed and may have been given away' },
  audit_cosignature: { use: 'state', because: 'what witnesses said of it, which they may not say again' },
  audit_break: { use: 'state', because: 'where a person said that the log does not go on from what was signed' },
  evidence: { use: 'evidence', because: 'bytes that events name', weight: 'content' },
  event: { use: 'log', because: 'the log itself', weight: 'data' },
  document_outcome: readModel('documents'),
  document_outcome_count: readModel('documents, counted'),
  document_open: readModel('documents, the phase of those without an outcome'),
  document_group: readModel('groups'),
  inbound_document: readModel('documents of others'),
  document_timing: readModel('the moments of documents, for deadlines'),
  sent_document: readModel('packs: documents under way'),
  movement_document: readModel('packs: documents'),
  movement_effect: readModel('packs: effects'),
  item_movement: readModel('packs: movements'),
  containment: readModel('packs: containers'),
  content_question: readModel('packs: contents that were asked for'),
  pack_state: readModel('packs: their state'),
  pack_stay: readModel('packs: what happened to containers'),
  place_move: readModel('packs: moves of whole places'),
  series_told: readModel('packs: series and expiry'),
  reconciliation_case: readModel('cases'),
  access_entry: readModel('who did what'),
  suspension: readModel('suspensions'),
  suspended_list: readModel('suspensions: versions of the list'),
  outcome_event: readModel('what the ERP is told'),
  outcome_removed: readModel('up to where that was removed: after a rebuild nothing is'),
  registry_session: {
    use: 'left out',
    because: 'a token must not outlive its machine in a file; each account signs in again',
  },
  call_budget: {
    use: 'left out',
    because: 'moments of the old server’s clock; the profile’s intervals hold until new ones are learnt',
  },
  schema_migration: { use: 'left out', because: 'a restore applies the migrations that the backup names' },
  program_process: {
    use: 'left out',
    because: 'who ran when the backup was taken; those that start say so themselves',
  },
  restoration: { use: 'left out', because: 'restores of the old database; the log tells of them' },
};

export const tablesOf = (...uses: TableUse[]): string[] =>
  Object.entries(TABLES).flatMap(([name, { use }]) => (uses.includes(use) ? [name] : []));
