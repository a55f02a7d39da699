import { describe, expect, test } from 'vitest';
import {
  concerns,
  covers,
  coversSome,
  includesGrant,
  NO_GROUPS,
  parseGrant,
  parsePermission,
  type ResourceGroups,
  requireGrant,
} from '../../../src/core/auth/permission.ts';

const groups: ResourceGroups = {
  isMember: (resource, { by, name }) =>
    (by === 'type' && name === 'light' && ['lamp-1', 'lamp-2'].includes(resource)) ||
    (by === 'area' && name === 'kitchen' && ['lamp-1', 'kettle'].includes(resource)),
};

function gives(grant: string, required: string): boolean {
  const parsed = parseGrant(grant);
  const permission = parsePermission(required);
  if (!parsed) throw new Error(`${grant} is no grant`);
  return permission !== undefined && covers(parsed, permission, groups);
}

describe('what a grant covers', () => {
  test.each([
    ['notify:send', 'notify:send', true, 'an action without a resource'],
    ['agent:spawn', 'agent:spawn', true, 'an action without a resource'],
    ['agent:spawn', 'agent:kill', false, 'another action'],
    ['notify:send', 'email:send', false, 'another namespace'],
    ['device:control:*', 'device:control:light-1', true, 'every device'],
    ['device:control:*', 'device:control:a/b/c', true, 'every resource, however deep'],
    ['device:control:*', 'device:control', true, 'also the action without a resource'],
    ['device:control:*', 'device:read:light-1', false, 'another action'],
    ['device:control:light-1', 'device:control:light-1', true, 'one device'],
    ['device:control:light-1', 'device:control:light-2', false, 'another device'],
    ['device:control:light-1', 'device:control:light-10', false, 'a longer name'],
    ['device:control:light-1', 'device:control:Light-1', false, 'bytes, not letters'],
    ['device:control:light-1', 'device:control:light-1/x', false, 'what is below it'],
    ['storage:read:config/*', 'storage:read:config/wifi', true, 'a key below a prefix'],
    ['storage:read:config/*', 'storage:read:config/wifi/ssid', true, 'at any depth'],
    ['storage:read:config/*', 'storage:read:config', false, 'not the prefix itself'],
    ['storage:read:config/*', 'storage:read:configuration/wifi', false, 'not a longer name'],
    ['storage:read:config/*', 'storage:read', false, 'not the whole action'],
    ['storage:read:config/*', 'storage:write:config/wifi', false, 'another action'],
    ['device:control:@type/light', 'device:control:lamp-2', true, 'a class of devices'],
    ['device:control:@type/light', 'device:control:kettle', false, 'a device of another class'],
    ['device:control:@type/light', 'device:control', false, 'not the whole action'],
    ['device:control:@area/kitchen', 'device:control:kettle', true, 'an area'],
    ['device:control:@area/kitchen', 'device:control:lamp-2', false, 'a device elsewhere'],
    ['device:control:@area/kitchen+hall/@type/appliance+light', 'device:control:lamp-1', true, 'some kinds in some areas'],
    ['device:control:@area/kitchen/@type/light', 'device:control:kettle', false, 'another kind in the area'],
    ['device:control:@area/kitchen/@type/light', 'device:control:lamp-2', false, 'the kind in another area'],
    ['device:control:light', 'device:control:lamp-1', false, 'a class needs @type/'],
    ['admin:*', 'admin:token', true, 'all of administration'],
    ['admin:*', 'admin:device:lock-1', true, 'administration of a device'],
    ['admin:*', 'device:control:light-1', false, 'nothing but administration'],
    ['*', 'device:control:light-1', true, 'everything'],
    ['*', 'notify:send', true, 'everything'],
    ['*', 'admin:token', false, 'everything but administration'],
    ['*', 'admin:device:lock-1', false, 'everything but administration'],
    ['device:*', 'device:control:light-1', true, 'a namespace'],
    ['device:*', 'device:read', true, 'a namespace'],
    ['device:*', 'devices:read', false, 'a namespace whose name is longer'],
    ['device:control:light-1', 'device:control', false, 'a grant on one light is none on the action for all'],
    ['device:control', 'device:control:light-1', false, 'an action without a resource is nothing more'],
    ['device:control', 'device:control', true, 'itself'],
    ['sensor:read:hall/temperature', 'sensor:read:hall/temperature', true, 'a resource of two segments'],
    ['sensor:read:hall/*', 'sensor:read:hall/temperature', true, 'the readings of a device'],
  ])('%s for %s is %s: %s', (grant, required, expected) => {
    expect(gives(grant, required)).toBe(expected);
  });

  test('nobody belongs to a group where no devices are known', () => {
    const grant = requireGrant('device:control:@type/light');
    expect(covers(grant, { namespace: 'device', action: 'control', resource: 'lamp-1' }, NO_GROUPS)).toBe(false);
  });
});

