import { describe, expect, it } from '@jest/globals';
import { TASK_PAYLOADS, type PlannedTask, type TaskKind } from './task.js';

const OWN = '"requestId":"r1","account":"main"';
const GROUP = '"groupId":"g1","account":"main"';
const OTHER = '"documentId":"d1","account":"main","direction":"incoming"';
const SHA = 'a'.repeat(64);
const REGISTRATION =
  '"requestId":"r1","commandId":"c1","account":"main","docType":415,"documentSha256":"' +
  `${SHA}","byteLength":10,"itemCount":1,"subjectId":"00000000100101","operationDate":"2026-03-02T10:00:00+03:00"`;
const ACTOR = '"actor":{"kind":"system","name":"erp","authenticatedBy":"api-key"}';
const LISTED = `"documentId":"d1","direction":"incoming","account":"main","status":"processed","answerSha256":"${SHA}"`;

/** As the version before wrote them, with and without what it wrote only at times. */
const STORED: [TaskKind, string][] = [
  ['send', `{${OWN},"attempt":1}`],
  ['upload', `{${OWN},"attempt":1,"round":2}`],
  ['look_up', `{${OWN},"attempt":1}`],
  ['look_up', `{${OWN},"attempt":1,"attemptEndedAt":"2026-03-02T07:00:00.000Z","round":1}`],
  ['status', `{${OWN},"documentId":"d1"}`],
  ['receipt', `{${OWN},"documentId":"d1"}`],
  ['download', `{${OWN},"documentId":"d1"}`],
  ['note_predecessor', `{${OWN},"predecessor":"r0"}`],
  ['note_predecessor', `{${OWN},"predecessor":"r0","finalOnly":true}`],
  // Of an instance that ended and was forgotten the account is not known.
  ['release_dependents', '{"requestId":"r1","account":"","predecessor":"r1"}'],
  ['release_dependents', `{${OWN},"predecessor":"r1","cursor":"r7","by":"r9"}`],
  ['lapse_holds', `{${OWN}}`],
  ['rejudge_at_gate', `{${OWN},"holdKnownAt":"7","heldAt":"2026-11-23T00:00:00.000Z"}`],
  ['rejudge_suspension', `{${OWN},"holdKnownAt":"7","heldAt":"2026-11-23T00:00:00.000Z"}`],
  ['wait_for_items', `{${OWN},"round":1,"for":[{"requestId":"r0","commandId":"c0","items":["a"],"itemCount":1}]}`],
  ['lift_item_wait', `{${OWN},"predecessor":"r0"}`],
  ['refuse_ring', `{${OWN},"isGroup":true,"ring":[{"requestId":"r0","commandId":"c0"}]}`],
  ['group_check', `{${GROUP}}`],
  ['group_start', `{${GROUP},"attempt":1}`],
  ['group_look', `{${GROUP},"attempt":1}`],
  ['group_look', `{${GROUP},"attempt":1,"attemptEndedAt":"2026-03-02T07:00:00.000Z"}`],
  ['settle_group', `{${GROUP}}`],
  ['conclude_members', `{${GROUP}}`],
  ['conclude_members', `{${GROUP},"haltedAt":"2026-03-01T10:00:00.000Z","inWork":true}`],
  ['note_member', `{${GROUP},"requestId":"r1","documentId":"d1"}`],
  ['note_member', `{${GROUP},"requestId":"r1","outcome":"failed","cause":"registry_failed","version":7}`],
  ['note_member', `{${GROUP},"requestId":"r1","outcome":"accepted"}`],
  ['note_group_predecessor', `{${GROUP},"predecessor":"r0","finalOnly":true}`],
  ['inbound_status', `{${OTHER},"isLastWord":true}`],
  ['inbound_status', `{${OTHER}}`],
  ['inbound_download', `{${OTHER}}`],
  ['inbound_receipt', `{${OTHER}}`],
  ['inbound_link', `{${OTHER}}`],
  ['inbound_link', `{${OTHER},"plannedAt":"20"}`],
  ['note_listed', `{${OTHER},"seen":{${LISTED},"channel":"counterparty","docType":605,"sender":"s"}}`],
  ['seek_contents', `{${OTHER},"plannedAt":"20"}`],
  ['seek_contents', `{${OTHER},"acceptedAt":"2026-03-02T07:00:00.000Z","plannedAt":"20"}`],
  ['container_content', '{"sscc":"146070000000000011","account":"main","documentId":"d1"}'],
  ['list_incoming', '{"account":"main","list":"incoming"}'],
  ['list_outgoing', '{"account":"main","list":"outgoing"}'],
  ['run_command', `{"registration":{${REGISTRATION},"after":[]},${ACTOR}}`],
  [
    'run_command',
    `{"registration":{${REGISTRATION},"reference":"R-1","counterpartyId":"c","docNum":"n","after":[{"commandId":"c0",` +
      '"requestId":"r0"}],"group":{"groupId":"g1","index":0,"of":2,"kind":"split"},"resendOf":{"commandId":"c0",' +
      `"requestId":"r0"},"firstCommand":{"commandId":"c0"}},${ACTOR},"reason":"corrected"}`,
  ],
  [
    'run_command',
    `{"group":{${GROUP},"commandId":"c1","kind":"resumption","members":[{${REGISTRATION},"after":[]}],"after":[],` +
      `"resumes":{"groupId":"g0","commandId":"c0"}},${ACTOR}}`,
  ],
  ['hold_document', `{"requestId":"r1",${ACTOR},"reason":"seen"}`],
  ['ask_inbound_again', `{"documentId":"d1","account":"main",${ACTOR},"reason":"seen"}`],
  ['decide_hold', `{"requestId":"r1","decision":"release","predecessors":["r0"],${ACTOR},"reason":"seen"}`],
  ['decide_hold', `{"requestId":"g1","isGroup":true,"decision":"end","predecessors":["r0"],${ACTOR},"reason":"seen"}`],
  ['decide_hold', `{"requestId":"r1","decision":"end","predecessors":[],"missing":["r0"],${ACTOR},"reason":"seen"}`],
  [
    'decide_hold',
    `{"requestId":"g","isGroup":true,"decision":"end","predecessors":[],"start":1,"inWork":true,${ACTOR},"reason":"x"}`,
  ],
  ['replan', '{"kind":"group","id":"g1","replanId":"7@2026-03-02"}'],
  ['retry_parked', '{"saga":"document","key":"r1"}'],
  ['reconcile_documents', '{"runId":"u1"}'],
  ['plan_fetch', '{"fetchId":"f1"}'],
  ['fetch_sgtins', '{"fetchId":"f1","account":"main"}'],
  ['fetch_sgtins_by_list', '{"fetchId":"f1","account":"main"}'],
  ['fetch_archived_sgtins', '{"fetchId":"f1","account":"main"}'],
  ['seek_pack_export', '{"fetchId":"f1","account":"main"}'],
  ['order_pack_export', '{"fetchId":"f1","account":"main"}'],
  ['await_pack_export', '{"fetchId":"f1","account":"main"}'],
  ['find_pack_export_result', '{"fetchId":"f1","account":"main"}'],
  ['download_pack_export', '{"fetchId":"f1","account":"main"}'],
  ['remove_pack_export', '{"fetchId":"f1","account":"main"}'],
  ['fetch_containers', '{"fetchId":"f1","account":"main"}'],
  ['watch_suspensions', '{}'],
  ['suspended_list', '{"account":"main"}'],
  ['mail_suspensions', `{"suspensions":["s1"],"count":3}`],
  ['mail_suspensions', `{"suspensions":["s1"],"count":3,"to":"quality@example.org"}`],
  ['fetch_suspended_sgtins', '{"fetchId":"f1","account":"main"}'],
  ['fetch_suspension_decisions', '{"fetchId":"f1","account":"main"}'],
];

