import { describe, expect, test } from 'vitest';
import { holdersOf } from '../../../src/auth/people/person-grants.ts';
import { type Person, signInStatement } from '../../../src/core/auth/people.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { objectOf } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { ANN, browser, household, KilledStore, TIM } from './people-fixture.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const refusedAs = (code: string) => expect.objectContaining({ code });

describe('an invitation', () => {
  test.each(['ed25519', 'es256'] as const)('signs a browser with a key of the kind %s in, until it is ended', async (kind) => {
    const { people, signedIn, renew, isValid, clock, tokens } = await household();
    const { token, signIn, person, by } = await signedIn(TIM, browser(kind));
    expect([person.name, signIn.label, isValid(token)]).toEqual(['tim', 'Firefox on Android', true]);
    expect(tokens.issuer.principalOf(token)).toMatchObject({
      id: 'tim',
      permissions: expect.arrayContaining([expect.stringContaining('@area/hall+kitchen')]),
    });
    for (let day = 0; day < 30; day++) {
      clock.advance(24 * HOUR_MS);
      expect(isValid((await renew(signIn.id, by)).token)).toBe(true);
    }
    expect(people.signIns()).toMatchObject([{ id: signIn.id, person: 'tim', seenAtMs: clock.now() }]);
  });

  test('works once: another browser is refused, and the same one gets its sign-in again if the answer was lost', async () => {
    const { people, accept } = await household();
    await people.add(ANN);
    const { code } = await people.invite('ann');
    const by = browser();
    const { signIn } = await accept(code, by);
    await expect(accept(code, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    expect((await accept(code.toLowerCase().replaceAll('-', ' '), by)).signIn.id).toBe(signIn.id);
    await people.endSignIn(signIn.id);
    await expect(accept(code, by)).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    expect(people.signIns()).toEqual([]);
  });

  test('has 130 random bits, expires after ten minutes, and ends with the next one of the person', async () => {
    const { people, accept, clock } = await household();
    await people.add(ANN);
    const first = await people.invite('ann');
    expect(first.code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){5}[0-9A-HJKMNP-TV-Z]$/);
    const second = await people.invite('ann');
    expect(second.code).not.toBe(first.code);
    await expect(accept(first.code, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    clock.advance(10 * MINUTE_MS);
    await expect(accept(second.code, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID'));
  });

  test('is refused if it is guessed, if the signature is of another key or for something else, or if the challenge was used', async () => {
    const { people, accept, clock } = await household();
    await people.add(ANN);
    const { code } = await people.invite('ann');
    const by = browser();
    const guess = code.startsWith('0') ? code.replace('0', '1') : `0${code.slice(1)}`;
    await expect(accept(guess, by)).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    const challenge = people.challenge();
    const statement = signInStatement('accept', code.replaceAll('-', ''), challenge);
    await expect(accept(code, by, { challenge, signature: browser().sign(statement) })).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    await expect(accept(code, by, { challenge, signature: by.sign(statement) })).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    const renewing = people.challenge();
    const signature = by.sign(signInStatement('renew', code.replaceAll('-', ''), renewing));
    await expect(accept(code, by, { challenge: renewing, signature })).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    const old = people.challenge();
    clock.advance(61_000);
    await expect(accept(code, by, { challenge: old })).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    await expect(accept(code, by, { challenge: 'zzz.0.0' })).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    expect(people.signIns()).toEqual([]);
    expect((await accept(code, by)).person.name).toBe('ann');
  });

  test('that is wrong uses no challenge up', async () => {
    const { people, accept } = await household();
    await people.add(ANN);
    const { code } = await people.invite('ann');
    const challenge = people.challenge();
    await expect(accept('0'.repeat(26), browser(), { challenge })).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    expect((await accept(code, browser(), { challenge })).person.name).toBe('ann');
  });

  test('and its code stand in no audit row and nowhere in the store', async () => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const { people, accept, notes } = await household({ clock, store });
    await people.add(ANN);
    const { code } = await people.invite('ann');
    const { token } = await accept(code, browser());
    const plain = code.replaceAll('-', '');
    const stored = JSON.stringify(
      ['people', 'people.invitations', 'people.sign-ins', 'access.tokens'].map((space) => store.entries(space)),
    );
    for (const secret of [code, plain, token]) expect(stored + JSON.stringify(notes)).not.toContain(secret);
    expect(notes.map(({ event }) => event)).toEqual(['person.added', 'person.invited', 'sign_in.begun']);
  });
});

describe('a sign-in', () => {
  test('that is ended gets no token any more, and the ones that it has end at once', async () => {
    const { people, signedIn, renew, isValid } = await household();
    const { token, signIn, by } = await signedIn(ANN);
    const { token: second } = await renew(signIn.id, by);
    await people.endSignIn(signIn.id);
    expect([isValid(token), isValid(second)]).toEqual([false, false]);
    await expect(renew(signIn.id, by)).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    await expect(people.endSignIn(signIn.id)).rejects.toThrow(refusedAs('NOT_FOUND'));
  });

  test('is renewed only by its own key, and each request only once', async () => {
    const { people, signedIn, renew } = await household();
    const { signIn, by } = await signedIn(ANN);
    const challenge = people.challenge();
    await renew(signIn.id, by, challenge);
    await expect(renew(signIn.id, by, challenge)).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    await expect(renew(signIn.id, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID'));
  });

  test('is the last of sixteen of a person: one has to be ended for another, and other people can sign in', async () => {
    const { people, signedIn } = await household();
    for (let count = 0; count < 16; count++) await signedIn(ANN);
    await expect(signedIn(ANN)).rejects.toThrow(refusedAs('CONFLICT'));
    await signedIn(TIM);
    await people.endSignIn(people.signIns().find(({ person }) => person === 'ann')?.id ?? '');
    await signedIn(ANN);
  });

  test('is one of 256 of the hub', async () => {
    const { people, signedIn, store } = await household();
    await signedIn(ANN);
    const [{ value } = { value: null }] = store.entries('people.sign-ins');
    for (let count = 1; count < 256; count++) {
      store.set('people.sign-ins', `copy-${count}`, { ...objectOf(value), person: `person-${count % 30}` });
    }
    await expect(signedIn(TIM)).rejects.toThrow(refusedAs('CONFLICT'));
    await people.endSignIn('copy-1');
    await signedIn(TIM);
  });

  test('is renewed at most 60 times an hour', async () => {
    const { signedIn, renew, clock } = await household();
    const { signIn, by } = await signedIn(ANN);
    for (let count = 0; count < 60; count++) await renew(signIn.id, by);
    await expect(renew(signIn.id, by)).rejects.toThrow(refusedAs('RATE_LIMITED'));
    clock.advance(HOUR_MS);
    await renew(signIn.id, by);
  });

  test('ends the passkey and the keys that it offered, also where the hub was killed in between', async () => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = await household({ clock, store });
    const { people, signedIn, approvers, tokens } = first;
    await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    const { signIn, token } = await signedIn(ANN);
    const own = people.signInOf(tokens.issuer.principalOf(token));
    expect([own, people.signInOf(OWNER)]).toEqual([signIn.id, undefined]);
    const { keyId } = await people.offerKey('ann', { label: 'enrolled', key: browser().key, signIn: signIn.id });
    await approvers.confirm(keyId);
    await people.offerKey('ann', { label: 'offered', key: browser().key, signIn: signIn.id });
    await approvers.confirm((await people.offerKey('ann', { label: 'of before', key: browser().key })).keyId);
    const killed = await household({ clock, store: new KilledStore(store, 1), hub: first.hub });
    await killed.people.endSignIn(signIn.id).catch(() => undefined);
    expect(approvers.offers()).toHaveLength(1);
    const next = await household({ clock, store, hub: first.hub });
    expect([next.approvers.keysOf('ann').map(({ label }) => label), next.approvers.offers()]).toEqual([['of before'], []]);
    const other = await next.signedIn(ANN);
    await next.approvers.confirm(
      (await next.people.offerKey('ann', { label: 'tablet', key: browser().key, signIn: other.signIn.id })).keyId,
    );
    await next.people.endSignIn(other.signIn.id);
    expect(next.approvers.keysOf('ann').map(({ label }) => label)).toEqual(['of before']);
  });

  test('ends the approver key of the same browser, and no other', async () => {
    const { people, signedIn, approvers } = await household();
    await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    const { signIn, by } = await signedIn(ANN);
    await approvers.enrol({ person: 'ann', key: by.key, label: 'phone' });
    await people.endSignIn(signIn.id);
    expect(approvers.list().map(({ person }) => person)).toEqual(['owner']);
  });
});

describe('a person', () => {
  test('gets no name of an agent that has a token: it would count as the person', async () => {
    const { people, tokens } = await household();
    tokens.issuer.issue({ agentId: 'ann', permissions: ['device:read:*'], ttlMs: 3_600_000 }, OWNER);
    await expect(people.add(ANN)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('An agent with a token') });
    tokens.clock.advance(3_700_000);
    await expect(people.add(ANN)).resolves.toBeUndefined();
  });

  test('has what the role, rooms, kinds, end and hours allow at each renewal; a change ends the tokens of before', async () => {
    const { people, signedIn, renew, isValid, clock, tokens } = await household();
    const { token, signIn, by } = await signedIn(TIM);
    await people.change({ ...TIM, limits: { rooms: ['hall'], kinds: ['light'], untilMs: clock.now() + 2 * HOUR_MS } });
    expect(isValid(token)).toBe(false);
    const renewed = await renew(signIn.id, by);
    expect(tokens.issuer.principalOf(renewed.token).permissions).toEqual([
      'device:control:@area/hall/@type/light',
      'device:read:@area/hall/@type/light',
      'sensor:read:@area/hall/@type/light',
      'sign-in:end',
    ]);
    expect(renewed.expiresAtMs).toBe(clock.now() + 2 * HOUR_MS);
    clock.advance(2 * HOUR_MS);
    await expect(renew(signIn.id, by)).rejects.toThrow(refusedAs('PERMISSION_DENIED'));
  });

  test('with new limits loses the tokens of every other way too, with what came from them, and keeps them with a new title alone', async () => {
    const { people, signedIn, isValid, tokens, renew } = await household();
    const { signIn, by } = await signedIn(ANN);
    const issue = (agentId: string) => tokens.issuer.issue({ agentId, permissions: ['*'], ttlMs: HOUR_MS }, OWNER);
    const login = issue('ann');
    const child = tokens.issuer.issue({ agentId: 'helper', permissions: ['device:read:*'], ttlMs: HOUR_MS }, login.principal).token;
    const [monitor, namesake] = [issue('monitor').token, issue('anna').token];
    await people.change({ ...ANN, title: 'Anne' });
    expect([login.token, child].map(isValid)).toEqual([true, true]);
    await people.change({ ...ANN, limits: { rooms: ['hall'] } });
    expect([login.token, child, monitor, namesake].map(isValid)).toEqual([false, false, true, true]);
    expect((await renew(signIn.id, by)).person.limits).toEqual({ rooms: ['hall'] });
    await people.change({ name: 'owner', title: 'Boss', role: 'owner', limits: {} });
    expect(isValid(monitor)).toBe(true);
    await people.change({ ...ANN, role: 'owner', limits: {} });
    const asOwner = issue('ann').token;
    await people.remove('ann');
    expect([asOwner, monitor].map(isValid)).toEqual([false, true]);
  });

  test('is removed for those who keep something of that person before the name is free; what they cannot store is done at the next start', async () => {
    const { people, store } = await household();
    await people.add(ANN);
    const told: unknown[] = [];
    const stop = people.onRemoved((name) => {
      told.push([name, people.find(name), store.get('people', name) === undefined]);
      if (told.length === 1) throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    });
    await expect(people.remove('ann')).rejects.toThrow(refusedAs('STORAGE_FAILED'));
    await expect(people.add(ANN)).rejects.toThrow(refusedAs('CONFLICT'));
    await people.start();
    expect(told).toEqual([
      ['ann', undefined, false],
      ['ann', undefined, false],
    ]);
    await people.add(ANN);
    stop();
    await people.remove('ann');
    expect(told).toHaveLength(2);
  });

  test('of an earlier version may have a language in the record, which nothing reads', async () => {
    const store = new MemoryKeyValueStore(new ManualClock());
    store.set('people', 'ann', { title: 'Ann', role: 'adult', language: 'de' });
    const { people } = await household({ store });
    expect(people.find('ann')).toEqual(ANN);
  });

  test('with the only keys that may approve is not removed, and stays one that may approve', async () => {
    const { people, approvers } = await household();
    await people.add(ANN);
    await approvers.enrol({ person: 'ann', key: browser().key, label: 'phone' });
    await expect(people.remove('ann')).rejects.toThrow('ann has the only keys that may approve');
    await expect(people.change({ ...TIM, name: 'ann' })).rejects.toThrow('ann has the only keys that may approve');
    expect(people.find('ann')).toEqual(ANN);
    await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    await people.remove('ann');
    expect(people.find('ann')).toBeUndefined();
  });

  test('is given rights only by who has them all: the owner, or somebody with no less', async () => {
    const { people } = await household();
    const by = (permissions: readonly string[], kind: 'agent' | 'owner' = 'agent') => ({ id: 'x', kind, permissions });
    for (const caller of [by(['device:control:*']), by(['*'])])
      expect(() => people.requireRightsOf({ ...ANN, role: 'owner' }, caller)).toThrow(refusedAs('PERMISSION_DENIED'));
    expect(() => people.requireRightsOf(ANN, by(['device:control:*']))).toThrow(/may do more than you/);
    people.requireRightsOf(TIM, by(['*']));
    people.requireRightsOf({ ...ANN, role: 'owner' }, by([], 'owner'));
  });

  test.each<[string, Person, RegExp]>([
    ['33 rooms', { ...TIM, limits: { rooms: Array.from({ length: 33 }, (_, room) => `room-${room}`) } }, /1 to 32 names/],
    ['no rooms', { ...TIM, limits: { rooms: [] } }, /1 to 32 names/],
    ['a room that is no name', { ...TIM, limits: { rooms: ['Living room'] } }, /such as "living-room"/],
    ['hours that are none', { ...TIM, limits: { hours: { from: '7:00', to: '20:00' } } }, /two different times/],
    ['hours without an end', { ...TIM, limits: { hours: { from: '07:00', to: '24:00' } } }, /two different times/],
    ['the same time twice', { ...TIM, limits: { hours: { from: '07:00', to: '07:00' } } }, /two different times/],
    ['a guest without an end', { ...TIM, role: 'guest', limits: {} }, /A guest needs an end/],
    ['an owner with limits', { ...ANN, role: 'owner', limits: { rooms: ['hall'] } }, /have no limits/],
  ])('is not added with %s', async (_what, person, message) => {
    const { people } = await household();
    await expect(people.add(person)).rejects.toThrow(message);
    expect(people.find(person.name)).toBeUndefined();
  });

  test('is admitted in the hours of the day alone, and the token ends with them', async () => {
    const { signedIn, renew, clock } = await household();
    const pad = (hour: number) => `${String((hour + 24) % 24).padStart(2, '0')}:00`;
    const hour = new Date(clock.now()).getHours();
    const { expiresAtMs, signIn, by } = await signedIn({ ...TIM, limits: { hours: { from: pad(hour - 1), to: pad(hour + 3) } } });
    expect(expiresAtMs - clock.now()).toBe(3 * HOUR_MS);
    clock.advance(4 * HOUR_MS);
    await expect(renew(signIn.id, by)).rejects.toThrow(/from \d\d:00 to \d\d:00/);
    clock.advance(19 * HOUR_MS);
    expect((await renew(signIn.id, by)).person.name).toBe('tim');
  });

  test('does not have the name of the page of the owner, whose tokens would end with it', async () => {
    const { people } = await household();
    await expect(people.add({ ...ANN, name: 'monitor' })).rejects.toThrow(refusedAs('VALIDATION_ERROR'));
    expect(people.find('monitor')).toBeUndefined();
  });

  test('who is a guest needs an end, which is a time', async () => {
    const { people, clock } = await household();
    const guest = (limits: Person['limits']): Person => ({ ...ANN, name: 'gus', role: 'guest', limits });
    for (const limits of [{}, { untilMs: 0 }, { untilMs: 1.5 }])
      await expect(people.add(guest(limits))).rejects.toThrow(refusedAs('VALIDATION_ERROR'));
    await people.add(guest({ untilMs: clock.now() + HOUR_MS }));
    expect(people.find('gus')?.role).toBe('guest');
  });

  test('who is removed loses sign-ins, tokens, keys and invitations at once', async () => {
    const { people, signedIn, isValid, approvers, tokens, accept, renew } = await household();
    await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    const { token, signIn, by } = await signedIn(ANN);
    const minted = tokens.issuer.issue({ agentId: 'ann', permissions: ['device:read:*'], ttlMs: HOUR_MS }, OWNER).token;
    await approvers.enrol({ person: 'ann', key: browser().key, label: 'laptop' });
    const { code } = await people.invite('ann');
    await people.remove('ann');
    expect([isValid(token), isValid(minted)]).toEqual([false, false]);
    await expect(accept(code, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    await expect(renew(signIn.id, by)).rejects.toThrow(refusedAs('TOKEN_INVALID'));
    expect([approvers.keysOf('ann'), people.find('ann'), people.signIns()]).toEqual([[], undefined, []]);
  });

  test('who becomes a child may not approve any more', async () => {
    const { people, approvers, signedIn } = await household();
    await signedIn(ANN);
    await approvers.enrol({ person: 'ann', key: browser().key, label: 'phone' });
    await expect(people.change({ ...ANN, role: 'child' })).rejects.toThrow(refusedAs('CONFLICT'));
    await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    await people.change({ ...ANN, role: 'child' });
    expect(approvers.keysOf('ann')).toEqual([]);
  });

  test('who is removed, or becomes a child, leaves no key that somebody could confirm later', async () => {
    const { people, approvers, signedIn } = await household();
    await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    await signedIn(ANN);
    await people.offerKey('ann', { label: 'phone', key: browser().key });
    await people.change({ ...ANN, role: 'child' });
    expect(approvers.offers()).toEqual([]);
    await people.change(ANN);
    const { keyId } = await people.offerKey('ann', { label: 'phone', key: browser().key });
    await people.remove('ann');
    expect(approvers.offers()).toEqual([]);
    await expect(approvers.confirm(keyId)).rejects.toThrow(refusedAs('NOT_FOUND'));
  });

  test('enrols a key only as an adult or owner who is admitted', async () => {
    const { people, approvers, clock } = await household();
    await people.add(TIM);
    await people.add({ ...ANN, limits: { untilMs: clock.now() + HOUR_MS } });
    await expect(approvers.enrol({ person: 'tim', key: browser().key, label: 'phone' })).rejects.toThrow(refusedAs('PERMISSION_DENIED'));
    const { keyId } = await people.offerKey('ann', { label: 'phone', key: browser().key });
    await approvers.confirm((await people.offerKey('ann', { label: 'laptop', key: browser().key })).keyId);
    expect(approvers.decidingKeysOf('ann')).toHaveLength(1);
    clock.advance(HOUR_MS);
    await expect(approvers.confirm(keyId)).rejects.toThrow(refusedAs('PERMISSION_DENIED'));
    expect(() => approvers.decidingKeysOf('ann')).toThrow(refusedAs('PERMISSION_DENIED'));
    await approvers.enrol({ person: 'somebody', key: browser().key, label: 'laptop' });
    expect(approvers.decidingKeysOf('somebody')).toHaveLength(1);
  });

  test('is the owner, everybody with an approver key, and nobody by the name alone of an agent of the owner', async () => {
    const { people, approvers, signedIn, tokens } = await household();
    await approvers.enrol({ person: 'bob', key: browser().key, label: 'laptop' });
    expect(people.list().map(({ name, role }) => `${name} ${role}`)).toEqual(['bob adult', 'owner owner']);
    expect(people.personOf(OWNER)?.name).toBe('owner');
    expect(people.personOf({ id: 'monitor', kind: 'agent', permissions: ['*'] })).toBeUndefined();
    const owner = await people.invite('owner').then(async ({ person }) => (await signedIn(person)).token);
    const principal = tokens.issuer.principalOf(owner);
    expect([principal.id, people.personOf(principal)?.name]).toEqual(['monitor', 'owner']);
    await expect(people.remove('owner')).rejects.toThrow(refusedAs('CONFLICT'));
    await expect(people.add(TIM).then(() => people.add(TIM))).rejects.toThrow(refusedAs('CONFLICT'));
  });
});

describe('a hub that is killed', () => {
  test.each([0, 1, 2, 3, 4, 5])('after change %i of an invitation and its acceptance lets the browser sign in once', async (changes) => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = await household({ clock, store });
    await first.people.add(ANN);
    const killed = await household({ clock, store: new KilledStore(store, changes), hub: first.hub });
    const code = await killed.people.invite('ann').then(
      (made) => made.code,
      () => undefined,
    );
    const by = browser();
    const answer = code === undefined ? undefined : await killed.accept(code, by).catch(() => undefined);
    const next = await household({ clock, store, hub: first.hub });
    if (answer) expect(next.isValid(answer.token)).toBe(true);
    const { code: again } = code === undefined ? await next.people.invite('ann') : { code };
    const { signIn, token } = await next.accept(again, by);
    expect(next.people.signIns().map(({ id }) => id)).toEqual([signIn.id]);
    expect([answer?.signIn.id ?? signIn.id, next.isValid(token)]).toEqual([signIn.id, true]);
    await expect(next.accept(again, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID'));
  });

  test.each([0, 1, 2])('after change %i of a renewal renews again after the next start', async (changes) => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = await household({ clock, store });
    const { signIn, by } = await first.signedIn(ANN);
    const killed = await household({ clock, store: new KilledStore(store, changes), hub: first.hub });
    await killed.renew(signIn.id, by).catch(() => undefined);
    const next = await household({ clock, store, hub: first.hub });
    expect(next.isValid((await next.renew(signIn.id, by)).token)).toBe(true);
  });

  test.each([0, 1, 2, 3, 4, 5, 6])('after change %i of the end of a sign-in has ended all of it or nothing', async (changes) => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = await household({ clock, store });
    const { signIn, token, by } = await first.signedIn(ANN);
    const { token: second } = await first.renew(signIn.id, by);
    const killed = await household({ clock, store: new KilledStore(store, changes), hub: first.hub });
    const isTold = await killed.people.endSignIn(signIn.id).then(
      () => true,
      () => false,
    );
    const next = await household({ clock, store, hub: first.hub });
    const isLive = next.people.signIns().length === 1;
    expect(isTold && isLive).toBe(false);
    expect([next.isValid(token), next.isValid(second)]).toEqual([isLive, isLive]);
    await (isLive ? next.renew(signIn.id, by) : expect(next.renew(signIn.id, by)).rejects.toThrow(refusedAs('TOKEN_INVALID')));
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])('after change %i of a removal has removed the whole person or nothing', async (changes) => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = await household({ clock, store });
    await first.approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    const { token } = await first.signedIn(ANN);
    await first.approvers.enrol({ person: 'ann', key: browser().key, label: 'laptop' });
    const { code } = await first.people.invite('ann');
    const killed = await household({ clock, store: new KilledStore(store, changes), hub: first.hub });
    await killed.people.remove('ann').catch(() => undefined);
    const next = await household({ clock, store, hub: first.hub });
    const isThere = next.people.find('ann') !== undefined;
    expect([next.isValid(token), next.approvers.keysOf('ann').length, next.people.signIns().length]).toEqual(
      isThere ? [true, 1, 1] : [false, 0, 0],
    );
    await (isThere ? next.accept(code, browser()) : expect(next.accept(code, browser())).rejects.toThrow(refusedAs('TOKEN_INVALID')));
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7])('after change %i of a new role leaves no token and no key with rights of before', async (changes) => {
    const clock = new ManualClock();
    const store = new MemoryKeyValueStore(clock);
    const first = await household({ clock, store });
    await first.approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
    const { token } = await first.signedIn(ANN);
    await first.approvers.enrol({ person: 'ann', key: browser().key, label: 'laptop' });
    const login = first.tokens.issuer.issue({ agentId: 'ann', permissions: ['*'], ttlMs: HOUR_MS }, OWNER).token;
    const killed = await household({ clock, store: new KilledStore(store, changes), hub: first.hub });
    await killed.people.change({ ...ANN, role: 'child' }).catch(() => undefined);
    const next = await household({ clock, store, hub: first.hub });
    const isAsBefore = next.people.find('ann')?.role === 'adult';
    expect([next.isValid(token), next.isValid(login), next.approvers.keysOf('ann').length]).toEqual(
      isAsBefore ? [true, true, 1] : [false, false, 0],
    );
    const later = next.tokens.issuer.issue({ agentId: 'ann', permissions: ['device:read:*'], ttlMs: HOUR_MS }, OWNER).token;
    const last = await household({ clock, store, hub: first.hub });
    expect(last.isValid(later)).toBe(true);
  });
});

test('those who hold permissions are persons who belong now and whose role and limits give all of them', () => {
  const nowMs = 1_000;
  const person = (name: string, role: Person['role'], limits: Person['limits'] = {}): Person => ({ name, title: name, role, limits });
  const persons = [
    person('olga', 'owner'),
    person('ann', 'adult'),
    person('ben', 'adult', { rooms: ['kitchen'] }),
    person('cleo', 'child'),
    person('dan', 'adult', { untilMs: nowMs }),
  ];
  const namesOf = (...permissions: string[]) => holdersOf(persons, permissions, nowMs).map(({ name }) => name);
  expect(namesOf('agent:spawn', 'device:control:@type/light')).toEqual(['olga', 'ann']);
  expect(namesOf('agent:spawn', 'admin:agents')).toEqual(['olga']);
  expect(namesOf('device:control:@area/kitchen')).toEqual(['olga', 'ann', 'ben']);
});