const MALFORMED_EVERYWHERE = [
  '',
  ':',
  '::',
  'device',
  'device:',
  ':control',
  'device::x',
  'device:control:',
  'device:control:x:y',
  'device:control:x:',
  'Device:control',
  'device:Control',
  'DEVICE:CONTROL:X',
  '1device:control',
  '-device:control',
  '_device:control',
  ' device:control',
  'device:control ',
  'device:control\n',
  'device:control:x\n',
  'device:control:x y',
  'device:control:..',
  'device:control:.',
  'device:control:../lock',
  'device:control:a/../lock',
  'device:control:a/./b',
  'device:control:a//b',
  'device:control:/a',
  'device:control:a/',
  'device:control:%2e%2e',
  'device:control:a%2Fb',
  'device:control:{device_id}',
  'device:control:{}',
  'device:control:$(x)',
  'device:control:a\\b',
  'device:control:a\u0000',
  'device\u0000:control',
  'device:control:küche',
  'device:control:\u212aettle',
  'device:control:a\u202eb',
  'device:control:a\u200bb',
  'dévice:control',
  `${'n'.repeat(33)}:control`,
  `device:${'a'.repeat(33)}`,
  `device:control:${'a'.repeat(257)}`,
  'device:control:@type',
  'device:control:@',
  'device:control:@type/',
  'device:control:@Type/light',
  'device:control:@room/kitchen',
  'device:control:@type/Light',
  'device:control:@type/light/x',
  'device:control:@type/..',
  `device:control:@type/${'a'.repeat(65)}`,
  'device:control:**',
  'device:control:*x',
  'device:control:x*',
  'device:control:a*b',
  'device:control:*/x',
  'device:control:a/*/b',
  'device:control:a/**',
  'device:control:a/b*',
  'device:control:../*',
  'device:control:/*',
  'device:control:@type/*',
  'device:control:@area/kitchen/*',
  'device:control:@area/kitchen+/@type/light',
  'device:control:@area/kitchen/@type/*',
  'device:control:@type/light/@area/kitchen',
  'device:*:x',
  'device:*:*',
  'device:c*',
  'de*:control',
  '*:control',
  '*:*',
  '**',
  '* ',
  `device:control:${'a'.repeat(255)}/*`,
];

const GRANTS_ONLY = [
  '*',
  'device:*',
  'device:control:*',
  'device:control:a/*',
  'device:control:@type/light',
  'device:control:@area/a_b-c',
  'device:control:@area/a+b/@type/c+d',
];

const SOUND_EVERYWHERE = [
  'notify:send',
  'a:b',
  `${'n'.repeat(32)}:${'a'.repeat(32)}`,
  'device:control:x',
  'device:control:A.b_c-d+e@f/..g/h..',
  'device:control:...',
  'device:control:x/@type',
  `device:control:${'a'.repeat(256)}`,
];

