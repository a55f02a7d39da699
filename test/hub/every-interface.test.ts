import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { InterfaceFixture, type Row } from './interface-fixture.ts';
import { INTERFACES } from './interfaces.ts';

const fixture = new InterfaceFixture();

beforeAll(async () => {
  await fixture.start();
  await fixture.composeTools();
});
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(() => fixture.reset());

const all = Object.entries(INTERFACES);
const withBody = all.filter(([, { takesBody }]) => takesBody);
const openSteps = all.filter(([, { isOpenStep }]) => isOpenStep);

/** Kinds of the rows that the audit log has of an agent's calls of a tool, oldest first. */
async function kindsOf(agentId: string, tool: string): Promise<readonly string[]> {
  const rows = await fixture.rowsOf(agentId);
  return rows
    .filter((row) => row.tool?.includes(tool))
    .map((row) => row.kind)
    .toReversed();
}

function endWith(code: string, kind = 'refusal'): unknown {
  const content = expect.objectContaining({ error: code });
  return expect.objectContaining({ kind, content } satisfies Partial<Row>);
}

describe.each(all)('%s', (_name, { open, isJudgedBefore, endsWithToken }) => {
  test('is refused without the permission that an effect needs', async () => {
    const caller = await open(fixture, { tool: 'guarded' });
    expect(await caller.call()).toBe('success');
    fixture.guard = 'probe:other';
    expect(await caller.call()).toBe('PERMISSION_DENIED');
    expect(fixture.ran).toEqual(['guarded']);
  });

  test('is refused without a permission that the definition requires', async () => {
    const caller = await open(fixture, { tool: 'required' });
    expect(await caller.call()).toBe('success');
    fixture.require(['probe:use', 'probe:other']);
    expect(await caller.call()).toBe('PERMISSION_DENIED');
    expect(fixture.ran).toEqual(['required']);
  });

  test('is refused where a rule of the owner forbids it', async () => {
    const caller = await open(fixture, { tool: 'forbidden' });
    expect(await caller.call()).toBe('RULE_BLOCKED');
    expect(await fixture.rowsOf(caller.agentId)).toContainEqual(endWith('RULE_BLOCKED', isJudgedBefore ? 'outcome' : 'refusal'));
    expect(fixture.ran).toEqual([]);
  });

  test('waits for people where it is dangerous, runs once when they approve it, and then waits again', async () => {
    const caller = await open(fixture, { tool: 'dangerous' });
    expect(await caller.call()).toBe('APPROVAL_REQUIRED');
    expect(await fixture.pending(caller.agentId)).toMatchObject([{ tool: 'probe:dangerous@1.0.0' }]);
    expect(fixture.ran).toEqual([]);
    await fixture.approve(caller.agentId);
    expect(await caller.call()).toBe('success');
    expect(await caller.call()).toBe('APPROVAL_REQUIRED');
    expect(fixture.ran).toEqual(['dangerous']);
  });

  test('is refused where its token calls too often', async () => {
    const caller = await open(fixture, { tool: 'free', callsPerMinute: 1 });
    expect(await caller.call()).toBe('success');
    expect(await caller.call()).toBe('RATE_LIMITED');
    expect(await fixture.rowsOf(caller.agentId)).toContainEqual(endWith('RATE_LIMITED'));
    expect(fixture.ran).toEqual(['free']);
  });

  test('is written into the audit log before it runs and after it ran', async () => {
    const caller = await open(fixture, { tool: 'watched' });
    expect(await caller.call()).toBe('success');
    expect(fixture.foundWhileRunning).toEqual([['intent']]);
    expect(await kindsOf(caller.agentId, 'probe:watched')).toEqual(['intent', 'outcome']);
  });

  test('is refused once its token was revoked', async () => {
    const caller = await open(fixture, { tool: 'free' });
    expect(await caller.call()).toBe('success');
    await fixture.revoke(caller.tokenId);
    expect(await caller.call()).toBe(endsWithToken ? 'killed' : 'TOKEN_INVALID');
    expect(fixture.ran).toEqual(['free']);
  });

  test('does not run where its token is revoked while it waits for its turn', async () => {
    const caller = await open(fixture, { tool: 'free' });
    expect(await caller.call()).toBe('success');
    const held = caller.hold().catch(() => undefined);
    await fixture.untilHeld();
    const code = caller.call();
    await fixture.pause();
    await fixture.revoke(caller.tokenId);
    fixture.release();
    expect(await code).toBe('CANCELLED');
    expect(await fixture.lastEnd(caller.agentId)).toEqual(endWith('CANCELLED'));
    expect(fixture.ran).toEqual(['free']);
    await fixture.during(held);
  });
});

describe.each(withBody)('%s', (_name, { open }) => {
  test('is refused where its token is revoked after its headers and before its body, even where it needs no permission', async () => {
    const caller = await open(fixture, { tool: 'open' });
    expect(await caller.call()).toBe('success');
    fixture.hub.beforeBody = () => fixture.revoke(caller.tokenId);
    expect(await caller.call()).toBe('TOKEN_INVALID');
    expect(await fixture.lastEnd(caller.agentId)).toEqual(endWith('TOKEN_INVALID'));
    expect(fixture.ran).toEqual(['open']);
  });
});

describe.each(openSteps)('%s', (_name, { open }) => {
  test('is refused where its token is revoked during the step before', async () => {
    const caller = await open(fixture, { tool: 'free' });
    fixture.onFirst = () => fixture.revoke(caller.tokenId);
    await caller.call();
    const ofStep = (await fixture.rowsOf(caller.agentId)).filter(({ tool }) => tool?.includes('free') && tool.startsWith('probe'));
    expect(ofStep).toEqual([endWith('TOKEN_INVALID')]);
    expect(fixture.ran).toEqual([]);
  });
});
