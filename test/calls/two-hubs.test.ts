import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { MeshTokens } from '../../src/auth/tokens/mesh-tokens.ts';
import { trustedIssuers } from '../../src/auth/tokens/token-chain.ts';
import { TokenVerifier } from '../../src/auth/tokens/token-verifier.ts';
import type { CallRouter } from '../../src/calls/pipeline-context.ts';
import type { ApprovalQueue } from '../../src/core/auth/approvals.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { tokenServices } from '../auth/tokens/token-fixture.ts';
import { NO_REMOTE_GROUPS } from '../no-device-facts.ts';
import { makePeer, RemoteToolsFake, toolOf } from '../tools/registry/remote-tools-fake.ts';
import { codeOf, makePipeline, makeTool, owner } from './pipeline-fixture.ts';

const MESH = 'mesh-1';
const DIM = { namespace: 'matter', name: 'dim', requires: { permissions: ['device:control:lamp'] }, execution: { side_effects: true } };

/** A hub with the tool and one without, each with pipeline, tokens and authorizer of its own; calls go from one to the other by hand. */
async function twoHubs({ ceiling = ['*'], approvals }: { readonly ceiling?: readonly string[]; readonly approvals?: ApprovalQueue } = {}) {
  const entry = await tokenServices({ meshId: MESH });
  const executor = await tokenServices({ meshId: MESH, clock: entry.clock });
  const trusted = { key: entry.hub.publicKey, permissions: ceiling };
  const issuers = trustedIssuers({
    hub: executor.hub,
    mesh: { meshId: () => MESH, hub: (id) => (id === entry.hub.hubId ? trusted : undefined) },
  });
  const { revocations, time } = executor;
  const verifier = new TokenVerifier(
    { issuers, revocations, time, onIssuedAt: () => {} },
    { hubId: executor.hub.hubId, meshId: () => MESH },
  );
  const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: verifier });
  const far = makePipeline({ self: { id: executor.hub.hubId }, authorizer, validity: verifier, ...(approvals && { approvals }) });
  const mesh = { meshId: () => MESH, hub: () => undefined, own: () => ({ permissions: ceiling }) };
  const tokens = new MeshTokens({ hub: entry.hub, mesh, time: entry.time });
  const router: CallRouter = {
    async forward(hubId, { principal, tool, params, onAccept }) {
      const guest = verifier.verify(tokens.textFor(principal, hubId)).principal;
      const routing = { only_nodes: [hubId] };
      const answer = await far.pipeline.call({
        principal: guest,
        tool: tool.id,
        params,
        routing,
        ...(onAccept && { onDispatch: onAccept }),
      });
      if (answer.status === 'error') throw new AtmoError(answer.error.code, answer.error.message, answer.error.details);
      return { result: answer.result, nodeId: answer.execution.node_id, hops: 1 };
    },
  };
  const near = makePipeline({
    router,
    remote: new RemoteToolsFake([toolOf([executor.hub.hubId], DIM)]),
    mesh: { peers: () => [makePeer(executor.hub.hubId)] },
    authorizer: new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: entry.verifier }),
  });
  return { entry, executor, near, far };
}

describe('a call from one hub to another', () => {
  test('leaves rows in both journals and the same hash in both answers', async () => {
    const { entry, executor, near, far } = await twoHubs();
    far.registry.register(makeTool({ ...DIM, handler: async () => ({ level: 4, on: true }) }));
    const { principal } = entry.verifier.verify(entry.rootToken({ permissions: ['device:control:lamp'], meshId: MESH }));
    const answer = await near.pipeline.call({ principal, tool: 'dim', params: {} });
    expect(answer).toMatchObject({ status: 'success', execution: { node_id: executor.hub.hubId, hops: 1 } });
    expect(near.audited.map(({ kind, nodeId, principal: { id } }) => [kind, nodeId, id])).toEqual([
      ['intent', executor.hub.hubId, 'light-agent'],
      ['outcome', executor.hub.hubId, 'light-agent'],
    ]);
    const guest = `light-agent@${entry.hub.hubId}`;
    expect(far.audited.map(({ kind, nodeId, principal: { id } }) => [kind, nodeId, id])).toEqual([
      ['intent', undefined, guest],
      ['outcome', undefined, guest],
    ]);
    expect(far.audited.at(-1)).toMatchObject({ responseHash: answer.response_hash });
  });

  test('of the owner is one of an agent there, with no more than the membership allows', async () => {
    const { entry, near, far } = await twoHubs({ ceiling: ['sensor:*'] });
    far.registry.register(makeTool(DIM));
    expect(codeOf(await near.pipeline.call({ principal: owner, tool: 'dim', params: {} }))).toBe('TOOL_NOT_FOUND');
    expect(far.audited).toMatchObject([{ kind: 'refusal', principal: { id: `owner@${entry.hub.hubId}`, kind: 'agent' } }]);
  });

  test('that is dangerous waits for the people of the hub that runs it, and runs once they have agreed', async () => {
    let isApproved = false;
    const check = async () =>
      isApproved
        ? ({ state: 'approved', approvalId: 'a1', by: ['ann'] } as const)
        : ({
            state: 'pending',
            approvalId: 'a1',
            expiresAt: 'soon',
            waitsForS: 600,
            needed: 1,
            given: 0,
            summary: 'kitchen wants it',
            willDo: [],
          } as const);
    const { executor, near, far } = await twoHubs({
      approvals: { check, peek: check, giveBack: () => {}, refusalOf: () => undefined, stillApprovedBy: () => [], withdraw: () => {} },
    });
    const effects = () => [{ permission: 'device:control:lamp', risk: 'dangerous' as const, target: 'lamp' }];
    far.registry.register(makeTool({ ...DIM, effects }));
    const call = () => near.pipeline.call({ principal: owner, tool: 'dim', params: {}, idempotencyKey: 'k' });
    expect(await call()).toMatchObject({
      error: { code: 'APPROVAL_REQUIRED', details: { approval_id: 'a1', node_id: executor.hub.hubId } },
    });
    isApproved = true;
    expect(codeOf(await call())).toBe('success');
  });
});
