/** The registry's own record, as the sandbox's control port tells it; no code of the product has a part in it. */

export interface PackTruth {
  id: string;
  status: string;
  /** The status in which a decision of suspension stopped it, where one did. */
  paused_from: string | null;
  owner: string;
  place: string;
  sscc: string | null;
  transfer: { from: string; to: string; order: 'direct' | 'reverse' } | null;
  series: string | null;
  part_used: string | null;
  halt_id: string | null;
}

export interface UnitTruth {
  id: string;
  owner: string;
  place: string;
  parent: string | null;
  packs: string[];
  containers: string[];
  unpacked: boolean;
}

export interface World {
  packs: PackTruth[];
  boxes: UnitTruth[];
  /** The packs in a container, however deep. */
  inside: (box: UnitTruth) => PackTruth[];
}

export interface DocumentTruth {
  request_id: string;
  document_id: string;
  doc_type: number;
  status: string;
  sender: string;
  receiver: string | null;
  result: string | null;
  processed_at: string | null;
}

type Control = <T>(path: string) => Promise<T>;

export async function worldOf(control: Control, packs: readonly string[], boxes: readonly string[]): Promise<World> {
  const packTruths = await Promise.all(
    packs.map(async (id) => ({ ...(await control<PackTruth>(`/truth/packs/${id}`)), id })),
  );
  const known = await Promise.all(
    boxes.map(async (id) => ({ ...(await control<UnitTruth & { known: boolean }>(`/truth/sscc/${id}`)), id })),
  );
  const units = new Map(known.filter((unit) => unit.known).map((unit) => [unit.id, unit]));
  const byId = new Map(packTruths.map((pack) => [pack.id, pack]));
  const inside = (box: UnitTruth): PackTruth[] => [
    ...box.packs.map((id) => byId.get(id) as PackTruth),
    ...box.containers.flatMap((id) => inside(units.get(id) as UnitTruth)),
  ];
  return { packs: packTruths, boxes: [...units.values()], inside };
}

/** Every document that the registry has taken after the one numbered `after`. */
export async function documentsSince(control: Control, after: number): Promise<DocumentTruth[]> {
  const all: DocumentTruth[] = [];
  for (let from: number | null = after; from !== null;) {
    const page: { documents: DocumentTruth[]; next: number | null } = await control(
      `/truth/documents?after=${from}&limit=1000`,
    );
    all.push(...page.documents);
    from = page.next;
  }
  return all;
}
