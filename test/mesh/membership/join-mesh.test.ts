import { describe, expect, test } from 'vitest';
import { founder, hubKey, refusalOf, rejectionOf } from './membership-fixture.ts';
import { MeshFixture } from './mesh-fixture.ts';

async function house() {
  const host = await founder();
  const mesh = new MeshFixture(host.clock);
  return { mesh, host: await mesh.add(host) };
}

const invite = async (host: Awaited<ReturnType<typeof house>>['host'], addresses = [`${host.host}:1`]) =>
  (await host.admission.invite({ addresses })).text;

describe('joining a mesh', () => {
  test('with an address in the invite: the hub is a member, connects as one, and both survive a restart as members', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const joiner = await mesh.addNew();
    const inviter = await joiner.join({ invite: await invite(host) });
    expect(inviter.hubId).toBe(host.self.hubId);
    expect([joiner.membership.meshId(), joiner.engine.peers()]).toEqual([host.membership.meshId(), []]);
    await joiner.dial(host.host);
    expect(joiner.engine.peers().map(({ id }) => id)).toEqual([host.self.hubId]);
    expect(host.engine.peers().map(({ id }) => id)).toEqual([joiner.self.hubId]);
    expect(joiner.membership.record().addresses).toEqual([`${host.host}:1`]);
  });

  test('without one, at the hubs that were found: those that know nothing of the invite are passed by', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const stranger = await mesh.add(await founder({ clock: mesh.clock }));
    const joiner = await mesh.addNew();
    const found = [stranger, host].map((hub) => ({ host: hub.host, port: 1 }));
    expect((await joiner.join({ invite: await invite(host, []), found })).hubId).toBe(host.self.hubId);
    expect(stranger.gate.refusals()).toEqual({ other_mesh: 1 });
  });

  test('fails with what the hub of the invite said, not with the silence of another', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const text = await invite(host, [`${host.host}:1`, '192.0.2.1:1']);
    await (await mesh.addNew()).join({ invite: text });
    const late = await mesh.addNew();
    const refusal = await rejectionOf(late.join({ invite: text }));
    expect(refusal).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('used by another hub') });
    expect(late.membership.state()).toBe('none');
  });

  test('says that nobody answers, or that no address is known', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const joiner = await mesh.addNew();
    expect((await rejectionOf(joiner.join({ invite: await invite(host, ['192.0.2.1:1']) }))).code).toBe('NODE_UNAVAILABLE');
    const nowhere = await rejectionOf(joiner.join({ invite: await invite(host, []) }));
    expect(nowhere).toMatchObject({ code: 'NODE_UNAVAILABLE', message: expect.stringContaining('names no address') });
  });

  test('is refused by the joiner itself where the text is no invite or it is in another mesh', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const other = await mesh.add(await founder({ clock: mesh.clock }));
    expect((await rejectionOf(other.join({ invite: 'atmo-join1.' }))).code).toBe('VALIDATION_ERROR');
    const refusal = await rejectionOf(other.join({ invite: await invite(host) }));
    expect(refusal).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('atmo mesh leave') });
  });

  test('goes on after a kill of the joiner between the grant and its disk: the same hub tries again, no other hub gets in', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const text = await invite(host);
    const joiner = await mesh.addNew();
    const set = joiner.store.set.bind(joiner.store);
    joiner.store.set = () => {
      throw new RangeError('killed');
    };
    await rejectionOf(joiner.join({ invite: text }));
    expect(joiner.membership.state()).toBe('none');
    joiner.store.set = set;
    expect((await rejectionOf((await mesh.addNew()).join({ invite: text }))).code).toBe('PERMISSION_DENIED');
    await joiner.join({ invite: text });
    expect(joiner.membership.state()).toBe('member');
  });

  test('goes on after a kill of the host between the use of the invite and the grant, in the same way', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const text = await invite(host);
    const joiner = await mesh.addNew();
    const remember = host.membership.remember.bind(host.membership);
    host.membership.remember = () => {
      throw new RangeError('killed');
    };
    await rejectionOf(joiner.join({ invite: text }));
    host.membership.remember = remember;
    expect(host.admission.openInvites()).toEqual([]);
    expect((await rejectionOf((await mesh.addNew()).join({ invite: text }))).message).toContain('used by another hub');
    await joiner.join({ invite: text });
    expect(joiner.membership.state()).toBe('member');
  });

  test('of a hub with a new key into the mesh that knew its old one works with another invite', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const first = await mesh.addNew();
    await first.join({ invite: await invite(host) });
    await host.authority.revoke({ hub: first.self.hubId });
    const reborn = await mesh.addNew({ self: hubKey() });
    await reborn.join({ invite: await invite(host) });
    await reborn.dial(host.host);
    expect(host.engine.peers().map(({ id }) => id)).toEqual([reborn.self.hubId]);
  });
});

describe('members that are connected', () => {
  test('a revoked one is cut off at once and does not come back', async () => {
    const { mesh, host } = await house();
    await using _ = mesh;
    const member = await mesh.addNew();
    await member.join({ invite: await invite(host) });
    await member.dial(host.host);
    await host.authority.revoke({ hub: member.self.hubId });
    await mesh.run(250);
    expect([host.engine.peers(), member.engine.peers()]).toEqual([[], []]);
    expect((await rejectionOf(member.dial(host.host))).message).toContain('revoked');
  });
});

test('the invite of this hub itself is refused with the advice where to run it; that of another passes', async () => {
  const host = await founder();
  const { text } = await host.admission.invite({});
  const refusal = refusalOf(() => host.admission.requireForeign(text));
  expect([refusal.code, refusal.message]).toEqual(['CONFLICT', expect.stringContaining('on the other hub')]);
  const other = await founder();
  expect(() => other.admission.requireForeign(text)).not.toThrow();
  expect(refusalOf(() => other.admission.requireForeign('atmo-join1.nonsense')).code).toBe('VALIDATION_ERROR');
});
