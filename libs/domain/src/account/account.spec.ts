import { describe, expect, it } from '@jest/globals';
import { decideAccount, type AccountCommand } from './decide.js';
import type { AccountCertificate, AccountEvent } from './events.js';
import { evolveAccount, NEW_ACCOUNT, type AccountState } from './state.js';

const CERTIFICATE: AccountCertificate = {
  thumbprint: 'a1'.repeat(20),
  certificateSha256: 'a'.repeat(64),
  subject: 'CN=main',
  validFrom: '2026-01-01T00:00:00.000Z',
  validTo: '2027-01-01T00:00:00.000Z',
};
const REFUSED: AccountCommand = {
  type: 'Pause',
  account: 'main',
  cause: 'signature',
  code: '17',
  text: 'the signature is not valid',
  answerSha256: 'b'.repeat(64),
  requestId: 'r-1',
};
const ENDED: AccountCommand = {
  type: 'Pause',
  account: 'main',
  cause: 'certificate',
  code: 'certificate_ended',
  text: 'it ended',
  thumbprint: CERTIFICATE.thumbprint,
};
const BLOCKED: AccountCommand = {
  type: 'Pause',
  account: 'main',
  cause: 'blocked',
  code: 'http_403',
  text: 'the user is blocked',
};
const RESUME: AccountCommand = { type: 'Resume', account: 'main' };

/** What becomes of an account that is told these one after another. */
function told(...commands: AccountCommand[]): { state: AccountState; events: AccountEvent[]; newest: AccountEvent[] } {
  const events: AccountEvent[] = [];
  let state = NEW_ACCOUNT;
  let newest: AccountEvent[] = [];
  for (const command of commands) {
    newest = decideAccount(state, command);
    state = newest.reduce(evolveAccount, state);
    events.push(...newest);
  }
  return { state, events, newest };
}

const types = (events: AccountEvent[]): string[] => events.map((event) => event.type);

describe('an account', () => {
  it('is paused with its cause, the answer and the document, and no secret', () => {
    const { type: _, ...because } = REFUSED;
    expect(told(REFUSED).newest).toEqual([{ type: 'AccountPaused', data: because }]);
    expect(told(REFUSED).state).toEqual({ phase: 'paused', because });
  });

  it('is paused once: the cause that came first stays', () => {
    expect(told(REFUSED, BLOCKED, REFUSED)).toMatchObject({
      newest: [],
      state: { phase: 'paused', because: { cause: 'signature' } },
    });
  });

  it('goes on when it is resumed, and is paused anew by the next refusal', () => {
    expect(told(REFUSED, RESUME).state).toEqual({ phase: 'active' });
    expect(types(told(REFUSED, RESUME, RESUME, BLOCKED).events)).toEqual([
      'AccountPaused',
      'AccountResumed',
      'AccountPaused',
    ]);
  });

  it(
    'is paused once for a document that its rights do not cover: after a resumption the same answer is the ' +
      "document's own",
    () => {
      const right: AccountCommand = {
        type: 'Pause',
        account: 'main',
        cause: 'rights',
        code: 'http_403',
        text: 'not your place',
        requestId: 'r-1',
      };
      expect(told(right, RESUME, right)).toMatchObject({ newest: [], state: { phase: 'active' } });
      expect(types(told(right, RESUME, { ...right, requestId: 'r-2' }).newest)).toEqual(['AccountPaused']);
      expect(types(told(right, RESUME, { ...right, code: 'other' }).newest)).toEqual(['AccountPaused']);
      expect(types(told(right, RESUME, { ...right, cause: 'blocked' }).newest)).toEqual(['AccountPaused']);
    },
  );

  it('is not resumed where it is not paused', () => {
    expect(told(RESUME).events).toEqual([]);
  });

  it('keeps to a person who let a certificate pass, and not for another fault or another certificate', () => {
    expect(told(ENDED, RESUME, ENDED).newest).toEqual([]);
    expect(types(told(ENDED, RESUME, { ...ENDED, code: 'certificate_of_another' }).newest)).toEqual(['AccountPaused']);
    expect(types(told(ENDED, RESUME, { ...ENDED, thumbprint: 'c3'.repeat(20) }).newest)).toEqual(['AccountPaused']);
    expect(types(told(ENDED, RESUME, REFUSED).newest)).toEqual(['AccountPaused']);
    // What the registry says is never let pass.
    expect(types(told(REFUSED, RESUME, REFUSED).newest)).toEqual(['AccountPaused']);
  });

  it('notes the certificate with which it signs when that is another one, paused or not', () => {
    const note: AccountCommand = { type: 'NoteCertificate', account: 'main', certificate: CERTIFICATE };
    expect(told(note, note).newest).toEqual([]);
    const other = { ...CERTIFICATE, certificateSha256: 'd'.repeat(64) };
    expect(told(note, REFUSED, { ...note, certificate: other }).state).toMatchObject({
      phase: 'paused',
      certificate: other,
    });
    expect(told(note, REFUSED, RESUME).state).toEqual({ phase: 'active', certificate: CERTIFICATE });
  });

  it('stops loudly at an event that it does not know', () => {
    expect(() => evolveAccount(NEW_ACCOUNT, { type: 'AccountForgotten' } as unknown as AccountEvent)).toThrow(
      'unknown account event',
    );
  });
});
