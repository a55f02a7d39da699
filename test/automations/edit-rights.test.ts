import { describe, expect, test } from 'vitest';
import { OWNER, type Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { isDestructive } from '../../src/tools/definition/tool-definition.ts';
import { makeApprovals } from '../auth/approvals/approval-fixture.ts';
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
  const record = fixture.runner.directory.records().find((one) => one.id === id);
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

describe('an automation of the owner that somebody else edits', () => {
  const MORE = [...ENOUGH, 'device:control:switch'];
  const editing = ['admin:agents', 'agent:configure:auto', ...MORE];
  const edit = (fixture: AgentFixture, permissions: readonly string[], by?: Principal) =>
    fixture.call('edit_automation', { agent_id: 'auto', config: WAIT_ONLY, permissions: [...permissions] }, by);

  test('gets no more permissions from an agent, whose own end and limits its token would not have', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    const manager = fixture.agentWith('manager', editing, 60_000);
    expect(codeOf(await edit(fixture, MORE, manager))).toBe('PERMISSION_DENIED');
    await edit(fixture, MORE);
    await edit(fixture, ENOUGH);
    expect(codeOf(await fixture.call('roll_back_automation', { agent_id: 'auto', version: 2 }, manager))).toBe('PERMISSION_DENIED');
    expect(recordOf(fixture).permissions).toEqual([...ENOUGH].sort());
    expect(codeOf(await edit(fixture, SENSOR_ALONE, manager))).toBe('success');
  });

  test('gets more from a person, unless the login of the person is bounded', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(WHEN_HOT);
    const limited = { agentId: 'ann', permissions: editing, ttlMs: 60_000, rateLimit: { calls: 30, seconds: 3_600 } };
    expect(codeOf(await edit(fixture, MORE, fixture.issuer.issue(limited, OWNER).principal))).toBe('PERMISSION_DENIED');
    expect(codeOf(await edit(fixture, MORE, fixture.agentWith('ann', editing)))).toBe('success');
  });

  test('asks for approvals that its author cannot give, and the owner can', async () => {
    const desk = await makeApprovals();
    const [ann, owner] = [await desk.enrol('ann'), await desk.enrol('owner')];
    const fixture = await startedFixture({ clock: desk.clock, approvals: desk.queue });
    await fixture.spawn(WHEN_HOT);
    const config = { ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }] };
    await fixture.call('edit_automation', { agent_id: 'auto', config }, fixture.agentWith('ann', editing));
    await fixture.report(20);
    await fixture.report(26);
    const [waiting] = desk.queue.list();
    if (!waiting) throw new Error('nothing waits');
    await expect(desk.say(waiting.view, ann)).rejects.toThrow('ann cannot approve what auto asks for, because ann wrote what it does');
    await expect(desk.say(waiting.view, owner)).resolves.toMatchObject({ state: 'approved' });
  });

  test('asks anew after an edit: what an earlier version asked for is no request of the new author', async () => {
    const desk = await makeApprovals();
    const ann = await desk.enrol('ann');
    const fixture = await startedFixture({ clock: desk.clock, approvals: desk.queue });
    const config = { ...WHEN_HOT, actions: [{ tool: 'matter:lamp_unlock' }] };
    await fixture.spawn(config);
    for (const change of [undefined, { max_runs_per_hour: 50 }]) {
      if (change)
        await fixture.call('edit_automation', { agent_id: 'auto', config: { ...config, ...change } }, fixture.agentWith('ann', editing));
      await fixture.report(20);
      await fixture.report(26);
    }
    for (const { view } of desk.queue.list()) await desk.say(view, ann).catch(() => undefined);
    for (const { type, subject, data } of desk.heard.splice(0)) fixture.events.emit(type, subject, data);
    await settled();
    expect(desk.queue.list()).toHaveLength(2);
    expect(fixture.calls).toEqual([]);
  });
});

describe('edits are bounded', () => {
  const limit = (above: number): JsonObject => ({ ...WHEN_HOT, trigger: { type: 'reading', sensor_id: SENSOR, above } });

  test('an agent with all that comes from it makes thirty at once and sixty an hour, whatever its token says', async () => {
    const fixture = await startedFixture();
    const permissions = ['agent:spawn', 'agent:configure:busy/*', ...ENOUGH];
    const fast = { agentId: 'busy', permissions, ttlMs: 7_200_000, rateLimit: { calls: 10_000, seconds: 1 } };
    const busy = fixture.issuer.issue(fast, OWNER).principal;
    await fixture.spawn(limit(1), {}, busy);
    const edits = async (count: number) => {
      const codes: string[] = [];
      for (let index = 0; index < count; index++) {
        codes.push(codeOf(await fixture.call('edit_automation', { agent_id: 'busy/auto', config: limit(2 + (index % 2)) }, busy)));
      }
      return codes.filter((code) => code === 'success').length;
    };
    expect(await edits(40)).toBe(30);
    fixture.clock.advance(600_000);
    expect(await edits(20)).toBe(10);
  });

  test('each is one write of one version, however many are kept', async () => {
    const fixture = await startedFixture();
    await fixture.spawn(limit(1));
    const written: string[] = [];
    const set = fixture.store.set.bind(fixture.store);
    fixture.store.set = (...args) => {
      if (args[0] === 'agents.versions') written.push(JSON.stringify(args[2]));
      set(...args);
    };
    for (let above = 2; above <= 30; above++) await fixture.call('edit_automation', { agent_id: 'auto', config: limit(above) });
    expect(written).toHaveLength(29);
    expect(Math.max(...written.map(({ length }) => length))).toBeLessThan(1_000);
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
