/**
 * The business, pure: what happens to an aggregate (events, state, evolve), what may be asked of it (decide), what
 * follows (saga), and when a document is due (deadline). Promise: synchronous, total and without a clock; an unknown
 * stored event throws, so that its stream stops loudly. Proven in: document/*.spec.ts, group/*.spec.ts,
 * inbound/*.spec.ts, container/*.spec.ts, account/account.spec.ts, api-key/api-key.spec.ts and case/case.spec.ts
 * (given/when/then), suspension/*.spec.ts, deadline/*.spec.ts,
 * attempt/attempt.prop.spec.ts, document/document.prop.spec.ts and group/group.prop.spec.ts.
 */
export { evolveAttempt, FIRST_ATTEMPT, mayBeOthers, type Attempt, type CallAnswer } from './attempt/attempt.js';
export {
  believesOthers,
  decideAttempt,
  TWO_PAST_GRACE,
  type AttemptCommand,
  type AttemptPolicy,
} from './attempt/decide.js';
export * from './document/events.js';
export * from './document/first-send.js';
export * from './document/gate-events.js';
export * from './document/gate.js';
export * from './document/hold.js';
export * from './document/item-warning.js';
export * from './document/stop-events.js';
export { endOfDocument, LATE_READS } from './document/dependents.js';
export * from './document/upload-events.js';
export { SEND_POLICY } from './document/send-attempt.js';
export { FINISH_POLICY, type UploadAnswer, type Uploading } from './document/upload.js';
export * from './document/signed-by.js';
export * from './document/state.js';
export * from './document/decide.js';
export { ourOf, type FoundDocuments } from './document/found.js';
export type { GateCommand, StopCommand } from './document/decide-wait.js';
export * from './document/planned-task.js';
export * from './saga/document-saga.js';
export * from './task/task.js';
export * from './group/events.js';
export * from './group/state.js';
export * from './group/decide.js';
export { canEndInWork, isEndedByPerson } from './group/halt.js';
export { START_POLICY, type StartAnswer } from './group/start.js';
export * from './group/saga.js';
export * from './continuation/continue.js';
export * from './inbound/events.js';
export * from './inbound/state.js';
export * from './inbound/decide.js';
export * from './inbound/saga.js';
export * from './container/events.js';
export * from './container/state.js';
export * from './container/decide.js';
export * from './container/saga.js';
export * from './container/content.js';
export * from './account/events.js';
export * from './account/state.js';
export * from './account/decide.js';
export * from './access/events.js';
export * from './api-key/events.js';
export * from './api-key/state.js';
export * from './api-key/decide.js';
export * from './refusal/events.js';
export * from './case/events.js';
export { liveSighting, packsSeen, sightingsOf } from './case/sightings.js';
export * from './case/state.js';
export * from './case/decide.js';
export * from './case/remedy.js';
export * from './suspension/events.js';
export * from './suspension/state.js';
export * from './suspension/decide.js';
export * from './suspension/list.js';
export * from './suspension/decisions.js';
export * from './mock-recall/events.js';
export { readCalendar, DEADLINE_CHANNELS, DEADLINE_MET, DEADLINE_ROLES } from './deadline/calendar.js';
export type { CalendarName, Deadline, DeadlineCalendar, DeadlineChannel, DeadlineRole } from './deadline/calendar.js';
export * from './deadline/due.js';
export * from './deadline/standing.js';
