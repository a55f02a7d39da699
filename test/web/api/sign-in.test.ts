import { expect, test } from 'vitest';
import { type Login, type LoginStorage, Session } from '../../../src/web/api/session.ts';
import { SignInRenewal } from '../../../src/web/api/sign-in.ts';
import { makeSigningKey } from '../../../src/web/api/signing-key.ts';

class FakeStorage implements LoginStorage {
  login: Login | undefined;
  beforeSaved: () => Promise<void> = async () => {};
  load = async () => this.login;
  save = async (login: Login) => {
    const { beforeSaved } = this;
    this.beforeSaved = async () => {};
    await beforeSaved();
    this.login = login;
  };
  clear = async () => {
    this.login = undefined;
  };
}

async function loginOf(id: string): Promise<Login> {
  const key = await makeSigningKey();
  const times = { issuedAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-01T12:00:00Z' };
  return { token: `at1.${id}-before`, person: 'ann', signIn: { id, title: 'Ann', ...times, key } };
}

/** A page that is signed in; `meanwhile` runs while the hub answers the renewal with `status`. */
async function page(meanwhile: (session: Session) => Promise<void>, status = 200) {
  const tab = new FakeStorage();
  const session = new Session({ tab, browser: new FakeStorage() });
  await session.signIn(await loginOf('a'));
  const renewal = new SignInRenewal(session, async (path) => {
    if (path.endsWith('/challenge')) return Response.json({ challenge: 'once' });
    await meanwhile(session);
    const answer = { sign_in_id: 'a', person: 'ann', title: 'Ann', token: 'at1.a-after', expires_at: '2026-01-02T00:00:00Z' };
    return Response.json(status === 200 ? answer : { code: 'TOKEN_INVALID', detail: 'ended' }, { status });
  });
  return { session, tab, renewal };
}

test('a renewal stores the new token', async () => {
  const { session, tab, renewal } = await page(async () => {});
  expect(await renewal.renew()).toBe(true);
  expect([session.login?.token, tab.login?.token]).toEqual(['at1.a-after', 'at1.a-after']);
});

test('who signs out while a renewal runs stays signed out, here and in the storage', async () => {
  const { session, tab, renewal } = await page((signedIn) => signedIn.signOut());
  expect(await renewal.renew()).toBe(false);
  expect([session.login, tab.login]).toEqual([undefined, undefined]);
});

test('who signs out while the new token is stored stays signed out', async () => {
  const { session, tab, renewal } = await page(async () => {});
  tab.beforeSaved = () => session.signOut();
  expect(await renewal.renew()).toBe(false);
  expect([session.login, tab.login]).toEqual([undefined, undefined]);
});

test.each([200, 401])('who signs in as somebody else while a renewal runs stays so, also if the hub answers %i', async (status) => {
  const other = await loginOf('b');
  const { session, tab, renewal } = await page((signedIn) => signedIn.signIn(other), status);
  expect(await renewal.renew()).toBe(false);
  expect([session.login?.token, tab.login?.token]).toEqual(['at1.b-before', 'at1.b-before']);
});
