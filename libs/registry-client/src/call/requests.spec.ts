import { describe, expect, it } from '@jest/globals';
import { loadProfile } from '../profile.js';
import { Requests } from './requests.js';

describe('the filter of a document list', () => {
  it('names type and status as the profile does, in the query of a GET', () => {
    const { path } = new Requests(loadProfile('interface-v1')).list('list_outgoing', {
      docType: 415,
      status: 'processed',
    });
    expect(path).toMatch(/\/api\/v1\/documents\/outcome\?doc_type=415&status=PROCESSED&/);
  });

  it('names type and status as the profile does, in the body of a POST', () => {
    const { body } = new Requests(loadProfile('mdlp')).list('list_incoming', { docType: 601, status: 'processed' });
    expect(JSON.parse(body ?? '')).toMatchObject({ filter: { doc_type: 601, doc_status: 'PROCESSED_DOCUMENT' } });
  });

  it('follows an installation that names them otherwise', () => {
    const profile = loadProfile('interface-v1', {
      fields: { doc_type: 'kind', doc_status: 'state' },
      statuses: { FAILED: 'uploading', BROKEN: 'failed' },
    });
    expect(new Requests(profile).list('list_outgoing', { docType: 415, status: 'failed' }).path).toMatch(
      /kind=415&state=BROKEN&/,
    );
  });

  it('refuses in words a status for which the profile has several names, or none', () => {
    expect(() => new Requests(loadProfile('mdlp')).list('list_outgoing', { status: 'processing' })).toThrow(
      /PROCESSING_DOCUMENT, CORE_PROCESSING_DOCUMENT, CORE_PROCESSED_DOCUMENT/,
    );
    const profile = loadProfile('interface-v1', { statuses: { FAILED: 'uploading' } });
    expect(() => new Requests(profile).list('list_outgoing', { status: 'failed' })).toThrow(/no name for it/);
  });
});
