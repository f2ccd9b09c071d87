import { GATE_POLICIES, type GatePolicy } from '#domain';
import { sequenceRuleOf } from '#documents';

/** What is done about a document whose packs' known state forbids it, by document type. */
export type GatePolicies = ReadonlyMap<number | 'all', GatePolicy>;

/** A type and what is done, for example `415=warn`; `all` stands for every type that has a rule. */
const ENTRY = /^(all|\d{2,5})=(\w+)$/;

/** Reads `415=warn,511=refuse`. @throws Error that names the entry. */
export function readGatePolicies(text: string): GatePolicies {
  const policies = new Map<number | 'all', GatePolicy>();
  const entries = text.split(',').map((one) => one.trim());
  for (const entry of entries.filter((one) => one !== '')) {
    const [, type = '', policy = ''] = ENTRY.exec(entry) ?? [];
    const wanted = GATE_POLICIES.find((one) => one === policy);
    if (wanted === undefined) throw new Error(`"${entry}" is not TYPE=${GATE_POLICIES.join('|')}`);
    const key = type === 'all' ? type : Number(type);
    if (key !== 'all' && sequenceRuleOf(key) === undefined)
      throw new Error(`"${entry}": no rule says what state the packs of a document of type ${type} must have`);
    if (policies.has(key)) throw new Error(`"${entry}": ${type} is named twice`);
    policies.set(key, wanted);
  }
  return policies;
}

/**
 * What is done about a type: as the installation says, else a shipment is refused, and any other type with a rule goes
 * with a warning. A type without a rule is not judged.
 */
export function gatePolicyOf(docType: number, policies: GatePolicies): GatePolicy {
  const rule = sequenceRuleOf(docType);
  if (rule === undefined) return 'off';
  return policies.get(docType) ?? policies.get('all') ?? (rule.kind === 'shipment' ? 'refuse' : 'warn');
}
