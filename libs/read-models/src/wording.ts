/** `1 item`, `3 items`. */
export const counted = (many: number, noun: string): string => `${many} ${noun}${many === 1 ? '' : 's'}`;

const NAMED = 5;
/** The first names of a list, and how many more there are. */
export const listed = (names: string[]): string =>
  names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ` and ${names.length - NAMED} more` : '');

/** Another's words inside our sentence: one line, without the full stop that would end ours early. */
export const unquoted = (text: string): string => text.replace(/\s+/g, ' ').trim().replace(/\.+$/, '');

/** `: why`, or nothing where no reason is given. */
export const because = (reason: string | null): string => {
  const words = unquoted(reason ?? '');
  return words === '' ? '' : `: ${words}`;
};

/** Why a document of a group counts as not processed on a person's word. */
export const ENDED_IN_WORK = 'a person ended its group, and said that the registry does not process it';
