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
  /** Called with the pointer of each member that was not compared, and is another one, up to the first difference. */
  onLeftOut?: (pointer: string) => void;
}

/** Two values, and the pointer to them. */
interface Compared {
  said: unknown;
  follows: unknown;
  at: string;
}

/**
 * The first difference between what was said and what follows, in the order of the latter; undefined where there is
 * none. Both are values that JSON has.
 */
export const firstDifference = (said: unknown, follows: unknown, comparing: Comparing = {}): Difference | undefined =>
  differenceOf({ said, follows, at: '' }, comparing);

function differenceOf({ said, follows, at }: Compared, comparing: Comparing): Difference | undefined {
  if (!isObject(said) || !isObject(follows)) return Object.is(said, follows) ? undefined : differing(said, follows, at);
  const isList = Array.isArray(said);
  if (isList !== Array.isArray(follows)) return differing(said, follows, at);
  if (isList && said['length'] !== follows['length'])
    return differing(said['length'], follows['length'], `${at}/length`);
  for (const name of new Set([...Object.keys(follows), ...Object.keys(said)])) {
    const member = { said: said[name], follows: follows[name], at: `${at}/${escaped(name)}` };
    const found = isNotCompared(name, [said, follows], comparing)
      ? void (differenceOf(member, {}) && comparing.onLeftOut?.(member.at))
      : differenceOf(member, comparing);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of a list all is compared: both are of one length. */
const isNotCompared = (name: string, both: object[], { except, isPartial }: Comparing): boolean =>
  except?.has(name) === true || (isPartial === true && !both.every((one) => Object.hasOwn(one, name)));

const differing = (said: unknown, follows: unknown, pointer: string): Difference => ({
  pointer,
  said: JSON.stringify(said),
  follows: JSON.stringify(follows),
});

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
