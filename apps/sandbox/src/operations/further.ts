import { allRights, currentRights, currentUser, member } from '../accounts/operations.js';
import { ownProducts, product } from '../registries/directory.js';
import { sgtinValidate, ssccCheck } from '../registries/existence.js';
import {
  branch,
  publicBranches,
  publicWarehouses,
  safeWarehouseAddresses,
  warehouse,
  warehouses,
} from '../registries/places.js';
import { trustedPartners, trustedPartnersAdd, trustedPartnersDelete } from '../registries/trusted-partners.js';
import type { UserOperation } from './call.js';
import type { FURTHER_ROUTES } from './further-routes.js';
import { markRead } from './mark-read.js';
import { documentSignature } from './signature.js';

/** What the further routes do. */
export const FURTHER_OPERATIONS: Record<keyof typeof FURTHER_ROUTES, UserOperation> = {
  mark_read: markRead,
  document_signature: documentSignature,
  sgtin_validate: sgtinValidate,
  sscc_check: ssccCheck,
  trusted_partners: trustedPartners,
  trusted_partners_add: trustedPartnersAdd,
  trusted_partners_delete: trustedPartnersDelete,
  branch,
  public_branches: publicBranches,
  warehouses,
  warehouse,
  public_warehouses: publicWarehouses,
  safe_warehouse_addresses: safeWarehouseAddresses,
  own_products: ownProducts,
  public_product: product,
  current_user: currentUser,
  all_rights: allRights,
  current_rights: currentRights,
  member,
};
