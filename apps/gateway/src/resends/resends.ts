import { firstCommandOf } from '#domain';
import type { Actor } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, PedigreeError } from '#kernel';
import type { z } from 'zod';
import type { CommandBody } from '../intake/command-body.js';
import { findResend } from '../intake/command-table.js';
import { WHERE_IT_STAYS } from '../intake/halted-group.js';
import type { Acknowledgement, Intake } from '../intake/intake.js';
import { findDocument, mayTurn, type FoundDocument, type MayTurnOptions } from './may-turn.js';
import type { resendBody } from './resend-body.js';

export interface ResendsOptions extends MayTurnOptions {
  evidence: EvidenceStore;
  intake: Pick<Intake, 'take'>;
}

/**
 * Documents that ended rejected or failed, sent again by an operator (registry-interface 7.2): as they were but for a
 * new session_ui, or corrected, as another document with a request_id of its own, through the intake like any command.
 * A document is sent again once; what follows is done to its successor.
 */
export class Resends {
  constructor(private readonly options: ResendsOptions) {}

  /**
   * A repeat of the same call is a no-op. @throws PedigreeError not_found, not_resendable, command_conflict, and
   * whatever the intake says of the document.
   */
  async resend(requestId: string, asked: z.output<typeof resendBody>, actor: Actor): Promise<Acknowledgement> {
    const found = await findDocument(this.options, requestId);
    if (found === undefined)
      throw new PedigreeError('not_found', `no document has request_id ${requestId}`, {
        field: 'requestId',
        item: requestId,
      });
    const { registration } = found.state;
    const command_id = asked.command_id ?? `resend-${requestId}`;
    const earlier = await findResend(this.options.pool, requestId);
    if (earlier === undefined) await this.refuseUnlessEndedBadly(found);
    else if (earlier.commandId !== command_id) throw alreadyResent(requestId, earlier.requestId);
    const resend = {
      of: { commandId: registration.commandId, requestId },
      documentSha256: registration.documentSha256,
      firstCommand: firstCommandOf(registration),
      reason: asked.reason,
    };
    try {
      return await this.options.intake.take(await this.bodyOf(registration, asked, command_id), actor, { resend });
    } catch (error) {
      // Somebody else was faster, by another command.
      if ((error as { constraint?: string }).constraint !== 'command_resend') throw error;
      throw alreadyResent(requestId, (await findResend(this.options.pool, requestId))?.requestId ?? 'another document');
    }
  }

  /** The command that resends it: what was asked for, and the rest as it was. */
  private async bodyOf(
    { account, reference, documentSha256 }: FoundDocument['state']['registration'],
    asked: z.output<typeof resendBody>,
    command_id: string,
  ): Promise<CommandBody> {
    return {
      command_id,
      type: 'send_document',
      account: asked.account ?? account,
      after: [],
      ...defined({ reference }),
      ...(asked.document === undefined
        ? { xml: asked.xml ?? (await this.xmlOf(documentSha256)) }
        : { document: asked.document }),
    };
  }

  private async refuseUnlessEndedBadly(found: FoundDocument): Promise<void> {
    const { state } = found;
    const { requestId, group } = state.registration;
    if (state.phase !== 'concluded')
      throw refusal(
        requestId,
        `has not concluded: it is ${state.phase}; only a rejected or failed document is sent again`,
      );
    if (state.outcome === 'accepted' || state.outcome === 'partial') {
      const why = state.outcome === 'accepted' ? '' : '; send a new document for the items that were refused';
      throw refusal(
        requestId,
        `was ${state.outcome === 'accepted' ? 'accepted' : 'accepted in part'}; only a rejected or failed ` +
          `document is sent again${why}`,
      );
    }
    if (group !== undefined)
      throw refusal(requestId, `is a member of group ${group.groupId}: the group is resumed, with a corrected member`);
    if (await mayTurn(this.options, found))
      throw refusal(
        requestId,
        'failed a moment ago, and the registry may still say otherwise: try again when its status was read once ' +
          `more. ${WHERE_IT_STAYS}`,
      );
  }

  private async xmlOf(documentSha256: string): Promise<string> {
    const blob = await this.options.evidence.get(documentSha256);
    if (blob === undefined) throw new Error(`evidence ${documentSha256} is missing`);
    return blob.bytes.toString('utf8');
  }
}

const refusal = (requestId: string, why: string): PedigreeError =>
  new PedigreeError('not_resendable', `document ${requestId} ${why}`, { field: 'requestId', item: requestId });

const alreadyResent = (requestId: string, by: string): PedigreeError =>
  refusal(requestId, `was sent again before, as document ${by}; what is still to be done is done to that one`);
