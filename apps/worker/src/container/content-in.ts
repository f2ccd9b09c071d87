import { z } from 'zod';
import type { ToldContent, ToldItem } from '#domain';
import { defined } from '#kernel';
import type { FullHierarchy, HierarchyNode, HierarchyPack } from '#registry-client';

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
  ...defined({ series: series === '' ? undefined : series, expiresOn: dayOf(expiresOn) }),
});

/** As the registry writes days: DD.MM.YYYY, or ISO 8601 with or without a time. */
function dayOf(text = ''): string | undefined {
  const day = /^\d{4}-\d\d-\d\d/.exec(text)?.[0] ?? text.replace(/^(\d\d)\.(\d\d)\.(\d{4}).*$/, '$3-$2-$1');
  return z.iso.date().safeParse(day).data;
}
