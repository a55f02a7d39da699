import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SignInToken } from '../../../src/core/auth/people.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../../src/core/errors.ts';
import { ANN, household } from '../../auth/people/people-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { atmo, withDirectory } from '../cli-fixture.ts';

const URL_THERE = 'https://hub.local:8081';

/** A hub with a household, which answers as its routes do; `asked` has the paths and tokens. */
async function makeHub(tls: object = { enabled: true, url: URL_THERE, source: 'own_authority', fingerprint_sha256: 'AB:CD' }) {
  const home = await household({ clock: new ManualClock(Date.now()) });
  await home.people.add(ANN);
  const asked: string[] = [];
  const json = ({ signIn, person, token, expiresAtMs }: SignInToken) =>
    Response.json({ sign_in_id: signIn.id, person: person.name, title: person.title, token, expires_at: isoTime(expiresAtMs) });
  const answer = async (path: string, body: Record<string, string>, method = 'GET'): Promise<Response> => {
    if (method === 'DELETE') return Response.json(await home.people.endSignIn(path.split('/').at(-1) ?? ''));
    if (path.startsWith('/api/v1/approver-keys/')) return Response.json({ person: 'ann', key_id: path.split('/').at(-1) });
    if (method === 'POST' && path.startsWith('/api/v1/people') && !path.endsWith('invitation'))
      return Response.json({ name: 'tim', ...body });
    const { code = '', key = '', label = '', challenge = '', signature = '', sign_in_id: signInId = '' } = body;
    if (path === '/api/v1/sign-ins/challenge') return Response.json({ challenge: home.people.challenge() });
    if (path === '/api/v1/sign-ins') return json(await home.people.accept({ code, key, label, challenge, signature }));
    if (path === '/api/v1/sign-ins/renew') return json(await home.people.renew({ signInId, challenge, signature }));
    if (path === '/api/v1/tls') return Response.json(tls);
    if (path === '/api/v1/people/ann/invitation') {
      const made = await home.people.invite('ann');
      return Response.json({ person: 'ann', title: 'Ann', code: made.code, expires_at: isoTime(made.expiresAtMs) });
    }
    if (path === '/api/v1/people') return Response.json({ people: [{ name: 'ann', title: 'Ann', role: 'adult', rooms: ['hall'] }] });
    throw new AtmoError('NOT_FOUND', path);
  };
  const fetch = async (url: string, init?: RequestInit) => {
    const { pathname } = new URL(url);
    asked.push(`${pathname} ${new Headers(init?.headers).get('authorization') ?? ''}`.trim());
    try {
      return await answer(pathname, init?.body === undefined ? {} : JSON.parse(String(init.body)), init?.method);
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      return Response.json({ code, detail: message }, { status: ERROR_CODES[code].httpStatus });
    }
  };
  return { ...home, asked, fetch };
}

