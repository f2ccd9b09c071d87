/** How a list can be had as one file, and the media type by which it is asked for. */
export const FILE_TYPES = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  excel: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

/** A page to read and to print. */
export const HTML = 'text/html';

export type FileFormat = keyof typeof FILE_TYPES;
