import { remedyOf, type CaseState, type KnownCase } from '#domain';
import { defined, neverReached, PedigreeError, requestIdOf, Semaphore } from '#kernel';
import { inTransaction, type Pool } from '#postgres';
import type { CaseAct, CaseLog, ReleasedRemedy } from '#reconciliation';
import { findCommand } from '../intake/command-table.js';
import type { Intake } from '../intake/intake.js';
import type { Resends } from '../resends/resends.js';

export interface ReleaseParts {
  pool: Pool;
  log: CaseLog;
  resends: Pick<Resends, 'resend'>;
  intake: Pick<Intake, 'take'>;
  installationId: string;
}

interface Asked {
  account?: string | undefined;
  act: CaseAct;
}

/** Each holds a connection while it asks for others. */
const turns = new Semaphore(2, 'releases of cases', 64);
const MOST_AT_ONCE = 1_000;
const MOST_USED_IDS = 100;

/**
 * Has the suggested document of a case sent, through the intake like any command. First the case tells it, then the
 * intake takes it: the same again goes on after a crash, and so does `resumeReleases` (decision 120).
 * @throws PedigreeError not_found, case_conflict, and whatever the intake says of the document.
 */
export async function releaseRemedy(parts: ReleaseParts, caseId: string, { account, act }: Asked): Promise<void> {
  await alone(parts, caseId, async () => {
    await parts.log.tellAsItStands(caseId, act, async (state) => {
      const known = mustBeKnown(caseId, state);
      if (known.remedy !== null) return undefined;
      const action = remedyOf(known)?.action;
      if (action === undefined) throw conflict(caseId, whyNone(known));
      const commandId = await unusedId(parts.pool, known);
      const requestId = requestIdOf(parts.installationId, commandId);
      return { type: 'ReleaseRemedy', caseId, action, commandId, requestId, ...defined({ account }) };
    });
    await takeReleased(parts, caseId, act);
  });
}

/** Goes on with what was released and not taken: its gateway died, or the intake had no room. */
export async function resumeReleases(
  parts: ReleaseParts,
  { act, failed }: { act: CaseAct; failed: (caseId: string, error: unknown) => void },
): Promise<void> {
  const { rows } = await parts.pool.query<{ case_id: string }>(
    `SELECT case_id FROM reconciliation_case WHERE remedy_request_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM command WHERE request_id = remedy_request_id::uuid) ORDER BY case_id LIMIT $1`,
    [MOST_AT_ONCE],
  );
  for (const { case_id: caseId } of rows)
    await alone(parts, caseId, () => takeReleased(parts, caseId, act)).catch((error: unknown) => failed(caseId, error));
}

/** Nobody else releases this case meanwhile: what the intake refuses to one, it may take from another. */
const alone = (parts: ReleaseParts, caseId: string, work: () => Promise<void>): Promise<void> =>
  turns.take(() =>
    inTransaction(
      parts.pool,
      async (tx) => {
        await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`release of case ${caseId}`]);
        await work();
      },
      { name: 'release of a case' },
    ),
  );

function mustBeKnown(caseId: string, state: CaseState): KnownCase {
  if (state.phase !== 'absent') return state;
  throw new PedigreeError('not_found', `there is no case ${caseId}`, { field: 'caseId', item: caseId });
}

const whyNone = ({ phase }: KnownCase): string =>
  phase === 'resolved' ? 'it is resolved: reopen it first' : 'no document is suggested for it';

/** A command that has such an id already is not of this release, whoever gave it. */
async function unusedId(pool: Pool, { caseId, remedies }: KnownCase): Promise<string> {
  for (let n = remedies; n < remedies + MOST_USED_IDS; n += 1) {
    const commandId = `case-${caseId}-${n}`;
    if ((await findCommand(pool, { commandId })) === undefined) return commandId;
  }
  throw conflict(caseId, `commands of others have its ids from case-${caseId}-${remedies} on`);
}

const conflict = (caseId: string, why: string): PedigreeError =>
  new PedigreeError('case_conflict', `case ${caseId}: ${why}`, { field: 'caseId', item: caseId });

/** Gives the intake what was released, once. What it refuses is over, and can be released again under another id. */
async function takeReleased(parts: ReleaseParts, caseId: string, act: CaseAct): Promise<void> {
  const released = await parts.log.released(caseId);
  if (released === undefined || (await findCommand(parts.pool, released)) !== undefined) return;
  try {
    await give(parts, released);
  } catch (error) {
    if (error instanceof PedigreeError && error.httpStatus < 500) {
      const { requestId } = released;
      const { at } = act;
      const refused = { outcome: 'not_taken', why: error.message } as const;
      await parts.log.tell({ type: 'ConcludeRemedy', caseId, at, requestId, ...refused }, act);
    }
    throw error;
  }
}

async function give(
  { resends, intake }: ReleaseParts,
  { before, commandId, account: named, actor, reason }: ReleasedRemedy,
): Promise<void> {
  const remedy = remedyOf(before);
  if (remedy === undefined) throw new Error(`case ${before.caseId} was released, and suggested no document`);
  const account = defined({ account: named });
  switch (remedy.action) {
    case 'resend':
      await resends.resend(remedy.requestId, { reason, command_id: commandId, ...account }, actor);
      return;
    case 'unpack': {
      const { container: sscc, place: subject_id } = remedy;
      const { caseId, lastSeen } = before;
      // The moment at which it was found.
      const document = { action_id: 912, subject_id, operation_date: lastSeen.run.moment, sscc: [sscc] };
      const command = { command_id: commandId, type: 'send_document' as const, after: [], document };
      await intake.take({ ...command, ...account, reference: caseId }, actor);
      return;
    }
    default:
      neverReached(remedy, 'remedy');
  }
}
