import { describe, expect, it } from '@jest/globals';
import { answer } from '../test/scripted-caller.js';
import { Readings } from './call/readings.js';
import { Requests } from './call/requests.js';
import { BUILT_IN_PROFILES, loadProfile } from './profile.js';
import { OPERATIONS, type OperationName } from './profile-names.js';

const DOCUMENT = { xml: Buffer.from('<a/>'), signature: Buffer.from('s'), requestId: 'r', bulkProcessing: true };

describe('interface-v1 to the letter', () => {
  const profile = loadProfile('interface-v1');

  it.each<[OperationName, string]>([
    ['send', 'POST /api/v1/documents/send'],
    ['list_incoming', 'GET /api/v1/documents/income'],
    ['list_outgoing', 'GET /api/v1/documents/outcome'],
    ['group_check', 'POST /api/v1/documents/bulk/check'],
    ['group_start', 'POST /api/v1/documents/bulk'],
    ['users', 'POST /api/v1/users/filter'],
    ['branches', 'POST /api/v1/reestr/branches/filter'],
  ])('calls %s by %s', (operation, expected) => {
    const { method, path } = new Requests(profile).plain(operation);
    expect(`${method} ${path}`).toBe(expected);
  });

  it('knows the five statuses and no other', () => {
    expect(profile.statuses).toEqual({
      UPLOADING_DOCUMENT: 'uploading',
      PROCESSING_DOCUMENT: 'processing',
      PROCESSED: 'processed',
      FAILED_RESULT_READY: 'failed_result_ready',
      FAILED: 'failed',
    });
  });

  it('has the limits that the interface states', () => {
    expect(profile.rules).toMatchObject({
      statusAfterSendMs: 3_000,
      receiptAfterStatusMs: 5_000,
      tokenLifeMs: 10 * 3_600_000,
      tokenIdleMs: 30 * 60_000,
      tokensPerUser: 10,
    });
  });

  it('begins with the interval of the example for every method', () => {
    expect(new Set(OPERATIONS.map((operation) => profile.operations[operation].intervalMs))).toEqual(new Set([100]));
  });
});

describe.each(BUILT_IN_PROFILES)('the built-in profile %s', (name) => {
  const profile = loadProfile(name);
  const calls = OPERATIONS.map(
    (operation) => `${profile.operations[operation].method} ${profile.operations[operation].path}`,
  );

  it('keeps the whole body of a send below 1 MiB, with the longest document and a long signature', () => {
    const longest = { ...DOCUMENT, xml: Buffer.alloc(profile.rules.maxDocumentBytes), signature: Buffer.alloc(16_000) };
    expect(Buffer.byteLength(new Requests(profile).send(longest).body ?? '')).toBeLessThan(1_048_576);
  });

  it('sends a document with the group flag as a boolean, under the names of the interface', () => {
    const request = new Requests(profile).send(DOCUMENT);
    expect([request.method, request.path]).toEqual(['POST', '/api/v1/documents/send']);
    expect(JSON.parse(request.body ?? '')).toMatchObject({ request_id: 'r', bulk_processing: true });
  });

  it('fills every path that the interface leaves open', () => {
    const open: OperationName[] = [
      'sign_in_code',
      'sign_in_token',
      'status',
      'find_by_request_id',
      'receipt',
      'download',
      'fetch_link',
      'archived_sgtin',
      'archived_sgtins_by_list',
      'archived_sgtin_documents',
      'suspended_sgtins',
      'suspension_decisions',
      'export_create',
      'export_state',
      'export_results',
      'export_file',
    ];
    for (const operation of open) expect(profile.operations[operation].path).toMatch(/^(\/\w|\{link\}$)/);
    // The links of receipts and uploads are the registry's own; everything else is told apart by method and path.
    const ours = calls.filter((call) => !call.includes('{link}'));
    expect(new Set(ours).size).toBe(ours.length);
  });

  it('carries the version in the prefix alone', () => {
    expect(profile.basePath).toBe('/api/v1');
    for (const call of calls) expect(call).not.toMatch(/\/api\/|\/v\d/);
  });

  it('names no deprecated method and none of the web cabinet', () => {
    for (const call of calls) {
      expect(call).not.toMatch(/\/users\/find$|^GET \/reestr\/branches$/);
      expect(call).not.toMatch(/ \/(web|cabinet)\//);
    }
  });
});

describe('mdlp', () => {
  it('begins with the intervals that public clients keep, from half a second to a minute', () => {
    const { operations } = loadProfile('mdlp');
    const interval = (operation: OperationName): number => operations[operation].intervalMs;
    expect([
      interval('send'),
      interval('list_outgoing'),
      interval('sgtins_by_list'),
      interval('sscc_hierarchy'),
      interval('export_create'),
    ]).toEqual([500, 1_000, 10_000, 20_000, 60_000]);
    for (const operation of OPERATIONS)
      expect([operation, interval(operation) >= 500 && interval(operation) <= 60_000]).toEqual([operation, true]);
  });
});

describe('an installation whose registry names things differently', () => {
  const profile = loadProfile('interface-v1', {
    operations: { send: { path: '/papers' }, status: { path: '/papers/{document_id}/state' } },
    fields: { request_id: 'our_id', doc_status: 'state', doc_num: 'number' },
    statuses: { DONE: 'processed' },
  });

  it('renames a path, a field and a status in its configuration, without code', () => {
    const request = new Requests(profile).send(DOCUMENT);
    expect(request.path).toBe('/api/v1/papers');
    expect(Object.keys(JSON.parse(request.body ?? '') as object)).toContain('our_id');
    expect(new Requests(profile).plain('status', { document_id: 'd' }).path).toBe('/api/v1/papers/d/state');
    const reading = new Readings(profile).document(
      answer({ document_id: 'd', our_id: 'r', state: 'DONE', number: 'A\\1' }),
    );
    expect(reading).toMatchObject({ value: { requestId: 'r', status: 'processed', docNum: 'A\\1' } });
  });
});
