/**
 * Every way in which the sandbox can misbehave: one named knob each, with where it strikes and why a client must live
 * with it. A knob strikes on order (faults/faults.ts) or at a rate, by seed (misbehaviour.ts). `from`, `to`: the span
 * from which a strike at a rate takes its value.
 */
interface Knob {
  when: 'before_work' | 'work' | 'answer' | 'processing';
  /** What the value means. */
  value: string;
  reason: string;
  from?: number;
  to?: number;
}

const knobs = {
  answer_429: {
    when: 'before_work',
    value: 'the interval that the text states, in ms; 0: the one in force',
    reason: 'limits are tightened without notice',
  },
  answer_500_before_work: {
    when: 'before_work',
    value: 'unused',
    reason: 'the service is broken for a moment and nothing was done',
  },
  drop_connection_before_work: {
    when: 'before_work',
    value: 'unused',
    reason: 'a request is lost on its way, and nobody can tell that from a lost answer',
  },
  token_revoked: {
    when: 'before_work',
    value: 'unused',
    reason: 'a token ends before its time: 401 in the middle of the day',
  },
  land_late: {
    when: 'work',
    value: 'for how long the send is under way after its connection broke, in ms',
    reason: 'a send may hang for a minute and still arrive',
    from: 200,
    to: 2_000,
  },
  delay_ms: {
    when: 'answer',
    value: 'how long the answer is held back, in ms',
    reason: 'the service is slow at noon',
    from: 200,
    to: 2_000,
  },
  drop_connection_after_work: { when: 'answer', value: 'unused', reason: 'the work is done and nobody learns of it' },
  answer_500_after_work: { when: 'answer', value: 'unused', reason: 'the work is done and the answer says otherwise' },
  html_error: {
    when: 'answer',
    value: 'unused',
    reason: 'a gateway in front answers 504 with a page in HTML, though the work is done',
  },
  wrong_content_type: { when: 'answer', value: 'unused', reason: 'a good answer is labelled as something else' },
  total_changes: {
    when: 'answer',
    value: 'how many documents more the total claims',
    reason: 'the total of a list changes between pages',
    from: 1,
    to: 5,
  },
  repeated_entry: { when: 'answer', value: 'unused', reason: 'an entry of a list comes twice' },
  late_receipt: {
    when: 'processing',
    value: 'for how long the receipt is 404, in virtual ms',
    reason: 'a receipt is absent for a while after the final status',
    from: 2_000,
    to: 20_000,
  },
  transient_rejected: {
    when: 'processing',
    value: 'for how long the receipt says so, in virtual ms',
    reason: 'a receipt says Rejected, «ошибка на этапе подготовки ответа», and means: ask again',
    from: 2_000,
    to: 20_000,
  },
  failed_then_processed: {
    when: 'processing',
    value: 'for how long it shows FAILED, in virtual ms',
    reason: 'a bare FAILED can still turn out otherwise',
    from: 2_000,
    to: 600_000,
  },
  hidden_after_send: {
    when: 'processing',
    value: 'for how long it is not found, in virtual ms',
    reason: 'a document answers 404 for a moment right after the send',
    from: 500,
    to: 6_000,
  },
  late_in_list: {
    when: 'processing',
    value: 'for how long lists do not show it, in virtual ms',
    reason: 'a list shows a document later than it dates it',
    from: 2_000,
    to: 60_000,
  },
  short_page: {
    when: 'answer',
    value: 'unused',
    reason: 'a page of a list holds fewer entries than were asked for, and is not the last',
  },
  reordered_page: { when: 'answer', value: 'unused', reason: 'nothing is said of the order in which a page comes' },
  cut_answer: {
    when: 'answer',
    value: 'unused',
    reason: 'the work is done and the connection breaks in the middle of the answer',
  },
  group_not_ready: {
    when: 'work',
    value: 'for how long the check of a group says no, and its start is refused, in virtual ms',
    reason: 'documents of a group are still being taken in when somebody asks whether it can be started',
    from: 2_000,
    to: 60_000,
  },
} as const satisfies Record<string, Knob>;

export type KnobName = keyof typeof knobs;
export const KNOBS: Record<KnobName, Knob> = knobs;
export const KNOB_NAMES = Object.keys(knobs) as KnobName[];
export const isKnob = (name: string): name is KnobName => Object.hasOwn(knobs, name);
