import { describe, expect, test } from 'vitest';
import { type Login, type LoginStorage, loginOfFragment, loginOfPaste, Session } from '../../../src/web/api/session.ts';
import { base64UrlOf, bytesOfBase64Url, makeSigningKey } from '../../../src/web/api/signing-key.ts';

const KEY = 'A'.repeat(43);
const link = (login: unknown): string => `#login=${Buffer.from(JSON.stringify(login)).toString('base64url')}`;

class FakeStorage implements LoginStorage {
  login: Login | undefined;
  load = async () => this.login;
  save = async (login: Login) => {
    this.login = login;
  };
  clear = async () => {
    this.login = undefined;
  };
}

function sessionOf() {
  const storages = { tab: new FakeStorage(), browser: new FakeStorage() };
  return { session: new Session(storages), storages };
}

describe('a login', () => {
  test('comes from a link with token, person and key', () => {
    expect(loginOfFragment(link({ token: 'at1.abcdef', person: 'ann', key: KEY }))).toEqual({
      token: 'at1.abcdef',
      person: 'ann',
      key: KEY,
    });
  });

  test('comes from a short link too, whatever is missing at its end', () => {
    expect(loginOfFragment(`#login=at1.abc.def~ann~${KEY}`)).toEqual({ token: 'at1.abc.def', person: 'ann', key: KEY });
    expect(loginOfFragment('#login=at1.abc.def~ann')).toEqual({ token: 'at1.abc.def', person: 'ann' });
    expect(loginOfFragment('#login=at1.abc.def')).toEqual({ token: 'at1.abc.def' });
  });

  test.each([
    ['an ordinary address', '#/home'],
    ['no base64url', '#login=%%'],
    ['no JSON', '#login=YWJj'],
    ['no token', link({ person: 'ann' })],
    ['a token with a line break', link({ token: 'at1.abc\r\nx: y' })],
  ])('is none: %s', (_what, fragment) => {
    expect(loginOfFragment(fragment)).toBeUndefined();
  });

  test('leaves out a key that is none', () => {
    expect(loginOfFragment(link({ token: 'at1.abcdef', key: 'short' }))).toEqual({ token: 'at1.abcdef' });
  });

  test('is pasted as a token, as a link or as JSON', () => {
    expect(loginOfPaste('  at1.abcdef\n')).toEqual({ token: 'at1.abcdef' });
    expect(loginOfPaste(`http://127.0.0.1:8081/${link({ token: 'at1.abcdef' })}`)).toEqual({ token: 'at1.abcdef' });
    expect(loginOfPaste('{"token":"at1.abcdef"}')).toEqual({ token: 'at1.abcdef' });
    expect(loginOfPaste('two words')).toBeUndefined();
  });

  test('holds bytes in base64url without loss', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_byte, index) => index);
    expect(bytesOfBase64Url(base64UrlOf(bytes))).toEqual(bytes);
  });
});

describe('a session', () => {
  test('is stored in the tab, and in the browser only if the person wants it', async () => {
    const { session, storages } = sessionOf();
    await session.signIn({ token: 'at1.abcdef' });
    expect([storages.tab.login, storages.browser.login]).toEqual([{ token: 'at1.abcdef' }, undefined]);
    await session.signIn({ token: 'at1.abcdef' }, { isKept: true });
    expect([storages.tab.login, storages.browser.login]).toEqual([undefined, { token: 'at1.abcdef' }]);
  });

  test('comes back after a reload', async () => {
    const { session, storages } = sessionOf();
    await session.signIn({ token: 'at1.abcdef' }, { isKept: true });
    const reloaded = new Session(storages);
    await reloaded.restore();
    expect(reloaded.login).toEqual({ token: 'at1.abcdef' });
    expect(reloaded.isKept).toBe(true);
  });

  test('works where the browser forbids its database', async () => {
    const { session, storages } = sessionOf();
    storages.browser.load = () => Promise.reject(new DOMException('denied'));
    storages.browser.clear = storages.browser.load as () => Promise<never>;
    await session.restore();
    await session.signIn({ token: 'at1.abcdef' });
    expect(session.login).toEqual({ token: 'at1.abcdef' });
  });

  test('that the hub ends has the error, deletes the login and notifies once', async () => {
    const { session, storages } = sessionOf();
    await session.signIn({ token: 'at1.abcdef', key: KEY });
    let changes = 0;
    session.subscribe(() => changes++);
    await Promise.all([session.signOut('TOKEN_EXPIRED'), session.signOut('TOKEN_INVALID')]);
    expect(session.login).toBeUndefined();
    expect(session.endedBy).toBe('TOKEN_EXPIRED');
    expect(storages.tab.login).toBeUndefined();
    expect(changes).toBe(1);
  });

  test('that the person ends has no error, also if the hub refused the token in the meantime', async () => {
    const { session } = sessionOf();
    await session.signIn({ token: 'at1.abcdef' });
    await session.signOut('TOKEN_INVALID');
    await session.signOut();
    expect([session.login, session.endedBy]).toEqual([undefined, undefined]);
  });

  test('keeps a key that this browser made', async () => {
    const { session, storages } = sessionOf();
    await session.signIn({ token: 'at1.abcdef' });
    const key = await makeSigningKey();
    await session.keepKey('ann', key);
    expect(storages.tab.login).toEqual({ token: 'at1.abcdef', person: 'ann', key });
  });

  test('of a person who is signed in is not replaced by a link before the person has agreed', async () => {
    const { session, storages } = sessionOf();
    await session.receiveLogin({ token: 'at1.mine', key: KEY });
    expect(session.login).toEqual({ token: 'at1.mine', key: KEY });
    await session.receiveLogin({ token: 'at1.of-a-spy', person: 'ann' });
    expect([session.login?.token, storages.tab.login?.token, session.offered?.token]).toEqual(['at1.mine', 'at1.mine', 'at1.of-a-spy']);
    session.refuseOffer();
    await session.acceptOffer();
    expect([session.login?.token, session.offered]).toEqual(['at1.mine', undefined]);
    await session.receiveLogin({ token: 'at1.other' });
    await session.acceptOffer();
    expect([session.login, session.offered]).toEqual([{ token: 'at1.other' }, undefined]);
  });

  test('from a link, and an invitation, are undecided until they are stored, declined or accepted', async () => {
    const { session } = sessionOf();
    const stored = session.receiveLogin({ token: 'at1.mine' });
    expect(session.isUndecided).toBe(true);
    await stored;
    expect(session.isUndecided).toBe(false);
    await session.receiveLogin({ token: 'at1.other' });
    expect(session.isUndecided).toBe(true);
    session.refuseOffer();
    expect(session.isUndecided).toBe(false);
    session.receiveInvitation('0123456789abcdefghjkmnpqrs');
    expect(session.isUndecided).toBe(true);
    session.receiveInvitation(undefined);
    expect(session.isUndecided).toBe(false);
  });

  test('that cannot be stored is not in progress any more', async () => {
    const { session, storages } = sessionOf();
    storages.tab.save = () => Promise.reject(new DOMException('full'));
    await expect(session.signIn({ token: 'at1.mine' })).rejects.toThrow('full');
    expect([session.isUndecided, session.login]).toEqual([false, undefined]);
  });

  test('keeps its key and its storage when the same link is opened again', async () => {
    const { session, storages } = sessionOf();
    await session.signIn({ token: 'at1.mine', person: 'ann', key: KEY }, { isKept: true });
    await session.receiveLogin({ token: 'at1.mine' });
    expect([session.isKept, storages.browser.login]).toEqual([true, { token: 'at1.mine', person: 'ann', key: KEY }]);
  });
});
