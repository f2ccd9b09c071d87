const SECRET_PARAMETER = /pass|secret|token|key/i;

/** A server's address as it may be shown, where without one the database does the server's work. */
export const serverWithoutSecrets = (address: string | undefined): string =>
  address === undefined ? 'in the database' : addressWithoutSecrets(address);

/** The client of the event log takes everything between the first : and the next @ for a password, and so do people. */
const PASSWORD_IN_NO_URL = /(\/\/[^:]*):.*@/s;
/** Which of them ends the password, only its owner knows. */
const SEVERAL_SIGNS = /^[^?]*@[^?]*@/s;

/** An address as it may be shown: it may carry a password in two places, before the host and among its parameters. */
export function addressWithoutSecrets(address: string): string {
  const isToTheLetter = passwordOf(address) !== '' && !SEVERAL_SIGNS.test(address);
  const shown = isToTheLetter ? address : address.replace(PASSWORD_IN_NO_URL, '$1:***@');
  // An address of several hosts is no URL to the letter.
  if (!URL.canParse(shown)) return shown.replace(/([?&][^=&]*(?:pass|secret|token|key)[^=&]*)=[^&]*/gi, '$1=***');
  const url = new URL(shown);
  if (url.password !== '') url.password = '***';
  for (const name of [...url.searchParams.keys()]) if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, '***');
  return url.href;
}

const passwordOf = (address: string): string => (URL.canParse(address) ? new URL(address).password : '');
