import { remedyOf, type KnownCase, type Remedy } from '#domain';
import type { Actor } from '#event-store';
import { neverReached, PedigreeError, requestIdOf } from '#kernel';
import type { CaseAct, CaseLog } from '#reconciliation';
import type { Intake } from '../intake/intake.js';
import type { Resends } from '../resends/resends.js';

export interface ReleaseParts {
  log: CaseLog;
  resends: Pick<Resends, 'resend'>;
  intake: Pick<Intake, 'take'>;
  installationId: string;
}

interface Asked {
  account?: string | undefined;
  act: CaseAct;
  actor: Actor;
  reason: string;
}

/**
 * Has the suggested document of a case sent, through the intake like any command. Its command id follows from the case,
 * so that the same again after a crash is the same command.
 * @throws PedigreeError not_found, case_conflict, and whatever the intake says of the document.
 */
export async function releaseRemedy(parts: ReleaseParts, caseId: string, asked: Asked): Promise<void> {
  const known = await parts.log.find(caseId);
  if (known === undefined)
    throw new PedigreeError('not_found', `there is no case ${caseId}`, { field: 'caseId', item: caseId });
  if (known.remedy !== null) return;
  const remedy = remedyOf(known);
  if (remedy === undefined)
    throw new PedigreeError('case_conflict', `case ${caseId}: ${whyNone(known)}`, { field: 'caseId', item: caseId });
  const commandId = `case-${caseId}-${known.remedies}`;
  const requestId = await give(parts, { remedy, known, commandId }, asked).catch((error: unknown) => {
    // It was taken before, and the case was found again since, or another account is named now: that command stands.
    if (error instanceof PedigreeError && error.code === 'command_conflict')
      return requestIdOf(parts.installationId, commandId);
    throw error;
  });
  const { action } = remedy;
  await parts.log.tell({ type: 'ReleaseRemedy', caseId, action, commandId, requestId }, asked.act);
}

const whyNone = ({ phase }: KnownCase): string =>
  phase === 'resolved' ? 'it is resolved: reopen it first' : 'no document is suggested for it';

async function give(
  { resends, intake }: ReleaseParts,
  { remedy, known, commandId }: { remedy: Remedy; known: KnownCase; commandId: string },
  { account, actor, reason }: Asked,
): Promise<string> {
  switch (remedy.action) {
    case 'resend': {
      const body = { reason, command_id: commandId, ...(account === undefined ? {} : { account }) };
      return (await resends.resend(remedy.requestId, body, actor)).requestId;
    }
    case 'unpack': {
      const { container: sscc, place: subject_id } = remedy;
      // The moment at which it was found: the same again has the same bytes.
      const document = { action_id: 912, subject_id, operation_date: known.lastSeen.run.moment, sscc: [sscc] };
      const command = { command_id: commandId, type: 'send_document' as const, after: [], document };
      const given = { ...command, ...(account === undefined ? {} : { account }), reference: known.caseId };
      return (await intake.take(given, actor)).requestId;
    }
    default:
      return neverReached(remedy, 'remedy');
  }
}
