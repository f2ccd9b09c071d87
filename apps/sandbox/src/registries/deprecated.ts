/** A method that the interface calls deprecated (9), under a name of the sandbox's own. */
interface DeprecatedMethod {
  verb: 'GET' | 'POST';
  /** Under the profile's base path. */
  path: string;
  /** Key of the operation that replaces it, whose interval it keeps. */
  replacement: string;
}

export const DEPRECATED_METHODS: Record<string, DeprecatedMethod> = {
  users_find: { verb: 'POST', path: '/users/find', replacement: 'users' },
  branches_list: { verb: 'GET', path: '/reestr/branches', replacement: 'branches' },
};

/** When the interface came to call them deprecated, as RFC 9745 writes it: 1 January 2024. */
const DEPRECATED_SINCE = '@1704067200';

/**
 * Headers that say so, with a link to what replaces it (RFC 9745, RFC 5829). `path`: of the replacement, from the root.
 */
export const deprecationHeaders = (path: string): Record<string, string> => ({
  deprecation: DEPRECATED_SINCE,
  link: `<${path}>; rel="successor-version"`,
});
