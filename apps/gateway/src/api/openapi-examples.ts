import { requestIdOf, sha256Hex } from '#kernel';
import { stockUploadId } from '../stock-uploads/stock-uploads.js';

/**
 * Requests that work as they stand against the sandbox and its sample world (apps/sandbox/data/world.json): in their
 * order, each once. The registry rejects or halts some of them, so that what is done about it can be tried too.
 * test/scenarios/openapi-examples.int.spec.ts sends every one.
 */

const OURS = '00000000100101';
const SUPPLIER = '00000000200101';
const WHEN = '2026-03-02T10:00:00+03:00';
/**
 * A consignment that the supplier has shipped to us, and one that it has shipped to somebody else: to accept a pack of
 * that is rejected.
 */
const [TO_US, TO_OTHERS] = ['000', '900'];
const pack = (index: number, consignment: string = TO_US): string =>
  `04600000000015DOCSX${consignment}${String(index).padStart(5, '0')}`;

const arrivalXml = (sgtin: string): string =>
  `<documents version="1.38"><accept action_id="701"><subject_id>${OURS}</subject_id><counterparty_id>${SUPPLIER}` +
  `</counterparty_id><operation_date>${WHEN}</operation_date><order_details><sgtin>${sgtin}</sgtin>` +
  '</order_details></accept></documents>';
const arrival = (sgtin: string) => ({
  action_id: 701,
  subject_id: OURS,
  counterparty_id: SUPPLIER,
  operation_date: WHEN,
  order_details: { sgtin: [sgtin] },
});
const move = (sgtin: string) => ({
  action_id: 431,
  subject_id: OURS,
  receiver_id: '00000000100102',
  operation_date: WHEN,
  doc_num: 'M-1',
  doc_date: '02.03.2026',
  order_details: { sgtin: [sgtin] },
});

const XML = arrivalXml(pack(1));
const REASON = 'the supplier has corrected the list of packs';
const example = (summary: string, value: unknown) => ({ summary, value });

/** Bodies of `POST /v1/commands`. */
const commands = {
  xml: example('An arrival (701) as XML', { command_id: 'docs-xml', reference: 'Invoice 17', xml: XML }),
  json: example('An arrival (701) as JSON', {
    command_id: 'docs-json',
    reference: 'Invoice 18',
    document: arrival(pack(2)),
  }),
  after: example('A move (431) that comes after an arrival', {
    command_id: 'docs-after',
    document: move(pack(1)),
    after: ['docs-xml'],
  }),
  group: example('A group: processed in this order, until one fails', {
    command_id: 'docs-group',
    type: 'send_group',
    reference: 'Order 5',
    group: {
      members: [
        { command_id: 'docs-group-1', document: arrival(pack(3)) },
        { command_id: 'docs-group-2', document: move(pack(3)) },
      ],
    },
  }),
  rejected: example('One that the registry rejects: the pack was shipped to somebody else', {
    command_id: 'docs-rejected',
    document: arrival(pack(4, TO_OTHERS)),
  }),
  held: example('One that is held, because the one before it was rejected', {
    command_id: 'docs-held',
    document: arrival(pack(5)),
    after: ['docs-rejected'],
  }),
  held_group: example('A group that is held, for the same reason', {
    command_id: 'docs-held-group',
    type: 'send_group',
    after: ['docs-rejected'],
    group: { members: [{ command_id: 'docs-held-group-1', document: arrival(pack(6)) }] },
  }),
  halting: example('A group that halts at its first member', {
    command_id: 'docs-halting',
    type: 'send_group',
    group: {
      members: [
        { command_id: 'docs-halting-1', document: arrival(pack(7, TO_OTHERS)) },
        { command_id: 'docs-halting-2', document: arrival(pack(8)) },
      ],
    },
  }),
  resume: example('What was left of that group is sent again, once it has halted', {
    command_id: 'docs-resume',
    type: 'resume_group',
    resume: {
      group: 'docs-halting',
      corrected: { command_id: 'docs-halting-corrected', document: arrival(pack(9)) },
      reason: REASON,
    },
  }),
};

