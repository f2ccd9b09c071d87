/** A route of the public protocol that the profiles do not carry, since Pedigree's own client does not call it. */
interface FurtherRoute {
  method: 'GET' | 'POST';
  /** Under the profile's base path. */
  path: string;
  /** Key of the profile's operation whose interval it keeps. */
  pace: string;
}

/** Further routes that work here (public-facts 1.2 to 1.7). */
export const FURTHER_ROUTES = {
  mark_read: { method: 'POST', path: '/documents/income/mark_read', pace: 'status' },
  document_signature: { method: 'GET', path: '/documents/{document_id}/signature', pace: 'status' },
  sgtin_validate: { method: 'POST', path: '/sgtin/validate', pace: 'sgtin' },
  sscc_check: { method: 'POST', path: '/reestr/sscc/sscc_check', pace: 'sgtin' },
  trusted_partners: { method: 'POST', path: '/reestr/trusted_partners/filter', pace: 'branches' },
  trusted_partners_add: { method: 'POST', path: '/reestr/trusted_partners/add', pace: 'branches' },
  trusted_partners_delete: { method: 'POST', path: '/reestr/trusted_partners/delete', pace: 'branches' },
  branch: { method: 'GET', path: '/reestr/branches/{branch_id}', pace: 'branches' },
  public_branches: { method: 'POST', path: '/reestr/branches/public/filter', pace: 'branches' },
  warehouses: { method: 'POST', path: '/reestr/warehouses/filter', pace: 'branches' },
  warehouse: { method: 'GET', path: '/reestr/warehouses/{warehouse_id}', pace: 'branches' },
  public_warehouses: { method: 'POST', path: '/reestr/warehouses/public/filter', pace: 'branches' },
  safe_warehouse_addresses: {
    method: 'POST',
    path: '/reestr/warehouses/available_safe_warehouses_addresses',
    pace: 'branches',
  },
  own_products: { method: 'POST', path: '/reestr/med_products/current', pace: 'branches' },
  public_product: { method: 'GET', path: '/reestr/med_products/public/{gtin}', pace: 'product' },
  current_user: { method: 'GET', path: '/users/current', pace: 'users' },
  all_rights: { method: 'GET', path: '/rights/about', pace: 'users' },
  current_rights: { method: 'GET', path: '/rights/current', pace: 'users' },
  member: { method: 'GET', path: '/members/current', pace: 'users' },
} as const satisfies Record<string, FurtherRoute>;

/** The operations of a profile with the further ones; what the profile says itself wins. */
export function withFurtherRoutes<Operation extends { intervalMs: number }>(
  operations: Record<string, Operation>,
): Record<string, Operation | { method: 'GET' | 'POST'; path: string; intervalMs: number }> {
  const further = Object.entries(FURTHER_ROUTES).map(([name, { method, path, pace }]) => [
    name,
    { method, path, intervalMs: operations[pace]?.intervalMs ?? 0 },
  ]);
  return { ...Object.fromEntries(further), ...operations };
}
