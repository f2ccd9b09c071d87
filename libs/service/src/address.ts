const SECRET_PARAMETER = /pass|secret|token|key/i;

/** A server's address as it may be shown, where without one the database does the server's work. */
export const serverWithoutSecrets = (address: string | undefined): string =>
  address === undefined ? 'in the database' : addressWithoutSecrets(address);

/** An address as it may be shown: it may carry a password in two places, before the host and among its parameters. */
export function addressWithoutSecrets(address: string): string {
  // An address of several hosts is no URL to the letter.
  if (!URL.canParse(address))
    return address
      .replace(/(\/\/[^:@/]*):[^?#]*@/, '$1:***@')
      .replace(/([?&][^=&]*(?:pass|secret|token|key)[^=&]*)=[^&]*/gi, '$1=***');
  const url = new URL(address);
  if (url.password !== '') url.password = '***';
  for (const name of [...url.searchParams.keys()]) if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, '***');
  return url.href;
}