describe('the payload of a task', () => {
  it.each(STORED)('of kind %s is read as the version before wrote it: %s', (kind, text) => {
    expect(TASK_PAYLOADS[kind].safeParse(JSON.parse(text)).error).toBeUndefined();
  });

  it('is known in such a form for every kind', () => {
    expect([...new Set(STORED.map(([kind]) => kind))].sort()).toEqual(Object.keys(TASK_PAYLOADS).sort());
  });

  it.each(STORED.filter(([, text]) => text !== '{}'))(
    'of kind %s is not read without a field that it must have: %s',
    (kind, text) => {
      const payload = JSON.parse(text) as Record<string, unknown>;
      const [first] = Object.keys(payload) as [string];
      delete payload[first];
      expect(TASK_PAYLOADS[kind].safeParse(payload).success).toBe(false);
    },
  );

  it('is that of its kind, or the planner does not compile', () => {
    const place = { key: 'k', lane: 'l', dueAt: new Date(0) };
    const right: PlannedTask = { ...place, kind: 'send', payload: { requestId: 'r1', account: 'main', attempt: 1 } };
    // @ts-expect-error A send names its attempt.
    const without: PlannedTask = { ...place, kind: 'send', payload: { requestId: 'r1', account: 'main' } };
    // @ts-expect-error It has one kind, and no other's payload.
    const another: PlannedTask = { ...place, kind: 'send', payload: { groupId: 'g1', account: 'main', attempt: 1 } };
    // @ts-expect-error Nobody serves a kind that is not declared.
    const unknown: PlannedTask = { ...place, kind: 'sent', payload: { requestId: 'r1', account: 'main', attempt: 1 } };
    const fits = ({ payload }: PlannedTask) => TASK_PAYLOADS.send.safeParse(payload).success;
    expect([right, without, another, unknown].map(fits)).toEqual([true, false, false, true]);
  });
});
