import type { SandboxSettings } from '../config.js';
import type { FaultName, Faults } from '../faults/faults.js';
import { spreadOf } from '../seeded.js';
import type { RegistryDocument } from './document.js';

/** What misbehaviour has in store for a document, as the journal keeps it. */
interface Fate {
  mask: number;
  late: number;
  transient?: number;
  hide?: number;
  unlisted?: number;
}

/** For how long lists do not show what another participant or the system sends, as the journal keeps it. */
export function drawDelivery(faults: Faults): { unlisted?: number } {
  const unlisted = faults.take('late_in_list', 'list_incoming');
  return unlisted === undefined ? {} : { unlisted };
}

export function drawFate(faults: Faults): Required<Fate> {
  const take = (fault: FaultName): number => faults.take(fault, 'send') ?? 0;
  return {
    mask: take('failed_then_processed'),
    late: take('late_receipt'),
    transient: take('transient_rejected'),
    hide: take('hidden_after_send'),
    unlisted: take('late_in_list'),
  };
}

/** `v`: when it was sent. */
export function giveFate(
  document: RegistryDocument,
  { mask, late, transient = 0, hide = 0, unlisted, v }: Fate & { v: number },
): void {
  Object.assign(document, {
    maskForMs: mask,
    lateReceiptForMs: late,
    transientForMs: transient,
    hiddenUntilVirtualMs: hide === 0 ? 0 : v + hide,
    listedFromVirtualMs: listedFrom({ unlisted, v }),
  });
}

/** How long the registry works on the nth document. */
export function processingMsOf(
  { seed, processingMs, processingSpread }: Pick<SandboxSettings, 'seed' | 'processingMs' | 'processingSpread'>,
  index: number,
): number {
  const spread = spreadOf(seed, index);
  return Math.round(processingMs * (processingSpread === 'full' ? 2 * spread : 0.5 + spread));
}

/** From when on lists show what came at `v`. */
export const listedFrom = ({ unlisted = 0, v }: { unlisted?: number | undefined; v: number }): number =>
  unlisted === 0 ? 0 : v + unlisted;