describe('the grammar', () => {
  test.each(MALFORMED_EVERYWHERE)('%j is neither a grant nor a requirement', (text) => {
    expect([parseGrant(text), parsePermission(text)]).toEqual([undefined, undefined]);
  });

  test.each(GRANTS_ONLY)('%s can be granted and not be required', (text) => {
    expect(parseGrant(text)).toBeDefined();
    expect(parsePermission(text)).toBeUndefined();
  });

  test.each(SOUND_EVERYWHERE)('%s can be granted and required, and the one covers the other', (text) => {
    expect(gives(text, text)).toBe(true);
  });

  test('a refused grant is named, cut to a length that fits a line, with the forms that exist', () => {
    expect(() => requireGrant('device:*:x')).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    expect(() => requireGrant('device:*:x')).toThrow(/"device:\*:x" is not a permission.*ns:action:path\/\*/);
    expect(() => requireGrant('x'.repeat(5_000))).toThrow(/^.{1,400}$/);
  });
});

describe('what a child may get of its parent', () => {
  test.each([
    ['*', '*', true],
    ['*', 'device:*', true],
    ['*', 'admin:*', false],
    ['*', 'admin:token', false],
    ['admin:*', 'admin:token', true],
    ['admin:*', '*', false],
    ['device:*', 'device:control:*', true],
    ['device:*', '*', false],
    ['device:control:*', 'device:control', true],
    ['device:control:*', 'device:control:@type/light', true],
    ['device:control:*', 'device:*', false],
    ['device:control', 'device:control:*', false],
    ['device:control', 'device:control:x', false],
    ['device:control:x', 'device:control', false],
    ['device:control:a/*', 'device:control:a/b', true],
    ['device:control:a/*', 'device:control:a/b/*', true],
    ['device:control:a/*', 'device:control:a/*', true],
    ['device:control:a/b/*', 'device:control:a/*', false],
    ['device:control:a/*', 'device:control:ab/*', false],
    ['device:control:a/*', 'device:control:a', false],
    ['device:control:@type/light', 'device:control:@type/light', true],
    ['device:control:@type/light', 'device:control:@type/lock', false],
    ['device:control:@type/light', 'device:control:@area/light', false],
    ['device:control:*', 'device:control:@area/a/@type/light', true],
    ['device:control:@area/a', 'device:control:@area/a/@type/light', true],
    ['device:control:@area/a', 'device:control:@area/a+b/@type/light', false],
    ['device:control:@type/light', 'device:control:@area/a+b/@type/light', true],
    ['device:control:@area/a/@type/light', 'device:control:@area/a', false],
    ['device:control:@area/a+b/@type/light', 'device:control:@area/b/@type/light', true],
    ['device:control:@area/b/@type/light', 'device:control:@area/a+b/@type/light', false],
    // Today's members may be others tomorrow.
    ['device:control:@type/light', 'device:control:lamp-1', false],
  ])('%s includes %s: %s', (parent, child, expected) => {
    expect(includesGrant(requireGrant(parent), requireGrant(child))).toBe(expected);
  });
});

describe('what exists for a caller', () => {
  test.each([
    ['device:read:lamp-1', 'device:control:lamp-1', true],
    ['device:read:lamp-1', 'device:control:kettle', false],
    ['device:read:@type/light', 'device:control:lamp-2', true],
    ['device:read:*', 'device:control:kettle', true],
    ['device:read', 'device:control:kettle', false],
    ['*', 'device:control:kettle', true],
    ['*', 'admin:device:kettle', false],
    ['sensor:read:lamp-1', 'device:control:lamp-1', false],
  ])('%s concerns %s: %s', (grant, required, expected) => {
    const permission = parsePermission(required);
    expect(permission && concerns(requireGrant(grant), permission, groups)).toBe(expected);
  });

  test.each([
    ['device:control:lamp-1', 'control', true],
    ['device:read:lamp-1', 'control', false],
    ['device:read:lamp-1', undefined, true],
    ['device:control', 'control', false],
    ['device:*', 'control', true],
    ['*', 'control', true],
    ['admin:*', 'control', false],
  ])('%s covers the action %s of some device: %s', (grant, action, expected) => {
    expect(coversSome(requireGrant(grant), { namespace: 'device', ...(action !== undefined && { action }) })).toBe(expected);
  });
});
