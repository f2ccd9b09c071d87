import {
  exportCreate,
  exportDelete,
  exportFile,
  exportResults,
  exportSearch,
  exportState,
  packExportCreate,
} from '../exports/operations.js';
import type { SlowUserOperation, UserOperation } from '../operations/call.js';
import { suspendedSgtins, suspensionDecisions, suspensionDecisionSgtins } from '../suspensions/operations.js';
import { DEPRECATED_METHODS, deprecationHeaders } from './deprecated.js';
import { branches, branchesList, partners, product, products, users, usersFind } from './directory.js';
import { disposalsAwaiting, salesAwaiting } from './queues.js';
import {
  archivedSgtin,
  archivedSgtinDocuments,
  archivedSgtinsByList,
  publicSgtinsByList,
  sgtin,
  sgtinDocuments,
  sgtins,
  sgtinsByList,
} from './sgtins.js';
import { ssccFullHierarchy, ssccHierarchy, ssccSgtins } from './ssccs.js';
import { virtualStorage } from './storage.js';

/** A deprecated method's answer says that it is one. */
function deprecated(name: string, operation: UserOperation): UserOperation {
  const replacement = DEPRECATED_METHODS[name]?.replacement ?? name;
  return (registry, call) => {
    const answer = operation(registry, call);
    const path = `${registry.profile.basePath}${registry.profile.operations[replacement]?.path ?? ''}`;
    return { ...answer, headers: { ...answer.headers, ...deprecationHeaders(path) } };
  };
}

const DEPRECATED_OPERATIONS: Record<keyof typeof DEPRECATED_METHODS, UserOperation> = {
  users_find: deprecated('users_find', usersFind),
  branches_list: deprecated('branches_list', branchesList),
};

/** Operations over the registries, by the profile's keys. */
export const REGISTRY_OPERATIONS: Record<string, UserOperation | SlowUserOperation> = {
  users,
  branches,
  partners,
  products,
  product,
  sgtins,
  sgtins_by_list: sgtinsByList,
  public_sgtins_by_list: publicSgtinsByList,
  sgtin,
  sgtin_documents: sgtinDocuments,
  archived_sgtins_by_list: archivedSgtinsByList,
  archived_sgtin: archivedSgtin,
  archived_sgtin_documents: archivedSgtinDocuments,
  suspended_sgtins: suspendedSgtins,
  suspension_decisions: suspensionDecisions,
  suspension_decision_sgtins: suspensionDecisionSgtins,
  sscc_hierarchy: ssccHierarchy,
  sscc_sgtins: ssccSgtins,
  sscc_full_hierarchy: ssccFullHierarchy,
  virtual_storage: virtualStorage,
  sales_awaiting: salesAwaiting,
  disposals_awaiting: disposalsAwaiting,
  export_create: exportCreate,
  export_state: exportState,
  export_results: exportResults,
  export_file: exportFile,
  export_delete: exportDelete,
  export_search: exportSearch,
  pack_export_create: packExportCreate,
  ...DEPRECATED_OPERATIONS,
};
