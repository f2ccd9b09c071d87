import { isSgtin } from '#kernel';
import type { OperationRule } from './operation.js';
import { because } from './reasons.js';

const ADD = '1';

/** 212: whom the sender trusts, by system id or INN. */
export const editTrusted: OperationRule = {
  isItemless: true,
  whole({ content, sender, world, books }) {
    const participants = [...world.participants.values()];
    const found = content.partners.map((id) => ({
      id,
      key: participants.find(({ systemId, inn }) => systemId === id.toLowerCase() || inn === id)?.key,
    }));
    const unknown = found.filter(({ key }) => key === undefined || key === sender.key);
    if (unknown.length > 0)
      return unknown.map(({ id }) => ({ reason: because('unknown_counterparty', id), objectId: id }));
    const keys = found.map(({ key }) => key as string);
    books.trusted.set(sender.key, keys, content.fields.get('edit_type') === ADD);
    return [];
  },
};

/** 213: SSCC numbers are kept for the sender, or given free. */
export const bookSscc: OperationRule = {
  item({ content, sender, packs, books }, { id }) {
    const holder = books.reservedSsccs.get(id);
    if (content.fields.get('operation_type') !== ADD) {
      if (holder !== sender.key) return because('sscc_not_reserved');
      books.reservedSsccs.delete(id);
      return undefined;
    }
    if (packs.container(id) !== undefined) return because('container_in_use');
    if (holder !== undefined && holder !== sender.key) return because('sscc_reserved');
    books.reservedSsccs.set(id, sender.key);
    return undefined;
  },
};

/** 20521: a registrar of disposal was connected; its packs are known to the registry and stay what they are. */
export const registrarConnected: OperationRule = {
  item({ packs, sender }, { id }) {
    const pack = isSgtin(id) ? packs.pack(id) : undefined;
    if (pack === undefined) return because('pack_not_found');
    return pack.owner === sender.key ? undefined : because('not_owner');
  },
};
