/** Where two JSON values differ first. */
interface Difference {
  /** RFC 6901 pointer. */
  pointer: string;
  /** As JSON; undefined where one of the two has no such member. */
  said: string | undefined;
  follows: string | undefined;
}

export interface Comparing {
  /** Members of these names are not compared, wherever they are. */
  except?: ReadonlySet<string>;
  /** A member that only one of the two has is no difference. */
  isPartial?: boolean;
}

/**
 * The first difference between what was said and what follows, in the order of the latter; undefined where there is
 * none. Both are values that JSON has.
 */
export function firstDifference(said: unknown, follows: unknown, comparing: Comparing = {}): Difference | undefined {
  if (!isObject(said) || !isObject(follows)) return Object.is(said, follows) ? undefined : differing(said, follows);
  const [isList, follow] = [Array.isArray(said), Array.isArray(follows)];
  if (isList !== follow) return differing(said, follows);
  if (isList && said['length'] !== follows['length'])
    return { ...differing(said['length'], follows['length']), pointer: '/length' };
  for (const name of namesIn(said, follows, isList ? {} : comparing)) {
    const found = firstDifference(said[name], follows[name], comparing);
    if (found !== undefined) return { ...found, pointer: `/${escaped(name)}${found.pointer}` };
  }
  return undefined;
}

/** The names that are compared, those of the second first. */
function namesIn(
  one: Record<string, unknown>,
  other: Record<string, unknown>,
  { except = new Set(), isPartial = false }: Comparing,
): string[] {
  const all = [...new Set([...Object.keys(other), ...Object.keys(one)])].filter((name) => !except.has(name));
  return isPartial ? all.filter((name) => Object.hasOwn(one, name) && Object.hasOwn(other, name)) : all;
}

const differing = (said: unknown, follows: unknown): Difference => ({
  pointer: '',
  said: JSON.stringify(said),
  follows: JSON.stringify(follows),
});

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
