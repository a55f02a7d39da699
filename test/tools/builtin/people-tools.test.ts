import { describe, expect, test } from 'vitest';
import type { Person } from '../../../src/core/auth/people.ts';
import { OWNER, type Principal } from '../../../src/core/auth/principal.ts';
import type { DeviceDirectory } from '../../../src/core/devices/device-directory.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { peopleTools } from '../../../src/tools/builtin/people-tools.ts';
import { effectsOf } from '../../../src/tools/definition/tool-permissions.ts';
import { StoredHomeNames } from '../../../src/tools/names/home-names.ts';
import { ANN, browser, household, TIM } from '../../auth/people/people-fixture.ts';
import { agent, codeOf, listAuthorizer, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const EVE: Person = { name: 'eve', title: 'Eve', role: 'owner', limits: {} };
const KEEPER = agent('admin:people');
const OWNER_SIGNED_IN: Principal = { id: 'monitor', kind: 'agent', permissions: ['*', 'admin:*'] };

/** The household's tools on a hub with a device in the kitchen and a sensor in the hall, where people approve whatever waits for them. */
async function home() {
  const { people, approvers, store } = await household();
  await people.add(ANN);
  await people.add(TIM);
  await people.add(EVE);
  await approvers.enrol({ person: 'owner', key: browser().key, label: 'owner.key' });
  const asked: string[] = [];
  const approve = async ({ toolId, effects }: { readonly toolId: string; readonly effects: readonly { readonly target: string }[] }) => {
    asked.push(`${toolId.split('@')[0]} ${effects.map(({ target }) => target).join()}`);
    return { state: 'approved', approvalId: 'a'.repeat(32), by: ['owner'] } as const;
  };
  const approvals = {
    check: approve,
    peek: approve,
    giveBack: () => {},
    refusalOf: () => undefined,
    stillApprovedBy: () => [],
    withdraw: () => {},
  };
  const { pipeline, registry } = makePipeline({ approvals });
  const directory = { list: () => [{ area: 'Kitchen' }, {}] as unknown as ReturnType<DeviceDirectory['list']> };
  const readings = { sensors: () => [{ sensor: { area: 'Hall' } }] as never };
  const names = new StoredHomeNames(store);
  const tools = peopleTools({ people, approvers, authorizer: listAuthorizer, directory, readings, names });
  for (const tool of tools) registry.register(tool);
  const call = async (tool: string, params: JsonObject, principal: Principal) =>
    codeOf(await pipeline.call({ tool: `hub:${tool}`, params, principal }));
  const risk = (name: string, params: JsonObject) => {
    const tool = tools.find(({ id }) => id.startsWith(`hub:${name}@`));
    return tool && effectsOf(tool, params).map((effect) => effect.risk);
  };
  const answer = async (tool: string, params: JsonObject) => {
    const { status, ...answered } = await pipeline.call({ tool: `hub:${tool}`, params, principal: owner });
    return status === 'error' && 'error' in answered ? answered.error : 'result' in answered ? answered.result : undefined;
  };
  return { people, approvers, asked, call, risk, answer };
}

describe('who may administer people', () => {
  test.each([
    ['invite_person', { name: 'owner' }],
    ['invite_person', { name: 'eve' }],
    ['invite_person', { name: 'ann' }],
    ['add_person', { name: 'mallory', role: 'owner' }],
    ['add_person', { name: 'mallory', role: 'adult' }],
    ['change_person', { name: 'tim', role: 'owner' }],
    ['change_person', { name: 'ann', title: 'Somebody' }],
    ['remove_person', { name: 'ann' }],
  ])('and nothing else cannot %s %j, even if people approve it', async (tool, params) => {
    const { call, people } = await home();
    const before = people.list();
    expect(await call(tool, params, KEEPER)).toBe('PERMISSION_DENIED');
    expect(people.list()).toEqual(before);
  });

  test('gives others what it has itself, and no more', async () => {
    const { call } = await home();
    const keeper = agent('admin:people', '*');
    expect(await call('invite_person', { name: 'tim' }, keeper)).toBe('success');
    expect(await call('invite_person', { name: 'ann' }, keeper)).toBe('PERMISSION_DENIED');
    expect(await call('invite_person', { name: 'ann' }, agent('admin:people', 'admin:approvals', '*'))).toBe('success');
    expect(await call('invite_person', { name: 'eve' }, agent('admin:people', 'admin:approvals', '*'))).toBe('PERMISSION_DENIED');
  });
});

describe('people approve', () => {
  test('whatever makes, invites, changes or removes an owner, also for the owner', async () => {
    const { call, asked } = await home();
    for (const principal of [OWNER, OWNER_SIGNED_IN]) {
      expect(await call('invite_person', { name: 'owner' }, principal)).toBe('success');
      expect(await call('change_person', { name: 'tim', role: 'owner', rooms: [] }, principal)).toBe('success');
      expect(await call('change_person', { name: 'tim', role: 'child' }, principal)).toBe('success');
    }
    expect(await call('add_person', { name: 'bob', role: 'owner' }, OWNER)).toBe('success');
    expect(await call('remove_person', { name: 'bob' }, OWNER)).toBe('success');
    const each = ['hub:invite_person person/owner/owner', 'hub:change_person person/tim/owner', 'hub:change_person person/tim/child'];
    expect(asked).toEqual([...each, ...each, 'hub:add_person person/bob/owner', 'hub:remove_person person/bob/nobody']);
  });

  test('whatever ends the keys of somebody who approves, and nothing else about adults and children', async () => {
    const { approvers, risk } = await home();
    expect(risk('remove_person', { name: 'ann' })).toEqual(['low']);
    await approvers.enrol({ person: 'ann', key: browser().key, label: 'phone' });
    expect(risk('remove_person', { name: 'ann' })).toEqual(['dangerous']);
    expect(risk('change_person', { name: 'ann', role: 'guest', until: '2030-01-01T00:00:00Z' })).toEqual(['dangerous']);
    expect(risk('change_person', { name: 'ann', title: 'Anna' })).toEqual(['low']);
    expect(risk('invite_person', { name: 'ann' })).toEqual(['low']);
    expect(risk('add_person', { name: 'bob', role: 'adult' })).toEqual(['low']);
    expect(risk('invite_person', { name: 'nobody' })).toEqual(['low']);
  });
});

test('a person is added with a role, and never with one that nobody chose', async () => {
  const { people, answer } = await home();
  const refused = { code: 'VALIDATION_ERROR', message: expect.stringContaining('role') };
  expect(await answer('add_person', { name: 'kim' })).toMatchObject(refused);
  expect(people.find('kim')).toBeUndefined();
  expect(await answer('add_person', { name: 'kim', role: 'child' })).toEqual({ name: 'kim', title: 'kim', role: 'child' });
});

test('a room that the hub does not have is refused with the rooms that there are', async () => {
  const { people, answer } = await home();
  const unknown = { code: 'NOT_FOUND', message: 'There is no area "Attic"; there is "Kitchen", "Hall"' };
  expect(await answer('add_person', { name: 'kim', role: 'child', rooms: ['Kitchen', 'Attic'] })).toMatchObject(unknown);
  expect(people.find('kim')).toBeUndefined();
  const added = await answer('add_person', { name: 'kim', role: 'child', rooms: ['kitchen', 'Kitchen', 'HALL'] });
  expect(added).toMatchObject({ rooms: ['kitchen', 'hall'] });
  expect(await answer('change_person', { name: 'kim', rooms: ['Attic'] })).toMatchObject(unknown);
  expect(await answer('change_person', { name: 'kim', title: 'Kim' })).toMatchObject({ title: 'Kim', rooms: ['kitchen', 'hall'] });
  expect(await answer('change_person', { name: 'kim', rooms: [] })).toEqual({ name: 'kim', title: 'Kim', role: 'child' });
});
