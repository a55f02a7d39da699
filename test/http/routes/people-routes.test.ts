import { describe, expect, test } from 'vitest';
import { plainCode, signInStatement } from '../../../src/core/auth/people.ts';
import { type Browser, browser, household, TIM } from '../../auth/people/people-fixture.ts';
import { ask, makeHttpApi } from '../http-fixture.ts';

async function home() {
  const { people, tokens } = await household();
  await people.add(TIM);
  const { httpApi } = makeHttpApi({ people });
  const post = (path: string, body: unknown) => ask(httpApi, path, { body, token: null });
  const challenge = async () => String((await post('/api/v1/sign-ins/challenge', {})).json.challenge);
  const accept = async (code: string, by: Browser) => {
    const given = await challenge();
    const signature = by.sign(signInStatement('accept', plainCode(code), given));
    return post('/api/v1/sign-ins', { code, key: by.key, label: 'phone', challenge: given, signature });
  };
  const renew = async (id: string, by: Browser) => {
    const given = await challenge();
    return post('/api/v1/sign-ins/renew', { sign_in_id: id, challenge: given, signature: by.sign(signInStatement('renew', id, given)) });
  };
  return { people, tokens, httpApi, accept, renew };
}

describe('a browser without a token', () => {
  test('signs in with an invitation, renews its token, and is refused when the sign-in was ended', async () => {
    const { people, accept, renew, tokens } = await home();
    const by = browser('es256');
    const { status, json } = await accept((await people.invite('tim')).code, by);
    expect([status, json]).toEqual([
      201,
      {
        sign_in_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        person: 'tim',
        title: 'Tim',
        role: 'child',
        token: expect.stringMatching(/^at1\./),
        expires_at: expect.stringMatching(/Z$/),
      },
    ]);
    const renewed = await renew(json.sign_in_id, by);
    expect([renewed.status, tokens.issuer.inspect(renewed.json.token).state]).toEqual([200, 'valid']);
    await people.endSignIn(json.sign_in_id);
    expect((await renew(json.sign_in_id, by)).json.code).toBe('TOKEN_INVALID');
  });

  test('is not heard for a time after ten wrong invitations, not even with the right one', async () => {
    const { people, accept } = await home();
    const { code } = await people.invite('tim');
    for (let count = 0; count < 10; count++) {
      expect((await accept(`${String(count).padStart(5, '0')}${code.slice(5)}`, browser())).json.code).toBe('TOKEN_INVALID');
    }
    expect((await accept(code, browser())).json.code).toBe('RATE_LIMITED');
    expect(people.signIns()).toEqual([]);
  });

  test('is not heard for a time either if it repeats one wrong invitation', async () => {
    const { accept } = await home();
    for (let count = 0; count < 10; count++) expect((await accept('0'.repeat(26), browser())).json.code).toBe('TOKEN_INVALID');
    expect((await accept('0'.repeat(26), browser())).json.code).toBe('RATE_LIMITED');
  });

  test('renews its token while its address is locked out for wrong invitations', async () => {
    const { people, accept, renew } = await home();
    const by = browser();
    const { json } = await accept((await people.invite('tim')).code, by);
    const { code } = await people.invite('tim');
    for (let count = 0; count < 10; count++) await accept(`${String(count).padStart(5, '0')}${code.slice(5)}`, browser());
    for (let count = 0; count < 10; count++) expect((await renew(String(count).repeat(32), browser())).json.code).toBe('TOKEN_INVALID');
    expect((await accept(code, browser())).json.code).toBe('RATE_LIMITED');
    expect((await renew(json.sign_in_id, by)).status).toBe(200);
  });

  test.each([{}, { code: 7 }, { code: 'x'.repeat(300) }])('is told what is wrong with the body %j', async (body) => {
    const { httpApi } = await home();
    const { status, json } = await ask(httpApi, '/api/v1/sign-ins', { body, token: null });
    expect([status, json.code]).toEqual([400, 'VALIDATION_ERROR']);
  });
});

test('the owner is told who it is', async () => {
  const { httpApi } = await home();
  expect((await ask(httpApi, '/api/v1/me')).json).toEqual({
    agent_id: 'owner',
    person: { name: 'owner', title: 'Owner', role: 'owner' },
    administers_people: true,
  });
});
