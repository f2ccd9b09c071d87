/** Where two JSON values differ first. */
export interface Difference {
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
export function firstDifference(
  said: unknown,
  follows: unknown,
  { except = new Set(), isPartial = false }: Comparing = {},
): Difference | undefined {
  const walk = (one: unknown, other: unknown, pointer: string): Difference | undefined => {
    const differs = { pointer, said: JSON.stringify(one), follows: JSON.stringify(other) };
    if (!isObject(one) || !isObject(other)) return Object.is(one, other) ? undefined : differs;
    if (Array.isArray(one) !== Array.isArray(other)) return differs;
    if (Array.isArray(one) && Array.isArray(other) && one.length !== other.length)
      return { pointer: `${pointer}/length`, said: String(one.length), follows: String(other.length) };
    for (const name of new Set([...Object.keys(other), ...Object.keys(one)])) {
      if (except.has(name) && !Array.isArray(one)) continue;
      if (isPartial && !(Object.hasOwn(one, name) && Object.hasOwn(other, name))) continue;
      const found = walk(one[name], other[name], `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(said, follows, '');
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