/** A stock file so small that it has one part. */
const STOCK = `item,place\n${pack(1)},${OURS}\n`;
export const PART_EXAMPLE = {
  text: STOCK,
  digest: `sha-256=:${Buffer.from(sha256Hex(STOCK), 'hex').toString('base64')}:`,
};
const STOCK_FILE = { name: 'stock.csv', bytes: Buffer.byteLength(STOCK), sha256: sha256Hex(STOCK) };
const UPLOAD = { uploadId: stockUploadId({ ...STOCK_FILE, moment: null }) };

/** Bodies by operation. */
export const BODIES = {
  giveCommand: commands,
  validateDocument: {
    json: example('An arrival (701) as JSON', arrival(pack(1))),
    wrong: example('One with a wrong pack and a field that is none', {
      ...arrival('0460'),
      colour: 'red',
    }),
  },
  resendDocument: {
    corrected: example('Corrected', { reason: REASON, document: arrival(pack(10)) }),
    unchanged: example('The same bytes again', { reason: 'the supplier has shipped it now' }),
  },
  releaseDocument: {
    release: example('Send it all the same', { reason: 'the two have nothing to do with one another' }),
  },
  endDocument: { end: example('End it', { reason: 'the goods went back to the supplier' }) },
  holdDocument: { hold: example('Hold it', { reason: 'quality looks at the packs' }) },
  releaseGroup: { release: example('Send it all the same', { reason: 'the two have nothing to do with one another' }) },
  endGroup: { end: example('End it', { reason: 'the goods went back to the supplier' }) },
  retryInbound: { again: example('Ask again', { reason: 'the registry has mended its archive' }) },
  retryAllInbound: {
    again: example('Ask again for all', {
      of_account: 'main',
      limit: 100,
      reason: 'the right to download was missing',
    }),
  },
  resumeGroup: {
    corrected: example('With a corrected member', {
      corrected: { command_id: 'docs-halting-mended', document: arrival(pack(11)) },
      reason: REASON,
    }),
  },
  addWebhook: {
    https: example('An address of the ERP', {
      url: 'https://erp.example/outcomes',
      description: 'ERP',
      reason: 'the ERP books outcomes from now on',
    }),
  },
  changeWebhookSecret: { yearly: example('Once a year', { reason: 'secrets are changed each year' }) },
  resumeWebhook: {
    here: example('Where it stopped', { reason: 'the ERP is up again' }),
    now: example('With what comes from now on', { from: 'now', reason: 'the ERP was set up anew' }),
  },
  resumeAccount: { resume: example('Go on', { reason: 'the new certificate is in place' }) },
  replanOrphans: { all: example('All of them', { reason: 'a person has looked at each' }) },
  retryTask: {
    parked: example('All that is parked of the saga of documents', {
      key: 'parked:document',
      reason: 'mended by the new version',
    }),
  },
  replayDeadLetter: {
    replay: example('Back into the queue', { reason: 'the account that it names is configured now' }),
  },
  discardDeadLetter: {
    discard: example('Nobody will mend it', { reason: 'a message of the test system, sent here by mistake' }),
  },
  checkPacks: {
    pick: example('Two packs that are to be picked, one of them as a scan', {
      purpose: 'pick',
      place: OURS,
      codes: [pack(1), `01${pack(2).slice(0, 14)}21${pack(2).slice(14)}`],
    }),
  },
  actOnCase: {
    acknowledge: example('Take note of it', { action: 'acknowledge', reason: 'the place is counted again today' }),
    split: example('Two packs become a case of their own', {
      ...{ action: 'split', items: [pack(1), pack(2)], reason: 'these two were seen in another room' },
    }),
  },
  releaseCase: { release: example('Send it', { reason: 'the container is empty here too' }) },
  actOnCases: {
    assign: example('Have somebody follow a case', {
      ...{ action: 'assign', assignee: 'anna', cases: ['0b8c5f0e-6c0e-5b61-9f0e-0d2f7a1c9e55'] },
      reason: 'anna is in that warehouse',
    }),
  },
  enterSuspension: {
    letter: example('A letter that suspends a series', {
      ...{ action: 'suspend', number: '01-1/26', date: '2026-03-01', from: 'the inspectorate' },
      ...{ product: 'Aspirin, tablets 500 mg', series: 'DOCS1' },
      file: { media_type: 'text/plain', base64: Buffer.from('Series DOCS1 is suspended.').toString('base64') },
      reason: 'it came by mail today',
    }),
  },
  actOnSuspension: {
    match: example('Say which packs it means', {
      ...{
        action: 'match',
        matches: [{ gtin: pack(1).slice(0, 14), series: 'DOCS1' }],
        reason: 'as our catalogue says',
      },
    }),
    reply: example('Reply, where nothing was found', {
      action: 'reply',
      places: [{ place: OURS, found: 0, quarantined: 0, shipped: 0, returned: 0 }],
      reason: 'the shelves were looked at',
    }),
    close: example('Close it', { action: 'close', reason: 'the reply was sent' }),
  },
  confirmSuspendedList: { confirm: example('It is right', { reason: 'the inspectorate confirms it by phone' }) },
  beginMockRecall: {
    now: example('Where is this series now?', {
      ...{ gtin: pack(1).slice(0, 14), series: 'A1-2026', reason: 'the yearly exercise' },
    }),
  },
  beginStockUpload: { small: example('A small file', STOCK_FILE) },
  requestReconciliation: {
    now: example('Now', { reason: 'a pallet is disputed' }),
    packs: example('Packs, with the newest stock', {
      ...{ reason: 'a pallet is disputed', packs: { dry_run: true, most_stock_hours: 48 } },
    }),
  },
};