test('a person signs in from another machine with a code that is asked for, and the CLI renews the token itself', () =>
  withDirectory(async (dir) => {
    const { fetch, people, asked, clock } = await makeHub();
    const invited = await atmo(['people', 'invite', 'ann', '--cli'], {
      env: { HOME: dir, ATMO_TOKEN: 'at1.owner', ATMO_URL: URL_THERE },
      fetch,
    });
    expect(invited.out).toContain(`atmo login ${URL_THERE} --fingerprint SHA256:AB:CD\n`);
    const [, secret = ''] = /for: ([0-9A-Z-]{31})/.exec(invited.out) ?? [];
    const signedIn = await atmo(['login', URL_THERE], { env: { HOME: dir }, fetch, askSecret: async () => secret });
    expect([signedIn.code, signedIn.out]).toEqual([0, expect.stringContaining(`ann is signed in at ${URL_THERE} until somebody ends it`)]);
    expect(asked.filter((one) => one.startsWith('/api/v1/sign-ins'))).toEqual(['/api/v1/sign-ins/challenge', '/api/v1/sign-ins']);
    const file = join(dir, '.config/atmosphere-edge/login.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const login = JSON.parse(readFileSync(file, 'utf8'));
    expect((await atmo(['people'], { env: { HOME: dir }, fetch })).out).toContain('hall');
    expect(asked.at(-1)).toBe(`/api/v1/people Bearer ${login.token}`);

    clock.advance(7 * 3_600_000);
    writeFileSync(file, JSON.stringify({ ...login, sign_in: { ...login.sign_in, expires_at: new Date().toISOString() } }), { mode: 0o600 });
    await atmo(['people'], { env: { HOME: dir }, fetch });
    const renewed = JSON.parse(readFileSync(file, 'utf8'));
    expect([renewed.token === login.token, asked.at(-1)]).toEqual([false, `/api/v1/people Bearer ${renewed.token}`]);

    const [{ id } = { id: '' }] = people.signIns();
    await people.endSignIn(id);
    writeFileSync(file, JSON.stringify({ ...renewed, sign_in: { ...renewed.sign_in, expires_at: new Date().toISOString() } }), {
      mode: 0o600,
    });
    expect((await atmo(['people'], { env: { HOME: dir }, fetch })).err).toContain('This sign-in was ended');
  }));

test('a wrong code signs nobody in, and an address without encryption is refused', () =>
  withDirectory(async (dir) => {
    const { fetch, people } = await makeHub();
    const wrong = await atmo(['login', URL_THERE], { env: { HOME: dir }, fetch, askSecret: async () => '0'.repeat(26) });
    expect([wrong.code === 0, wrong.err, people.signIns()]).toEqual([false, expect.stringContaining('invitation is not known'), []]);
    const clear = await atmo(['login', 'http://hub.local:8081'], { env: { HOME: dir }, fetch, askSecret: async () => '0' });
    expect(clear.err).toContain('https://');
  }));

test('an invitation for a phone is refused while no phone reaches the hub', () =>
  withDirectory(async (dir) => {
    const { fetch, asked } = await makeHub({ enabled: false, url: 'http://127.0.0.1:8081' });
    const { code, err } = await atmo(['people', 'invite', 'ann', '--qr'], { env: { HOME: dir, ATMO_TOKEN: 'at1.x' }, fetch });
    expect([code, err]).toEqual([2, expect.stringContaining('Nobody else reaches')]);
    expect(asked.some((one) => one.includes('invitation'))).toBe(false);
  }));

test('without --qr the link of a hub that only this machine reaches comes with a word about that', () =>
  withDirectory(async (dir) => {
    const env = { HOME: dir, ATMO_TOKEN: 'at1.x' };
    const near = await makeHub({ enabled: false, url: 'http://127.0.0.1:8081' });
    const { code, out, err } = await atmo(['people', 'invite', 'ann'], { env, fetch: near.fetch });
    expect([code, out]).toEqual([0, expect.stringContaining('http://127.0.0.1:8081/#invite=')]);
    expect(err).toContain('works on this machine only');
    expect(err).toContain('ATMO_HTTP_HOST=0.0.0.0');
    const far = await makeHub();
    expect((await atmo(['people', 'invite', 'ann'], { env, fetch: far.fetch })).err).toBe('');
  }));

test('whoever adds a person has to say the role, and is told what the person may do', () =>
  withDirectory(async (dir) => {
    const { fetch, asked } = await makeHub();
    const run = (...argv: string[]) => atmo(['people', ...argv], { env: { HOME: dir, ATMO_TOKEN: 'at1.x' }, fetch });
    expect(await run('add', 'tim')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--role is missing: owner, adult, child, guest'),
    });
    expect(asked).toEqual([]);
    expect((await run('add', 'tim', '--role', 'child', '--room', 'hall', '--from', '07:00', '--to', '20:00')).out).toBe(
      'tim is in the household now, as child: hall; 07:00 to 20:00; everyday kinds, no locks\n"atmo people invite tim --qr" signs a phone in\n',
    );
    expect((await run('change', 'tim', '--role', 'adult')).out).toBe('tim is changed: adult: all rooms\n');
    expect((await run('add', 'tim', '--role', 'child', '--language', 'de')).code).toBe(2);
  }));

test('a logout ends the sign-in on the hub too, and says so if the hub did not', () =>
  withDirectory(async (dir) => {
    const { fetch, people } = await makeHub();
    const signIn = async () => {
      const { code: secret } = await people.invite('ann');
      await atmo(['login', URL_THERE], { env: { HOME: dir }, fetch, askSecret: async () => secret });
    };
    await signIn();
    const other = { HOME: dir, ATMO_TOKEN: 'at1.other', ATMO_URL: 'https://other.local:8081' };
    expect((await atmo(['logout'], { env: other, fetch })).out).toBe('logged out; the hub has ended the sign-in too\n');
    expect(people.signIns()).toEqual([]);

    await signIn();
    const [{ id } = { id: '' }] = people.signIns();
    const { code, out } = await atmo(['logout'], { env: { HOME: dir } });
    expect([code, out]).toEqual([0, expect.stringMatching(/^logged out on this machine only\. The hub did not end the sign-in: /)]);
    expect(out).toContain(`"atmo people sign-out ${id}"`);
    expect([people.signIns().length, (await atmo(['logout'], { env: { HOME: dir } })).out]).toEqual([1, 'nobody was logged in\n']);
  }));

test('a key is confirmed by its whole id, with spaces or without', () =>
  withDirectory(async (dir) => {
    const { fetch, asked } = await makeHub();
    const run = (...argv: string[]) => atmo(['approver', 'confirm', ...argv], { env: { HOME: dir, ATMO_TOKEN: 'at1.x' }, fetch });
    expect(await run('3f2a')).toMatchObject({ code: 2, err: expect.stringContaining('no whole id') });
    expect(asked).toEqual([]);
    expect((await run('3F2A', '91bc', '77d0', 'e412')).out).toBe('ann may approve with key 3f2a91bc77d0e412\n');
    expect(asked).toEqual(['/api/v1/approver-keys/3f2a91bc77d0e412 Bearer at1.x']);
  }));
