import { jsonAnswer } from '../http/answer.js';
import { textsOf } from '../http/body.js';
import type { UserOperation } from './call.js';

const MOST_MARKED = 100;

/** POST documents/income/mark_read: up to 100 incoming documents are new no more; unknown ids are left out. */
export const markRead: UserOperation = (registry, call) => {
  const { profile, documents, intake } = registry;
  const ids = textsOf(call.body, profile.field('document_ids'), MOST_MARKED);
  const marked = ids.filter((id) => {
    const document = documents.visible(id, call.account.participant.key);
    if (document?.receiver === undefined) return false;
    intake.markRead(document);
    return true;
  });
  return jsonAnswer(200, profile.named({ marked_document_ids: marked, total: marked.length }));
};
