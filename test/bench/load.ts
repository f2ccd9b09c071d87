import { participant, type World } from '../../apps/cli/src/sample/world.js';

/** One arrival of 100 packs, of a standing consignment of its own. */
export interface Arrival {
  number: number;
  xml: string;
}

const PACKS = 100;

/**
 * Consignment and pack indexes of the `number`th arrival: 300 consignments of 500 arrivals each are there for every run
 * key.
 */
export function arrival(world: World, number: number, run: string): Arrival {
  const own = participant(world, 'own');
  const consignment = Math.floor(number / 500);
  const product = world.products[number % world.products.length] as World['products'][number];
  const first = (number % 500) * PACKS;
  const prefix = `${product.gtin}${run}${String(consignment).padStart(3, '0')}`;
  let items = '';
  for (let index = first; index < first + PACKS; index += 1)
    items += `<sgtin>${prefix}${String(index).padStart(5, '0')}</sgtin>`;
  const branch = own.branches[consignment % own.branches.length] as string;
  const supplier = participant(world, product.supplier).branches[0] as string;
  const xml =
    `<documents version="1.38"><accept action_id="701"><subject_id>${branch}</subject_id><counterparty_id>` +
    `${supplier}</counterparty_id><operation_date>2026-01-15T09:00:00+03:00</operation_date><order_details>${items}` +
    '</order_details></accept></documents>';
  return { number, xml };
}
