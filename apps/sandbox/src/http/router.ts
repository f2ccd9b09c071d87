import type { Profile } from '../profile.js';
import { DEPRECATED_METHODS } from '../registries/deprecated.js';

export interface Route {
  /** Key of the profile's operations. */
  method: string;
  params: Record<string, string>;
}

interface Pattern {
  method: string;
  verbs: Set<string>;
  segments: string[];
}

/**
 * Lists are GET by the interface and POST by the public protocol; the sandbox takes both (public-facts 4). So it does
 * where the verb is not known.
 */
const BOTH_VERBS = new Set(['list_outgoing', 'list_incoming', 'own_products']);
/** Where links lead; the shape that public clients saw (public-facts 1.2). */
const LINK_PATH = '/webdav/upload/{document_id}/{file}';

/**
 * Operations that are also reached without the identifier in their path: several at once, named in the query
 * (public-facts 1.5).
 */
const WITHOUT_PARAMETER: Record<string, string> = { sscc_full_hierarchy: '/{sscc}' };

/** Finds the operation of a path; the routes are the profile's. */
export class Router {
  private readonly patterns: Pattern[];

  constructor(profile: Profile) {
    this.patterns = Object.entries(profile.operations).map(([method, operation]) => {
      const path = operation.path === '{link}' ? LINK_PATH : `${profile.basePath}${operation.path}`;
      const verbs = BOTH_VERBS.has(method) ? ['GET', 'POST'] : [operation.method];
      return { method, verbs: new Set(verbs), segments: path.split('/') };
    });
    for (const [method, parameter] of Object.entries(WITHOUT_PARAMETER)) {
      const operation = profile.operations[method];
      if (operation !== undefined)
        this.add(method, operation.method, `${profile.basePath}${operation.path.replace(parameter, '')}`);
    }
    for (const [method, { verb, path }] of Object.entries(DEPRECATED_METHODS))
      this.add(method, verb, `${profile.basePath}${path}`);
    // A literal segment beats a parameter: /documents/outcome is not a document.
    this.patterns.sort((a, b) => parameters(a) - parameters(b));
  }

  private add(method: string, verb: string, path: string): void {
    this.patterns.push({ method, verbs: new Set([verb]), segments: path.split('/') });
  }

  /** The route, `wrong_verb` for a known path, or undefined. */
  match(verb: string, path: string): Route | 'wrong_verb' | undefined {
    // As the real service is known to be: a doubled or trailing slash changes nothing (public-facts 1).
    const segments = path.split('/').filter((segment, at) => at === 0 || segment !== '');
    let wrongVerb = false;
    for (const pattern of this.patterns) {
      const params = matchSegments(pattern.segments, segments);
      if (params === undefined) continue;
      if (pattern.verbs.has(verb)) return { method: pattern.method, params };
      wrongVerb = true;
    }
    return wrongVerb ? 'wrong_verb' : undefined;
  }
}

const isParameter = (segment: string): boolean => segment.startsWith('{');
const parameters = (pattern: Pattern): number => pattern.segments.filter(isParameter).length;

function matchSegments(pattern: string[], segments: string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (let at = 0; at < pattern.length; at += 1) {
    const expected = pattern[at] as string;
    const segment = segments[at] as string;
    if (isParameter(expected)) {
      params[expected.slice(1, -1)] = segment;
    } else if (expected !== segment) {
      return undefined;
    }
  }
  return params;
}