/** Bodies of XML. */
export const XML_BODIES = {
  xml: example('An arrival (701) as XML', XML),
  wrong: example('One with a pack that is none', XML.replace(pack(1), '0460')),
};

export type OperationWithBody = keyof typeof BODIES;

/**
 * Path parameters by operation: what the commands above have made in this installation. An operation that is not here
 * is about what only the registry or the installation names.
 */
export function pathExamples(installationId: string): Record<string, Record<string, string>> {
  const id = (commandId: string): string => requestIdOf(installationId, commandId);
  return {
    showCommand: { commandId: 'docs-xml' },
    showDocument: { requestId: id('docs-xml') },
    listDocumentItems: { requestId: id('docs-xml') },
    resendDocument: { requestId: id('docs-rejected') },
    releaseDocument: { requestId: id('docs-held') },
    endDocument: { requestId: id('docs-held') },
    holdDocument: { requestId: id('docs-held') },
    showGroup: { groupId: id('docs-group') },
    releaseGroup: { groupId: id('docs-held-group') },
    endGroup: { groupId: id('docs-held-group') },
    resumeGroup: { groupId: id('docs-halting') },
    showPack: { sgtin: pack(1) },
    showPackHistory: { sgtin: pack(1) },
    showContainerHistory: { sscc: '046070999900000018' },
    showContainerContent: { sscc: '046070999900000018' },
    askSuspension: { gtin: pack(1).slice(0, 14), series: 'A1-2026' },
    showSeries: { gtin: pack(1).slice(0, 14), series: 'A1-2026' },
    readEvidence: { sha256: sha256Hex(Buffer.from(XML)) },
    resumeAccount: { name: 'main' },
    showStockUpload: UPLOAD,
    putStockUploadPart: { ...UPLOAD, n: '1' },
    finishStockUpload: UPLOAD,
  };
}
