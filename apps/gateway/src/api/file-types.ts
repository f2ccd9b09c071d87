/** How a list can be had as one file, and the media type by which it is asked for. */
export const FILE_TYPES = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  excel: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

export type FileFormat = keyof typeof FILE_TYPES;
