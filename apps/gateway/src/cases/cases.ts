import { randomUUID } from 'node:crypto';
import {
  caseIdOf,
  isSplittable,
  packsSeen,
  partOf,
  type CaseCommand,
  type CaseEnd,
  type CaseState,
  type KnownCase,
} from '#domain';
import type { Actor, EventStore, Says } from '#event-store';
import { defined, neverReached, PedigreeError, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import { CaseLog, dueAt, type CaseAct, type DueDays } from '#reconciliation';
import type { Intake } from '../intake/intake.js';
import type { Resends } from '../resends/resends.js';
import type { CaseAction, CaseActions, CaseRelease } from './case-body.js';
import { lookAgain, type LookAgainOptions } from '../watch/look-again.js';
import { releaseRemedy, resumeReleases } from './releases.js';
import { mustBeOfCase } from './split-items.js';

export interface CasesOptions {
  pool: Pool;
  store: Pick<EventStore, 'append' | 'readStream'>;
  installationId: string;
  says: Says;
  dueDays: DueDays;
  resends: Pick<Resends, 'resend'>;
  intake: Pick<Intake, 'take'>;
  /** Folder of derived files; undefined where they lie elsewhere. */
  segmentsFolder: string | undefined;
  clock: Clock;
}

const RESUME_EVERY_MS = 60_000;
const GATEWAY: Actor = { kind: 'system', name: 'gateway', authenticatedBy: 'process' };

/** What became of an action on one of many cases. */
interface CaseActed {
  caseId: string;
  done: boolean;
  /** Where nothing was done: why. */
  why?: string;
}

/** What persons do about cases. Each action is in the stream of its case, with who and why. */
export class Cases {
  private readonly log: CaseLog;

  constructor(private readonly options: CasesOptions) {
    const { pool: db, store, installationId: id, says } = options;
    this.log = new CaseLog({ db, store, installation: { id, ...says } });
  }

  /** The same again changes nothing. @throws PedigreeError not_found, case_conflict. */
  async act(caseId: string, action: CaseAction, actor: Actor): Promise<void> {
    const act = this.actOf(action.reason, actor);
    if (action.action === 'split') return this.split(caseId, action.items, act);
    const { state, events } = await this.log.tell(await this.commandOf(caseId, action, act), act);
    const why = whyNothing(state, events.length, action);
    if (why !== undefined) throw refusal(caseId, state, why);
  }

  /** Has its suggested document sent; its accepted receipt resolves the case. The same again changes nothing. */
  async release(caseId: string, { account, reason }: CaseRelease, actor: Actor): Promise<void> {
    await releaseRemedy({ ...this.options, log: this.log }, caseId, { account, act: this.actOf(reason, actor) });
  }

  /** Goes on with releases whose document was not taken, at once and then each minute until `signal`. Never rejects. */
  watch(signal: AbortSignal, log: LookAgainOptions['log']): Promise<void> {
    const { clock } = this.options;
    const failure = 'could not look for released documents that were not taken';
    const failed = (caseId: string, err: unknown): void =>
      log.warn({ err, caseId }, 'the document that was released for a case was not taken');
    const look = (): Promise<void> =>
      resumeReleases({ ...this.options, log: this.log }, { act: this.actOf(undefined, GATEWAY), failed });
    return lookAgain(look, { everyMs: RESUME_EVERY_MS, clock, signal, log, failure });
  }

  /** Each by itself: one that does not fit does not stop the others. */
  async actOnMany({ cases, ...action }: CaseActions, actor: Actor): Promise<CaseActed[]> {
    const act = this.actOf(action.reason, actor);
    const ids = [...new Set(cases)];
    return Promise.all(
      ids.map(async (caseId) => {
        const why = await this.log.tell(await this.commandOf(caseId, action, act), act).then(
          ({ state, events }) =>
            state.phase === 'absent' ? 'there is no such case' : whyNothing(state, events.length, action),
          (error: unknown) => whyRefused(error, caseId),
        );
        return { caseId, done: why === undefined, ...defined({ why }) };
      }),
    );
  }

  /** First the case gives the items away, then their own case is opened: the same again goes on after a crash. */
  private async split(caseId: string, items: string[], act: CaseAct): Promise<void> {
    const known = await this.log.find(caseId);
    if (known === undefined) throw refusal(caseId, { phase: 'absent' }, '');
    const { code, severity, dueAt: due } = known;
    const cause = partOf(caseId, items);
    const part = caseIdOf(code, cause);
    if (!known.parts.includes(part)) {
      const count = cause.items.length;
      const { segmentsFolder } = this.options;
      if (whyNotSplit(known, count) === undefined)
        await mustBeOfCase(known, cause.items, { log: this.log, segmentsFolder });
      const told = await this.log.tell({ type: 'Split', caseId, part, items: cause.items, count }, act);
      if (told.events.length === 0)
        throw refusal(caseId, known, whyNotSplit(known, count) ?? 'it was split as often as a case may be');
    }
    const { rows, unjudged: _unjudged, older: _older, ...seen } = packsSeen(known);
    // The file tells on what the findings rest; which of its rows are of the part, no run has told yet.
    const file = rows?.file === undefined ? {} : { rows: { file: rows.file, from: 0, to: 0 } };
    const sighting = { ...seen, ...file, count: cause.items.length };
    await this.log.tell({ type: 'See', caseId: part, code, cause, severity, dueAt: due, seen: sighting }, act);
  }

  private actOf(reason: string | undefined, actor: Actor): CaseAct {
    return {
      actor,
      ...defined({ reason }),
      id: `case_action:${randomUUID()}`,
      at: this.options.clock.now().toISOString(),
    };
  }

  private async commandOf(caseId: string, action: ByMany, { at }: CaseAct): Promise<CaseCommand> {
    switch (action.action) {
      case 'acknowledge':
        return { type: 'Acknowledge', caseId };
      case 'assign':
        return { type: 'Assign', caseId, assignee: action.assignee };
      case 'comment':
        return { type: 'Comment', caseId, text: action.reason };
      case 'explain':
        return { type: 'Explain', caseId, text: action.reason };
      case 'resolve':
        return { type: 'Resolve', caseId, at, by: endOf(action) };
      case 'reopen': {
        const severity = (await this.log.find(caseId))?.severity ?? 'warning';
        return { type: 'Reopen', caseId, at, dueAt: dueAt(severity, at, this.options.dueDays) };
      }
      default:
        return neverReached(action, 'action on a case');
    }
  }
}

/** Why this case alone could not be told: the error names it. Anything else ends the whole. */
function whyRefused(error: unknown, caseId: string): string {
  if (error instanceof PedigreeError && error.place.item === caseId) return error.message;
  throw error;
}

const endOf = ({ resolution, reason: note }: CaseAction & { action: 'resolve' }): CaseEnd & { kind: 'person' } => ({
  ...{ kind: 'person', resolution, note },
});

type ByMany = Exclude<CaseAction, { action: 'split' }>;

/** Why an action without events did not do what was asked; undefined where all is as was asked. */
function whyNothing(state: CaseState, events: number, action: ByMany): string | undefined {
  if (state.phase === 'absent') return '';
  if (events > 0 || action.action === 'reopen') return undefined;
  if (state.phase !== 'resolved') return undefined;
  const { end } = state;
  const isSame =
    action.action === 'resolve' &&
    end?.kind === 'person' &&
    end.resolution === action.resolution &&
    end.note === action.reason;
  return isSame ? undefined : `it is resolved since ${state.resolvedAt}: reopen it first`;
}

function whyNotSplit({ phase, cause, count }: KnownCase, items: number): string | undefined {
  if (phase === 'resolved') return 'it is resolved: reopen it first';
  if (!isSplittable(cause)) return 'it is a part of another case already: split that one';
  if (items >= count) return `it has ${count} items: at least one must stay`;
  return undefined;
}

const refusal = (caseId: string, { phase }: { phase: string }, why: string): PedigreeError =>
  phase === 'absent'
    ? new PedigreeError('not_found', `there is no case ${caseId}`, { field: 'caseId', item: caseId })
    : new PedigreeError('case_conflict', `case ${caseId}: ${why}`, { field: 'caseId', item: caseId });
