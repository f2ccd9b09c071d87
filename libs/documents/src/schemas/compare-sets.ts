import type { ElementShape } from './schema-model.js';
import type { SchemaSet } from './schema-set.js';

/** What one of two sets has and the other has not, or has otherwise. */
export interface SetDifference {
  what: 'element' | 'field' | 'attribute' | 'type';
  /** Path of the field below its action element; the name of an element or type. */
  name: string;
  /** In which of the two; `both` where they differ in what it may be. */
  in: 'first' | 'second' | 'both';
}

/** Elements that only one set has, fields and attributes of those that both have, and types of texts. */
export function compareSets(first: SchemaSet, second: SchemaSet): SetDifference[] {
  const shared = first.elements.filter((element) => second.elements.includes(element)).sort();
  return [
    ...differing('element', unordered(first.elements), unordered(second.elements)),
    ...shared.flatMap((element) => {
      const [one, other] = [first, second].map((set) => set.shapeOfElement(element)?.action) as [
        ElementShape,
        ElementShape,
      ];
      return [
        ...differing('field', fieldsOf(one), fieldsOf(other)),
        ...differing('attribute', attributesOf(one), attributesOf(other)),
      ];
    }),
    ...differing('type', first.simpleTypes, second.simpleTypes),
  ];
}

const unordered = (names: readonly string[]): Map<string, string> => new Map(names.map((name) => [name, '']));

function differing(
  what: SetDifference['what'],
  first: ReadonlyMap<string, string>,
  second: ReadonlyMap<string, string>,
): SetDifference[] {
  return [...new Set([...first.keys(), ...second.keys()])].sort().flatMap((name) => {
    if (first.get(name) === second.get(name)) return [];
    return [{ what, name, in: !second.has(name) ? 'first' : !first.has(name) ? 'second' : 'both' }];
  });
}

/** Fields by their path, with whether they repeat. */
const fieldsOf = (shape: ElementShape, path = shape.name): Map<string, string> =>
  new Map(
    (shape.children ?? []).flatMap((child) => {
      const place = `${path}/${child.name}`;
      return [[place, child.many ? 'repeats' : ''] as const, ...fieldsOf(child, place)];
    }),
  );

const attributesOf = (shape: ElementShape, path = shape.name): Map<string, string> =>
  new Map([
    ...shape.attributes.map((name) => [`${path}/@${name}`, ''] as const),
    ...(shape.children ?? []).flatMap((child) => [...attributesOf(child, `${path}/${child.name}`)]),
  ]);
