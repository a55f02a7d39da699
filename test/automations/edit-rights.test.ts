import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { isDestructive } from '../../src/tools/definition/tool-definition.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { type AgentFixture, codeOf, ENOUGH, restarted, SENSOR, startedFixture, WHEN_HOT } from './agent-fixture.ts';

const SENSOR_ALONE = [`sensor:read:${SENSOR}`];
const WAIT_ONLY: JsonObject = { ...WHEN_HOT, actions: [{ type: 'wait', seconds: 1 }] };
const KID: JsonObject = {
  agent_type: 'automation',
  name: 'kid',
  permissions: ENOUGH,
  config: { ...WHEN_HOT, trigger: { type: 'reading', sensor_id: SENSOR, above: 30 } },
};
const SPAWNS: JsonObject = { ...WHEN_HOT, actions: [{ tool: 'spawn_agent', params: KID }] };

const recordOf = (fixture: AgentFixture, id = 'auto') => {
  const record = fixture.runner.records().find((one) => one.id === id);
  if (!record) throw new Error(`no agent ${id}`);
  return record;
};
const stateOf = ({ issuer }: AgentFixture, token: string | undefined) => issuer.inspect(token ?? '').state;
const narrowed = (fixture: AgentFixture) =>
  fixture.call('edit_automation', { agent_id: 'auto', config: WAIT_ONLY, permissions: SENSOR_ALONE });

/** A hub whose automation has spawned a child that controls the lamp. */
async function withChild() {
  const fixture = await startedFixture();
  await fixture.spawn(SPAWNS, { permissions: [...ENOUGH, 'agent:spawn'] });
  await fixture.report(20);
  await fixture.report(26);
  await settled();
  expect(recordOf(fixture, 'auto/kid').status).toBe('active');
  return { fixture, wide: recordOf(fixture).token };
}

/** The disk refuses to keep that tokens have ended, until the returned function is called. */
function refuseRevocations({ issuer }: AgentFixture): () => void {
  const revoke = issuer.revoke.bind(issuer);
  issuer.revoke = () => {
    throw new AtmoError('STORAGE_FAILED', 'The disk is full');
  };
  return () => {
    issuer.revoke = revoke;
  };
}

describe('an edit that takes permissions away', () => {
  test('ends the earlier token although a child comes from it, and the child', async () => {
    const { fixture, wide } = await withChild();
    expect(codeOf(await narrowed(fixture))).toBe('success');
    expect(stateOf(fixture, wide)).toBe('revoked');
    expect(recordOf(fixture, 'auto/kid').status).toBe('killed');
    await fixture.report(20);
    await fixture.report(31);
    expect(fixture.calls).toEqual([]);
    expect(recordOf(fixture).status).toBe('active');
  });

  test('has no success while the earlier token is not ended for good, and can be repeated', async () => {
    const { fixture, wide } = await withChild();
    const accept = refuseRevocations(fixture);
    expect(codeOf(await narrowed(fixture))).toBe('STORAGE_FAILED');
    expect(codeOf(await narrowed(fixture))).toBe('STORAGE_FAILED');
    accept();
    expect(codeOf(await narrowed(fixture))).toBe('success');
    expect(stateOf(fixture, wide)).toBe('revoked');
    expect(recordOf(fixture)).toMatchObject({ config: WAIT_ONLY, permissions: SENSOR_ALONE });
  });

  test('ends the earlier token at the next start if the hub was killed before', async () => {
    const { fixture, wide } = await withChild();
    refuseRevocations(fixture);
    await narrowed(fixture);
    const after = await restarted(fixture);
    expect(stateOf(after, wide)).toBe('revoked');
    expect(recordOf(after)).toMatchObject({ status: 'active', permissions: SENSOR_ALONE });
    expect(recordOf(after, 'auto/kid').status).toBe('killed');
    expect(recordOf(await restarted(after), 'auto/kid').status).toBe('killed');
  });

  test('an edit that only adds permissions leaves the children alive', async () => {
    const { fixture } = await withChild();
    const permissions = [...ENOUGH, 'agent:spawn', 'device:control:switch'];
    await fixture.call('edit_automation', { agent_id: 'auto', config: SPAWNS, permissions });
    expect(recordOf(fixture, 'auto/kid').status).toBe('active');
    expect(recordOf(await restarted(fixture), 'auto/kid').status).toBe('active');
  });
});

describe('an edit that is refused', () => {
  /** As many permissions as an edit may name, and longer than a token may be. */
  const TOO_LONG = [...ENOUGH, ...Array.from({ length: 30 }, (_, index) => `device:control:${`d${index}-`.padEnd(200, 'x')}`)];

  test('does not kill the automation at a restart after a later renewal', async () => {
    const fixture = await startedFixture();
    const parent = fixture.agentWith('parent', ['agent:spawn', 'agent:configure:parent/*', 'device:control:*', 'sensor:read:*'], 7_200_000);
    await fixture.spawn(WHEN_HOT, {}, parent);
    const before = recordOf(fixture, 'parent/auto');
    const edit = { agent_id: 'parent/auto', config: WHEN_HOT, permissions: TOO_LONG };
    expect(codeOf(await fixture.call('edit_automation', edit, parent))).toBe('VALIDATION_ERROR');
    expect(recordOf(fixture, 'parent/auto')).toEqual(before);
    expect(recordOf(await restarted(fixture), 'parent/auto')).toEqual(before);
    expect(codeOf(await fixture.call('renew_agent', { agent_id: 'parent/auto', ttl_seconds: 3_600 }, parent))).toBe('success');
    const { tokenId } = recordOf(fixture, 'parent/auto');
    expect(recordOf(await restarted(fixture), 'parent/auto')).toMatchObject({ status: 'active', tokenId });
  });
});

test('a rule about making agents holds for edits, for earlier versions that come back and for accepted proposals', async () => {
  const judge = ({ toolId, formerToolIds }: { readonly toolId: string; readonly formerToolIds: readonly string[] }) =>
    [toolId, ...formerToolIds].some((id) => id.startsWith('core:spawn_agent@'))
      ? ({ kind: 'deny', rule: 'no-agents', reason: 'no' } as const)
      : ({ kind: 'allow' } as const);
  const fixture = await startedFixture({ rules: { judge } });
  for (const [tool, params] of [
    ['spawn_agent', { agent_type: 'automation', config: WHEN_HOT, permissions: ENOUGH }],
    ['edit_automation', { agent_id: 'auto', config: WHEN_HOT }],
    ['roll_back_automation', { agent_id: 'auto', version: 1 }],
    ['accept_automation', { proposal_id: 'x', hash: 'ab'.repeat(32) }],
  ] as const) {
    expect(codeOf(await fixture.call(tool, params)), tool).toBe('RULE_BLOCKED');
    expect(isDestructive(fixture.registry.resolve(tool).definition), tool).toBe(true);
  }
});
