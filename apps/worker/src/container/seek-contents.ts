import type { Arrival, InboundState } from '#domain';
import { readForeignDocument } from '#documents';
import { defined, isSscc } from '#kernel';
import { containersOfUnknownContent } from '#read-models';
import type { TaskResult } from '#tasks';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskOf } from '../lane.js';
import { causeOf } from '../registry-tasks/context.js';
import type { ContainerContext } from './context.js';

type SeekTask = TaskOf<'seek_contents'>;
type Concluded = Extract<InboundState, { phase: 'concluded' }>;

/** A read model that is behind is looked at again after so long. */
const CATCH_UP_MS = 1_000;
/** Questions that are recorded at once. */
const AT_ONCE = 50;

/**
 * Asks for the content of each container that an incoming document names and of which our record tells none. The
 * questions go by tasks of their own. A repeat asks for nothing twice.
 */
export async function seekContents(context: ContainerContext, task: SeekTask): Promise<TaskResult> {
  const { documentId, plannedAt } = task.payload;
  const state = await context.inbound.stateInLog(documentId);
  if (state.phase !== 'concluded' || state.content === undefined) return { kind: 'done' };
  const named = await containersIn(context, state);
  const { upTo, unknown } = await containersOfUnknownContent(context.pool, named);
  if (upTo < BigInt(plannedAt))
    return {
      kind: 'retry',
      delayMs: CATCH_UP_MS,
      error: 'the history of packs is behind the document that names the containers',
      countsAsAttempt: false,
    };
  const asked = unknown.slice(0, context.containers.mostOfDocument);
  sayLimit(context, task, unknown.length - asked.length);
  const arrival = arrivalOf(state, task);
  for (let from = 0; from < asked.length; from += AT_ONCE)
    await Promise.all(asked.slice(from, from + AT_ONCE).map((sscc) => ask(context, task, { sscc, arrival })));
  return { kind: 'done' };
}

const ask = (context: ContainerContext, task: SeekTask, { sscc, arrival }: { sscc: string; arrival: Arrival }) =>
  context.containers.repository.execute(
    sscc,
    { type: 'AskContent', sscc, account: task.payload.account, arrival },
    causeOf(task, SYSTEM),
  );

async function containersIn({ evidence }: ContainerContext, { documentSha256 }: Concluded): Promise<string[]> {
  const document = documentSha256 === undefined ? undefined : await evidence.get(documentSha256);
  if (document === undefined) throw new Error(`evidence ${documentSha256} is missing`);
  return [...new Set(readForeignDocument(document.bytes).items.map(({ id }) => id))].filter(isSscc);
}

function arrivalOf({ content, seen }: Concluded, { payload }: SeekTask): Arrival {
  const { docType = seen.docType ?? 0, subjectId = '', counterpartyId } = content ?? {};
  const { documentId, acceptedAt } = payload;
  return { documentId, docType, subjectId, ...defined({ counterpartyId, acceptedAt }) };
}

/** What is left out stays unknown, and that is said: in the log of the process, in a metric, and of each container. */
function sayLimit({ containers, warn }: ContainerContext, { payload: { documentId } }: SeekTask, over: number): void {
  if (over <= 0) return;
  containers.counts.add('over_limit', over);
  warn(
    { documentId, over, limit: containers.mostOfDocument },
    'a document names more containers of unknown content than are asked for: PEDIGREE_CONTENT_FETCH',
  );
}
