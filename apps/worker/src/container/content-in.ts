import type { ToldContent, ToldItem } from '#domain';
import { defined } from '#kernel';
import type { FullHierarchy, HierarchyNode, HierarchyPack } from '#registry-client';
import { registryDay } from '../registry-day.js';

/** What an answer says of the content of this container; undefined where it says none of it. Pure. */
export function contentIn(sscc: string, { down }: FullHierarchy): ToldContent | undefined {
  const asked = down.find((node) => node.sscc === sscc);
  return asked && { sscc, items: itemsIn(asked) };
}

/** The client has limited the depth. */
const itemsIn = ({ sscc, containers, packs }: HierarchyNode): ToldItem[] => [
  ...packs.map((pack) => packIn(sscc, pack)),
  ...containers.flatMap((inner) => [{ id: inner.sscc, into: sscc }, ...itemsIn(inner)]),
];

const packIn = (into: string, { sgtin, series, expiresOn }: HierarchyPack): ToldItem => ({
  ...{ id: sgtin, into },
  ...defined({ series: series === '' ? undefined : series, expiresOn: registryDay(expiresOn) }),
});
