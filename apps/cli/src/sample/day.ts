import type { DocumentJson } from '#documents';
import { checkDigitOf } from '#kernel';
import { seededRandom, type Random } from './random.js';
import { participant, type Participant, type World } from './world.js';

export type Expected = 'accepted' | 'partial' | 'rejected' | 'failed';

/** One command of the day: what is sent, and how it must end. */
export interface SampleCommand {
  commandId: string;
  account: string;
  after: string[];
  document: DocumentJson;
  expected: Expected;
}

export interface DayOptions {
  world: World;
  seed: number;
  /** Five characters of A-Z and 0-9: the consignments of this day are told apart from any other day's by it. */
  run: string;
  accounts: string[];
  /** When the day's operations took place. */
  at: Date;
  /** Consignments, each one chain of four documents. Default 75, which makes 300 documents. */
  consignments?: number;
  /** Packs in a consignment. Default 400, which makes 30,000 packs. */
  packs?: number;
}

/** What a chain draws from: its consignment's packs, where they are, and the people around. */
interface Chain {
  number: number;
  name: string;
  options: DayOptions;
  random: Random;
  own: Participant;
  branch: string;
  otherBranch: string;
  gtin: string;
  account: string;
  operationDate: string;
  docDate: string;
  /** The consignment's pack with this index. */
  pack(index: number, consignment?: number): string;
}

type Step = (
  chain: Chain,
  previous: string[],
) => Omit<SampleCommand, 'commandId' | 'account' | 'after'> & { after?: string[] };

/**
 * A distributor's day: every consignment is accepted (701), and then shipped, moved, packed, unpacked, sold or written
 * off. Some documents are wrong on purpose, for reasons that a registry really has: packs that nobody knows, packs of
 * another owner, the same document twice.
 */
export function sampleDay(options: DayOptions): SampleCommand[] {
  const random = seededRandom(options.seed);
  const commands: SampleCommand[] = [];
  for (let number = 0; number < (options.consignments ?? 75); number += 1) {
    const chain = chainOf(options, number, random);
    const ids: string[] = [];
    for (const [position, step] of [accept, ...stepsOf(chain)].entries()) {
      const commandId = `sample-${options.seed}-${chain.name}-${position + 1}`;
      const { after = ids.slice(0, 1), ...rest } = step(chain, ids);
      commands.push({ commandId, account: chain.account, after, ...rest });
      ids.push(commandId);
    }
  }
  return commands;
}

function chainOf(options: DayOptions, number: number, random: Random): Chain {
  const own = participant(options.world, 'own');
  const { gtin } = random.pick(options.world.products);
  const branchIndex = number % own.branches.length;
  return {
    number,
    name: String(number).padStart(3, '0'),
    options,
    random,
    own,
    gtin,
    branch: own.branches[branchIndex] as string,
    otherBranch: own.branches[(branchIndex + 1) % own.branches.length] as string,
    account: options.accounts[number % options.accounts.length] as string,
    operationDate: options.at.toISOString(),
    docDate: options.at.toISOString().slice(0, 10).split('-').reverse().join('.'),
    pack: (index, consignment = number) =>
      `${gtin}${options.run}${String(consignment).padStart(3, '0')}${String(index).padStart(5, '0')}`,
  };
}

/**
 * Three more documents for each chain; what a branch may do decides (only some sell at retail), and the chain's turn.
 */
function stepsOf(chain: Chain): [Step, Step, Step] {
  const turn = Math.floor(chain.number / chain.own.branches.length) % 5;
  const retail = chain.own.retailBranches.includes(chain.branch);
  if (turn === 0) return [pack, shipContainer, retail ? sell : withdraw];
  if (turn === 1) return [pack, moveContainer, unpack];
  if (turn === 2) return retail ? [sell, shipPartly, withdraw] : [move, shipPartly, withdraw];
  if (turn === 3) return [ship, sendAgain, withdrawUnknown];
  return [ship, shipForeign, retail ? sell : move];
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);
const packs = (chain: Chain, from: number, count: number): string[] =>
  range(from, count).map((index) => chain.pack(index));
const docNum = (chain: Chain, kind: string): string => `${kind}\\${chain.options.seed}/${chain.name}`;

/** The container that the chain packs: a valid SSCC of its own. */
function container(chain: Chain): string {
  const runDigits = [...chain.options.run]
    .map((letter) => String(letter.charCodeAt(0) % 100).padStart(2, '0'))
    .join('');
  const digits = `1${runDigits}${String(chain.number).padStart(6, '0')}`;
  return `${digits}${checkDigitOf(digits)}`;
}

const accept: Step = (chain) => ({
  expected: 'accepted',
  document: {
    action_id: 701,
    subject_id: chain.branch,
    counterparty_id: supplierOf(chain).branches[0] as string,
    operation_date: chain.operationDate,
    order_details: { sgtin: packs(chain, 0, chain.options.packs ?? 400) },
  },
});

