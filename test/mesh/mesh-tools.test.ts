import { describe, expect, test } from 'vitest';
import type { ApprovalRequest } from '../../src/core/auth/approvals.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { Peer } from '../../src/core/mesh-view.ts';
import { membershipStatus } from '../../src/mesh/membership/membership.ts';
import type { MembershipStatus, MeshControl } from '../../src/mesh/mesh-control.ts';
import { meshTools } from '../../src/mesh/mesh-tools.ts';
import { agent, makePipeline, owner } from '../calls/pipeline-fixture.ts';
import { membershipFixture, PASSPHRASE } from './membership/membership-fixture.ts';

const PEER: Peer = {
  id: 'hub-0123456789abcdef' as Peer['id'],
  name: 'Attic',
  state: 'fresh',
  isReachable: true,
  roundTripMs: 1.234,
  hops: 1,
  version: '0.1.0',
  lastSeenMs: Date.UTC(2026, 0, 1),
  address: '192.0.2.9:8082',
  capabilities: ['light'],
  toolCount: 12,
  missingTools: 0,
  devices: [{ id: 'lamp', name: 'Lamp', type: 'dimmable_light', isReachable: true }],
};

/** The tools over a hub's own membership; what needs a network is not asked for here. */
async function room() {
  const hub = await membershipFixture();
  const status = (): MembershipStatus => ({ ...membershipStatus(hub), hubName: 'cellar' });
  const asked: unknown[] = [];
  const mesh: MeshControl = {
    create: async (options) => {
      await hub.authority.create(options);
      return status();
    },
    invite: (options) => hub.admission.invite(options),
    join: async (invite) => {
      asked.push(invite);
      return status();
    },
    leave: async (options) => hub.authority.leave(options),
    revoke: (options) => hub.authority.revoke(options),
    delegate: async (options) => ({ hub: (await hub.authority.delegate(options)).hubId, isDelivered: false }),
    renew: async () => status(),
    exportRoot: (passphrase) => hub.authority.exportRoot(passphrase),
    importRoot: (options) => hub.authority.importRoot(options),
    status,
    peers: () => [PEER],
  };
  const verdict = {
    state: 'pending',
    approvalId: 'ap-1',
    expiresAt: '2026-01-01T00:10:00Z',
    waitsForS: 600,
    needed: 1,
    given: 0,
    summary: 'kitchen wants it',
    willDo: [],
  } as const;
  const requests: ApprovalRequest[] = [];
  const check = async (request: ApprovalRequest) => {
    requests.push(request);
    return verdict;
  };
  const approvals = { check, peek: check, giveBack: () => {}, refusalOf: () => undefined, stillApprovedBy: () => [], withdraw: () => {} };
  const { registry, pipeline, audited } = makePipeline({ approvals });
  for (const tool of meshTools(mesh)) expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown = {}, principal: Principal = owner) =>
    pipeline.call({ principal, tool: `hub:${tool}`, params });
  return { call, audited, asked, hub, requests };
}

describe('the tools for the mesh', () => {
  test('make a mesh, tell how it stands, invite into it; neither passphrase nor invite stands in the journal', async () => {
    const { call, audited, hub } = await room();
    expect(await call('mesh_status')).toMatchObject({
      status: 'success',
      result: { state: 'none', hub_name: 'cellar', has_root_key: false },
    });
    expect(await call('mesh_create', { passphrase: PASSPHRASE, name: 'Home' })).toMatchObject({
      result: { state: 'member', mesh_id: hub.membership.meshId(), name: 'Home', has_root_key: true, roles: ['member', 'inviter'] },
    });
    const invited = await call('mesh_invite', { addresses: ['192.0.2.1:8082'] });
    expect(invited).toMatchObject({ result: { invite: expect.stringMatching(/^atmo-join1\./), expires_at: '2026-01-01T00:15:00.000Z' } });
    expect(await call('mesh_status')).toMatchObject({ result: { open_invites: 1 } });
    const journal = JSON.stringify(audited);
    expect(journal).toContain('hub:mesh_invite');
    expect(journal).not.toContain(PASSPHRASE);
    expect(journal).not.toContain('atmo-join1.');
  });

  test('keep the invite that a hub joins with out of the journal', async () => {
    const { call, audited, asked } = await room();
    const invite = `atmo-join1.${'A'.repeat(60)}`;
    await call('mesh_join', { invite });
    expect(asked).toEqual([invite]);
    expect(JSON.stringify(audited)).not.toContain('AAAA');
  });

  test('list the other hubs as people read them', async () => {
    const { call } = await room();
    expect(await call('mesh_peers')).toMatchObject({
      result: [
        {
          hub_id: 'hub-0123456789abcdef',
          name: 'Attic',
          state: 'fresh',
          reachable: true,
          hops: 1,
          round_trip_ms: 1.2,
          version: '0.1.0',
          last_seen: '2026-01-01T00:00:00.000Z',
          tools: 12,
          devices: 1,
        },
      ],
    });
  });

  test('an invite that lets the new hub invite takes the passphrase', async () => {
    const { call } = await room();
    await call('mesh_create', { passphrase: PASSPHRASE });
    expect(await call('mesh_invite', { may_invite: true })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(await call('mesh_invite', { may_invite: true, passphrase: PASSPHRASE })).toMatchObject({ status: 'success' });
  });

  test.each([
    ['mesh_leave', {}],
    ['mesh_revoke', { hub: PEER.id }],
    ['mesh_delegate', { hub: PEER.id, passphrase: PASSPHRASE }],
    ['mesh_export_root', { passphrase: PASSPHRASE }],
  ])('%s waits for a person, who is not shown the passphrase', async (tool, params) => {
    const { call, hub, requests } = await room();
    await call('mesh_create', { passphrase: PASSPHRASE });
    expect(await call(tool, params)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    expect([hub.membership.state(), hub.membership.revokedHubs()]).toEqual(['member', []]);
    expect(requests).toHaveLength(1);
    expect(JSON.stringify(requests)).not.toContain(PASSPHRASE);
  });

  test.each([
    'mesh_create',
    'mesh_invite',
    'mesh_join',
    'mesh_leave',
    'mesh_revoke',
    'mesh_delegate',
    'mesh_renew',
    'mesh_export_root',
    'mesh_import_root',
  ])('%s is not for an agent that may do everything but administration', async (tool) => {
    const { call } = await room();
    expect(await call(tool, {}, agent('*'))).toMatchObject({
      error: { code: expect.stringMatching(/PERMISSION_DENIED|TOOL_NOT_FOUND/) },
    });
  });

  test('an agent with mesh:read looks and does not change', async () => {
    const { call } = await room();
    const reader = agent('mesh:read');
    expect(await call('mesh_status', {}, reader)).toMatchObject({ status: 'success' });
    expect(await call('mesh_peers', {}, reader)).toMatchObject({ status: 'success' });
    expect(await call('mesh_create', { passphrase: PASSPHRASE }, reader)).toMatchObject({ status: 'error' });
  });
});
