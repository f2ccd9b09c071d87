import { isJsonObject, type JsonObject, type JsonValue } from '#kernel';
import { objectOf } from '../call/answers.js';
import { READ_SURELY, type Caller } from '../call/caller.js';
import type { Reading } from '../call/classify.js';
import { readOutcome, type ReadOutcome } from '../call/read-outcome.js';
import { asList, day, instant, key, readRecord, readRecords, text, type RecordOf } from '../lists/shape.js';
import type { RawAnswer } from '../port.js';
import type { Profile } from '../profile.js';
import type { OperationName } from '../profile-names.js';
import { SGTIN, type SgtinRecord } from './sgtin-registry.js';

const LINK = {
  sscc: key('sscc'),
  packedAt: instant('release_date', 'packing_date'),
  systemSubjectId: text('system_subj_id'),
};
const NODE = {
  sscc: key('sscc'),
  packedAt: instant('packing_date', 'release_date'),
  ownerId: text('owner_id'),
  ownerName: text('owner_organization_name'),
};

/**
 * The containers around a container and the containers in it. Newer answers begin `down` with the asked container too;
 * it is left out.
 */
export interface SsccHierarchy {
  /** From the container that was asked for to the outermost. */
  up: RecordOf<typeof LINK>[];
  down: RecordOf<typeof LINK>[];
}

/** A pack in a hierarchy, with the decision that suspends it, if one does. */
export type HierarchyPack = SgtinRecord & { suspension?: { decisionId?: string; number?: string; decidedOn?: string } };
/** A container with all that is in it. */
export type HierarchyNode = RecordOf<typeof NODE> & { containers: HierarchyNode[]; packs: HierarchyPack[] };
export interface FullHierarchy {
  up: HierarchyNode[];
  down: HierarchyNode[];
}

/** Containers deeper than this are not packed by anybody; an answer with more is not understood. */
const DEEPEST = 32;

/**
 * Containers (public-facts 1.5). An unknown container, and one of somebody else, are answered with HTTP 200, an
 * error_code and empty lists: they are `not_found` and `access_denied` here. The packs of a container are the list
 * sscc_sgtins.
 */
export class SsccRegistry {
  constructor(private readonly caller: Caller) {}

  async hierarchy(account: string, sscc: string): Promise<ReadOutcome<SsccHierarchy>> {
    const outcome = await this.ask(account, sscc, {
      operation: 'sscc_hierarchy',
      branch: (value, profile) => readRecords(value, LINK, profile),
    });
    if (outcome.kind !== 'ok') return outcome;
    const { up, down } = outcome.value;
    return { ...outcome, value: { up, down: down.filter((one) => one.sscc !== sscc) } };
  }

  /** Nodes and leaves; the registry mixes both in `childs`, and gives single objects or lists. */
  async fullHierarchy(account: string, sscc: string): Promise<ReadOutcome<FullHierarchy>> {
    return this.ask(account, sscc, {
      operation: 'sscc_full_hierarchy',
      branch: (value, profile) => readNodes(value, profile, DEEPEST),
    });
  }

  private async ask<T>(
    account: string,
    sscc: string,
    { operation, branch }: { operation: OperationName; branch: (value: JsonValue[], profile: Profile) => Reading<T[]> },
  ): Promise<ReadOutcome<{ up: T[]; down: T[] }>> {
    const { profile, requests } = this.caller;
    const read = (raw: RawAnswer): Reading<{ up: T[]; down: T[] }> => {
      const json = objectOf(raw, profile);
      if ('problem' in json) return json;
      const { up: upName, down: downName } = profile.fields;
      if (!(upName in json.value) && !(downName in json.value))
        return { problem: `the answer has neither "${upName}" nor "${downName}"` };
      const up = readBranch(json.value, upName, (value) => branch(value, profile));
      if ('problem' in up) return up;
      const down = readBranch(json.value, downName, (value) => branch(value, profile));
      return 'problem' in down ? down : { value: { up: up.value, down: down.value } };
    };
    return readOutcome(
      await this.caller.call(account, operation, {
        request: requests.plain(operation, { sscc }),
        manner: READ_SURELY,
        read,
      }),
    );
  }
}

function readBranch<T>(json: JsonObject, name: string, read: (value: JsonValue[]) => Reading<T[]>): Reading<T[]> {
  const reading = read(asList(json[name]));
  return 'problem' in reading ? { problem: `"${name}"${reading.problem}` } : reading;
}

function readNodes(values: JsonValue[], profile: Profile, depthLeft: number): Reading<HierarchyNode[]> {
  const nodes: HierarchyNode[] = [];
  for (const [index, value] of values.entries()) {
    const node = readNode(value, profile, depthLeft);
    if ('problem' in node) return { problem: `[${index}]${node.problem.startsWith('[') ? '' : ': '}${node.problem}` };
    nodes.push(node.value);
  }
  return { value: nodes };
}

function readNode(value: JsonValue, profile: Profile, depthLeft: number): Reading<HierarchyNode> {
  if (depthLeft === 0) return { problem: `containers nested deeper than ${DEEPEST}` };
  const own = readRecord(value, NODE, profile);
  if ('problem' in own) return own;
  const children = asList(own.value.fields[profile.fields.childs]);
  const isPack = (child: JsonValue): boolean => isJsonObject(child) && typeof child[profile.fields.sgtin] === 'string';
  const packs = readRecords(children.filter(isPack), SGTIN, profile);
  if ('problem' in packs) return packs;
  const containers = readNodes(
    children.filter((child) => !isPack(child)),
    profile,
    depthLeft - 1,
  );
  if ('problem' in containers) return containers;
  return {
    value: {
      ...own.value,
      containers: containers.value,
      packs: packs.value.map((pack) => withSuspension(pack, profile)),
    },
  };
}

const SUSPENSION = {
  decisionId: text('pause_decision_id'),
  number: text('pause_decision_num'),
  decidedOn: day('pause_decision_date'),
};

function withSuspension(pack: SgtinRecord, profile: Profile): HierarchyPack {
  const info = pack.fields[profile.fields.pause_decision_info];
  if (!isJsonObject(info)) return pack;
  const reading = readRecord(info, SUSPENSION, profile);
  if ('problem' in reading) return pack;
  const { fields: _raw, ...suspension } = reading.value;
  return { ...pack, suspension };
}
