import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import type { ResourceGroups } from '../../src/core/auth/permission.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { NO_REMOTE_GROUPS } from '../no-device-facts.ts';

const groups: ResourceGroups = { isMember: (resource, { by, name }) => by === 'type' && name === 'light' && resource.startsWith('lamp') };
const authorizer = new GrantAuthorizer({ groups, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => true } });

function agent(...permissions: readonly string[]): Principal {
  return { id: 'agent-1', kind: 'agent', permissions };
}

describe('what a principal may do', () => {
  test('any one grant that covers the requirement is enough', () => {
    expect(authorizer.authorize(agent('notify:send', 'device:control:lamp-1'), ['device:control:lamp-1'])).toEqual({ allowed: true });
  });

  test('all that is required has to be covered, and the answer says what is not', () => {
    expect(authorizer.authorize(agent('device:control:lamp-1'), ['device:control:lamp-1', 'notify:send'])).toEqual({
      allowed: false,
      required: ['notify:send'],
      reason: 'none of its grants covers that',
    });
  });

  test('nothing required needs nothing', () => {
    expect(authorizer.authorize(agent(), [])).toEqual({ allowed: true });
  });

  test.each(['device:control:*', 'device:control:{device_id}', 'device:control:@type/light', 'device:*', '*', '', 'device:control:a:b'])(
    'a requirement that is not one permission (%s) is denied to everybody, the owner included',
    (required) => {
      const owner: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };
      expect(authorizer.authorize(owner, [required]).allowed).toBe(false);
    },
  );

  test.each(['device:*:x', 'Device:control:x', '', '*:*'])('a list with the malformed grant %j gives nothing at all', (malformed) => {
    const principal = agent('device:control:lamp-1', malformed);
    expect(authorizer.authorize(principal, ['device:control:lamp-1']).allowed).toBe(false);
    expect(authorizer.canSee(principal, 'device:control:lamp-1')).toBe(false);
    expect(authorizer.mayTry(principal, 'device:control:{device_id}')).toBe(false);
  });

  test('a grant on a class follows the devices of the class', () => {
    expect(authorizer.authorize(agent('device:control:@type/light'), ['device:control:lamp-7'])).toEqual({ allowed: true });
    expect(authorizer.authorize(agent('device:control:@type/light'), ['device:control:lock-1']).allowed).toBe(false);
  });
});

describe('a token that has ended', () => {
  test('grants nothing from that moment on', () => {
    let isValid = true;
    const watching = new GrantAuthorizer({ groups, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => isValid } });
    const principal = agent('*');
    expect(watching.authorize(principal, ['notify:send'])).toEqual({ allowed: true });
    isValid = false;
    expect(watching.authorize(principal, ['notify:send'])).toEqual({
      allowed: false,
      required: ['notify:send'],
      reason: 'its token has expired or was revoked',
    });
    expect(watching.canSee(principal, 'notify:send')).toBe(false);
    expect(watching.mayTry(principal, 'notify:send')).toBe(false);
  });
});

describe('what a principal may know of', () => {
  test.each([
    ['device:read:lamp-1', 'device:control:lamp-1', true],
    ['device:read:lamp-1', 'device:control:lock-1', false],
    ['device:read:lamp-1', 'device:control:{device_id}', true],
    ['notify:send', 'device:control:{device_id}', false],
    ['device:control', 'device:control:{device_id}', false],
    ['*', 'admin:device:{device_id}', false],
  ])('with %s, what needs %s exists: %s', (grant, permission, expected) => {
    expect(authorizer.canSee(agent(grant), permission)).toBe(expected);
  });

  test.each([
    ['device:read:lamp-1', 'device:control:lamp-1', false],
    ['device:read:lamp-1', 'device:control:{device_id}', false],
    ['device:control:lamp-1', 'device:control:{device_id}', true],
    ['device:control:lamp-1', 'device:control:lamp-1', true],
    ['admin:*', 'admin:device:{device_id}', true],
  ])('with %s, %s stands in its lists: %s', (grant, permission, expected) => {
    expect(authorizer.mayTry(agent(grant), permission)).toBe(expected);
  });
});
