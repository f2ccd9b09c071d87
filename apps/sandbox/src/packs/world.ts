import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { identityOf, namesOf, passwordDigest, type Identity } from '../accounts/identity.js';
import { readJsonFile } from '../data-files.js';

/** A federal subject, and the district that it lies in. */
const regionShape = z.object({ code: z.string(), name: z.string(), district: z.string() });
const MOSCOW = { code: '77', name: 'Москва', district: '1' };

const participantShape = z.object({
  key: z.string(),
  systemId: z.string(),
  name: z.string(),
  branches: z.array(z.string()).min(1),
  retailBranches: z.array(z.string()).optional(),
  /** Of responsible storage; they stand in the register only, no document names them. */
  warehouses: z.array(z.string()).default([]),
  inn: z.string().optional(),
  kpp: z.string().optional(),
  ogrn: z.string().optional(),
  address: z.string().optional(),
  region: regionShape.default(MOSCOW),
});

const productShape = z.object({
  gtin: z.string(),
  prodSellName: z.string(),
  supplier: z.string(),
  prodName: z.string().optional(),
  form: z.string().optional(),
  dosage: z.string().optional(),
  packing: z.string().optional(),
  /** The primary pack and how much it holds. */
  primaryPack: z.string().optional(),
  primaryAmount: z.string().optional(),
  regNumber: z.string().optional(),
  /** `2020-01-15` */
  regDate: z.string().optional(),
  drugCode: z.string().optional(),
});

const accountShape = z.object({
  name: z.string(),
  participant: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  /** File beside the world's, for a user who signs; or login and password of one who does not. */
  certificate: z.string().optional(),
  userId: z.string().optional(),
  password: z.string().optional(),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  position: z.string().optional(),
  isAdmin: z.boolean().optional(),
  /** Every one when absent. */
  rights: z.array(z.string()).optional(),
});

const worldShape = z.object({
  participants: z.array(participantShape).min(1),
  products: z.array(productShape),
  standingConsignments: z.object({
    serial: z.string(),
    firstForeignConsignment: z.number(),
    foreignReceiver: z.string(),
    firstUnknownIndex: z.number(),
    series: z.string(),
    expirationDate: z.string(),
  }),
  accounts: z.array(accountShape),
});

export type Participant = z.infer<typeof participantShape>;
export type Product = z.infer<typeof worldShape>['products'][number];

/** A user of the registry. */
export interface Account
  extends Omit<z.infer<typeof accountShape>, 'participant' | 'certificate' | 'userId' | 'password'>, Identity {
  participant: Participant;
}

/** The country before anybody calls: who takes part, with which places, products and users. */
export interface World {
  participants: Map<string, Participant>;
  /** The participant of a place (14 digits) or system id. */
  participantAt(placeOrSystemId: string): Participant | undefined;
  products: Map<string, Product>;
  standing: z.infer<typeof worldShape>['standingConsignments'];
  /** To whom the standing consignments go. */
  standingReceiver: Participant;
  accountsByUser: Map<string, Account>;
  accountsByName: Map<string, Account>;
}

/** Every place of activity. */
export const placesOf = ({ participants }: World): string[] =>
  [...participants.values()].flatMap(({ branches }) => branches);

/** Reads the world and the certificates beside it. Throws an Error that names the file and the field. */
export function loadWorld(file: string): World {
  const parsed = worldShape.safeParse(readJsonFile(file));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  const { data } = parsed;
  const participants = new Map(data.participants.map((one) => [one.key, one]));
  const places = new Map(
    data.participants.flatMap((one) =>
      [one.systemId, ...one.branches, ...one.warehouses].map((place) => [place, one] as const),
    ),
  );
  const named = (key: string): Participant => {
    const participant = participants.get(key);
    if (participant === undefined) throw new Error(`${file}: there is no participant "${key}"`);
    return participant;
  };
  for (const product of data.products) named(product.supplier);
  named(data.standingConsignments.foreignReceiver);
  const accounts = data.accounts.map((one): Account => {
    const { certificate, password, userId, ...rest } = one;
    const identity = identityOf({
      userId,
      certificate: certificate === undefined ? undefined : readFileSync(join(dirname(file), certificate)),
      passwordSha256: password === undefined ? undefined : passwordDigest(password),
    });
    return { ...rest, participant: named(one.participant), ...identity };
  });
  const standingReceiver = data.participants[0] as Participant;
  return {
    participants,
    participantAt: (place) => places.get(place),
    products: new Map(data.products.map((one) => [one.gtin, one])),
    standing: data.standingConsignments,
    standingReceiver,
    accountsByUser: new Map(accounts.flatMap((one) => namesOf(one).map((name) => [name, one] as const))),
    accountsByName: new Map(accounts.map((one) => [one.name, one])),
  };
}
