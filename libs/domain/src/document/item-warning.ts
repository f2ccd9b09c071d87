import { ITEM_MENDINGS } from '#kernel';

/** What of a command's items was mended, is odd, or suspended when it came; nothing was refused for it. */
export const ITEM_WARNING_CODES = [...ITEM_MENDINGS, 'wrong_check_digit', 'suspended', 'series_unknown'] as const;
export interface ItemWarning {
  code: (typeof ITEM_WARNING_CODES)[number];
  /** How many items, or for check digits how many numbers. */
  count: number;
  /** The first of them: where in the command (RFC 6901), and the item as it was read. */
  places: { field: string; item: string }[];
  /** Of code suspended: those in force for the packs. */
  suspensions?: string[];
}