function supplierOf(chain: Chain): Participant {
  const product = chain.options.world.products.find((one) => one.gtin === chain.gtin);
  return participant(chain.options.world, product?.supplier ?? '');
}

const priced = (items: string[]) => ({ union: items.map((sgtin) => ({ sgtin, cost: '120.50', vat_value: '10.95' })) });

const shipment = (chain: Chain, kind: string, details: DocumentJson['order_details']): DocumentJson => ({
  action_id: 415,
  subject_id: chain.branch,
  receiver_id: participant(chain.options.world, chain.random.pick(['customer-a', 'customer-b'])).branches[0] as string,
  operation_date: chain.operationDate,
  doc_num: docNum(chain, kind),
  doc_date: chain.docDate,
  turnover_type: '1',
  source: '1',
  contract_type: '1',
  order_details: details as NonNullable<DocumentJson['order_details']>,
});

const ship: Step = (chain) => ({
  expected: 'accepted',
  document: shipment(chain, 'SHIP', priced(packs(chain, 0, 80 + chain.random.below(20)))),
});

/** Five of the packs have never existed: the registry takes the rest. */
const shipPartly: Step = (chain) => {
  const unknown = range(chain.options.world.standingConsignments.firstUnknownIndex, 5).map((index) =>
    chain.pack(index),
  );
  return { expected: 'partial', document: shipment(chain, 'PART', priced([...packs(chain, 200, 90), ...unknown])) };
};

/** These packs were shipped to somebody else: we are not their owner. */
const shipForeign: Step = (chain) => {
  const { firstForeignConsignment } = chain.options.world.standingConsignments;
  const foreign = range(0, 40).map((index) => chain.pack(index, firstForeignConsignment + (chain.number % 100)));
  return { expected: 'rejected', document: shipment(chain, 'ALIEN', priced(foreign)), after: [] };
};

const shipContainer: Step = (chain, previous) => ({
  expected: 'accepted',
  after: [previous[1] as string],
  document: shipment(chain, 'BOX', {
    union: [{ sscc_detail: { sscc: container(chain) }, cost: '12050.00', vat_value: '1095.00' }],
  }),
});

const move: Step = (chain) => ({
  expected: 'accepted',
  document: { ...moveTo(chain, 'MOVE'), order_details: { sgtin: packs(chain, 100, 60 + chain.random.below(40)) } },
});

const moveTo = (chain: Chain, kind: string): DocumentJson => ({
  action_id: 431,
  subject_id: chain.branch,
  receiver_id: chain.otherBranch,
  operation_date: chain.operationDate,
  doc_num: docNum(chain, kind),
  doc_date: chain.docDate,
});

const moveContainer: Step = (chain, previous) => ({
  expected: 'accepted',
  after: [previous[1] as string],
  document: { ...moveTo(chain, 'MOVEBOX'), order_details: { sscc: [container(chain)] } },
});

const pack: Step = (chain) => ({
  expected: 'accepted',
  document: {
    action_id: 911,
    subject_id: chain.branch,
    sscc: container(chain),
    operation_date: chain.operationDate,
    content: { sgtin: packs(chain, 0, 100) },
  },
});

const unpack: Step = (chain, previous) => ({
  expected: 'accepted',
  after: [previous[2] as string],
  document: {
    action_id: 912,
    subject_id: chain.otherBranch,
    operation_date: chain.operationDate,
    sscc: [container(chain)],
  },
});

const sell: Step = (chain) => ({
  expected: 'accepted',
  document: {
    action_id: 511,
    subject_id: chain.branch,
    operation_date: chain.operationDate,
    sales: {
      union: range(0, 5).map((sale) => ({
        detail: packs(chain, 300 + sale * 10, 10).map((sgtin) => ({ sgtin, cost: '199.00', vat_value: '18.09' })),
        sale_docs: { doc_type: '1', doc_number: `${chain.name}-${sale}`, doc_date: chain.docDate },
      })),
    },
  },
});

const withdrawal = (chain: Chain, kind: string, sgtin: string[]): DocumentJson => ({
  action_id: 552,
  subject_id: chain.branch,
  operation_date: chain.operationDate,
  doc_num: docNum(chain, kind),
  doc_date: chain.docDate,
  withdrawal_type: '7',
  order_details: { sgtin },
});

const withdraw: Step = (chain) => ({
  expected: 'accepted',
  document: withdrawal(chain, 'WOFF', packs(chain, 390, 10)),
});

const withdrawUnknown: Step = (chain) => {
  const unknown = range(chain.options.world.standingConsignments.firstUnknownIndex, 10).map((index) =>
    chain.pack(index),
  );
  return { expected: 'rejected', document: withdrawal(chain, 'GHOST', unknown), after: [] };
};

/**
 * The very bytes of the arrival once more: the registry never processes the same document twice, and fails it without a
 * receipt.
 */
const sendAgain: Step = (chain, previous) => ({
  ...accept(chain, []),
  expected: 'failed',
  // After the shipment of its packs, which a failure before it would hold; and, named by itself, after the arrival.
  after: previous.slice(0, 2),
});
