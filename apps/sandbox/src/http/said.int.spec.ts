import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { selfSigned } from '../../../../test/support/self-signed.js';
import { TestClient, type HttpAnswer } from '../../test/client.js';
import * as doc from '../../test/documents.js';
import { pack } from '../../test/documents.js';
import { signAs, signByPem } from '../../test/signer.js';

describe('what an error says', () => {
  let client: TestClient;
  afterEach(() => client.stop());

  const saying = ({ status, json }: HttpAnswer) => [status, json.error_description ?? json.error_desc];
  const foreign = (index: number) => `${doc.GTIN}FOREIGN${String(index).padStart(6, '0')}`;

  async function start(language: 'ru' | 'en'): Promise<void> {
    client = await TestClient.start({ language });
    const place = doc.PLACES.supplier;
    await client.control('POST', '/plant', {
      packs: [{ sgtin: foreign(1), owner: 'supplier-a', place, sscc: '046000000000000017' }],
    });
  }

  /** A 404, a pack and a container of somebody else, one that is not there, and a request_id that was sent. */
  async function answers(): Promise<unknown[]> {
    const requestId = randomUUID();
    await client.send(doc.accept([pack(1)]), { requestId });
    return [
      saying(await client.get(`/documents/${randomUUID()}`)),
      saying(await client.get(`/reestr/sgtin/${foreign(1)}`)),
      saying(await client.get('/reestr/sscc/046000000000000017/hierarchy')),
      saying(await client.get('/reestr/sscc/046000000000000024/hierarchy')),
      saying(await client.send(doc.accept([pack(2)]), { requestId })),
      saying(await client.post('/auth', { ...client.credentials(), client_secret: 'wrong' })),
      saying(await client.get('/reestr/sgtin/documents')),
    ];
  }

  it('is said in Russian, in the words of the live service where they are known', async () => {
    await start('ru');
    const prefix = 'Ошибка при выполнении операции: ';
    const theirs = 'Запрашиваемые данные доступны только текущему владельцу или контрагенту по операции';
    expect(await answers()).toEqual([
      [404, `${prefix}запись не найдена`],
      [403, theirs],
      [200, theirs],
      [200, 'Запрашиваемые данные не найдены'],
      [400, `${prefix}указанные данные уже зарегистрированы в системе`],
      [400, `${prefix}указанные данные не могут быть идентифицированы (не зарегистрированы)`],
      [400, `${prefix}sgtin is missing`],
    ]);
  });

  it('is said in English', async () => {
    await start('en');
    const prefix = 'Error during operation: ';
    const theirs = 'The requested data are open to the current owner or the counterparty of the operation only';
    expect(await answers()).toEqual([
      [404, `${prefix}the record was not found`],
      [403, theirs],
      [200, theirs],
      [200, 'The requested data were not found'],
      [400, `${prefix}these data are registered in the system already`],
      [400, `${prefix}these data cannot be identified (they are not registered)`],
      [400, `${prefix}sgtin is missing`],
    ]);
  });

  it('names a certificate that has expired', async () => {
    await start('ru');
    const made = selfSigned({ validTo: new Date(Date.now() - 60_000) });
    const late = { name: 'late', participant: 'own', clientId: 'c', clientSecret: 's' };
    const { json: user } = await client.control('POST', '/accounts', { ...late, certificatePem: made.certificate });
    const signIn = { client_id: 'c', client_secret: 's', user_id: user.userId, auth_type: 'SIGNED_CODE' };
    const { json } = await client.post('/auth', signIn);
    const signature = signByPem(made, Buffer.from(json.code));
    expect(saying(await client.post('/token', { code: json.code, signature }))).toEqual([
      400,
      'Ошибка при выполнении операции: срок действия сертификата истек',
    ]);
  });

  it('names one that has expired since the sign-in, under a document', async () => {
    await start('en');
    await client.token();
    const xml = doc.accept([pack(1)]);
    const later = jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2047-01-01'));
    const answer = await client.send(xml).finally(() => later.mockRestore());
    expect(saying(answer)).toEqual([400, 'Error during operation: the certificate has expired']);
    expect((await client.control('GET', '/violations')).json.byRule).toEqual({ bad_signature: 1 });
    expect((await client.send(xml)).status).toBe(200);
  });

  it('names a certificate of somebody else, and has the reason of the sandbox beside it', async () => {
    await start('ru');
    const { json } = await client.post('/auth', client.credentials());
    const signature = signAs('north', Buffer.from(json.code));
    const answer = await client.post('/token', { code: json.code, signature });
    expect(saying(answer)).toEqual([
      400,
      'Ошибка при выполнении операции: сертификат принадлежит другому пользователю',
    ]);
    expect(answer.headers.get('x-sandbox-reason')).toContain('registered for this user');
    const missing = await client.get(`/reestr/sgtin/${encodeURIComponent('пачка')}`);
    expect([missing.status, missing.headers.get('x-sandbox-reason')]).toEqual([
      404,
      expect.stringMatching(/^the pack [ -~]+ is not in this registry$/),
    ]);
  });
});
