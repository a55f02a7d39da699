import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../src/access/grant-authorizer.ts';
import { callerView, canSeeTool, mayCallTool } from '../../src/tools/visibility.ts';
import { agent, listAuthorizer, makeTool, owner } from './tool-room.ts';

const sees = (grant: string, permission: string) => callerView(agent(grant), listAuthorizer).canSee(permission);

describe('what a caller may know of', () => {
  test.each([
    ['device:read:lamp', 'device:control:lamp', true],
    ['device:read:lamp', 'device:control:lock', false],
    ['device:read:*', 'device:control:lock', true],
    ['device:*', 'device:control:lock', true],
    ['device:control', 'device:control:lock', false],
    ['sensor:read:hall/*', 'sensor:read:hall/temperature', true],
    ['sensor:read:hall/*', 'sensor:read:hallway/temperature', false],
    ['sensor:read:hall/*', 'sensor:read:hall/', false],
    ['notify:read', 'notify:send', true],
    ['device:control:lamp', 'device:control:{device_id}', true],
    ['sensor:read:x', 'device:control:{device_id}', false],
    ['*', 'device:control:lock', true],
    ['*', 'admin:device:lock', false],
    ['admin:*', 'admin:device:lock', true],
  ])('a grant of %s and what needs %s: %s', (grant, permission, isSeen) => {
    expect(sees(grant, permission)).toBe(isSeen);
  });

  test('grants by type reach the devices of the type', () => {
    const groups = { isMember: (resource: string) => resource === 'lamp' };
    const byType = new GrantAuthorizer({ groups, validity: { isStillValid: () => true } });
    const caller = callerView(agent('device:control:@type/light'), byType);
    expect(caller.canSee('device:control:lamp')).toBe(true);
    expect(caller.canSee('device:control:lock')).toBe(false);
    expect(sees('device:control:@type/light', 'device:control:lamp')).toBe(false);
  });

  test('a tool that requires nothing is for everybody, a hub tool only for administrators', () => {
    expect(canSeeTool(makeTool({}), agent(), listAuthorizer)).toBe(true);
    const hubTool = makeTool({ permissions: ['admin:device:{device_id}'] });
    expect(canSeeTool(hubTool, agent('*'), listAuthorizer)).toBe(false);
    expect(canSeeTool(hubTool, owner, listAuthorizer)).toBe(true);
  });

  test('a tool for something that the caller only reads exists for it, but is in no list of its', () => {
    const tool = makeTool({ permissions: ['notify:send'] });
    const reader = agent('notify:read:*');
    expect(canSeeTool(tool, reader, listAuthorizer)).toBe(true);
    expect(mayCallTool(tool, reader, listAuthorizer)).toBe(false);
    expect(mayCallTool(tool, agent('notify:send'), listAuthorizer)).toBe(true);
  });
});
