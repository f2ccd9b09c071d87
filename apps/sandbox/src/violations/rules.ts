/** Every rule of the interface that the sandbox watches, with its place in the interface. */
export const RULES = {
  call_interval: 'calls of one account to one method keep the minimum interval (8)',
  too_early_after_429: 'after a 429 the interval is waited out from the last request (7.1)',
  status_too_early: 'a status is read no sooner than 3 s after the send was answered (8)',
  receipt_too_early: 'a receipt is requested no sooner than 5 s after the status changed (8)',
  receipt_wrong_status: 'a receipt is requested only in PROCESSED or FAILED_RESULT_READY (3.2)',
  too_many_tokens: 'a user holds at most 10 tokens (5)',
  deprecated_method: 'deprecated methods are not called (9)',
  deprecated_parameter: 'deprecated parameters are not used (9)',
  internal_method: 'methods of the web cabinet are not called (1)',
  duplicate_request_id: 'a request_id is sent once (2.1)',
  premature_resend: 'a request_id is not sent again while an earlier send of it may still arrive (2.1)',
  flag_as_text: 'bulk_processing is a boolean (2.1)',
  group_unchecked: 'a group is started after its check said that it can be (4.1)',
  too_many_items: 'a document holds no more items than is permitted; a larger set is split (8)',
  missing_signature: 'a document carries a signature (5)',
  bad_signature: 'a signature is that of the user over these very bytes (5)',
  token_in_url: 'a token travels in its header only (5)',
} as const;

export type RuleName = keyof typeof RULES;
