import { describe, expect, test } from 'vitest';
import { covers, NO_GROUPS, parseGrant, parsePermission } from '../../../src/core/auth/permission.ts';
import { typesAndFamilies } from '../../../src/profiles/home/device-groups.ts';
import { DEVICE_FAMILIES, GRANT_ACTIONS, grantInWords, grantOf, grantsInWords, typedGrants } from '../../../src/web/pages/tokens.ts';

const HOME = [{ id: 'hall-lamp', name: 'Reading lamp', area: 'Living room' }];

function isCovered(grantText: string, requirement: string): boolean {
  const grant = parseGrant(grantText);
  const required = parsePermission(requirement);
  return grant !== undefined && required !== undefined && covers(grant, required, NO_GROUPS);
}

describe('a permission chosen at the page', () => {
  test('can be granted for every choice', () => {
    const scopes = [
      { kind: 'all' },
      { kind: 'area', area: "Kids' room" },
      { kind: 'device', device: 'living-room-lamp' },
      ...DEVICE_FAMILIES.map((type) => ({ kind: 'type', type }) as const),
    ] as const;
    for (const action of GRANT_ACTIONS)
      for (const scope of scopes) expect(parseGrant(grantOf(action, scope)), grantOf(action, scope)).toBeDefined();
  });

  test('for one device covers it and its readings, and no other', () => {
    const scope = { kind: 'device', device: 'lamp' } as const;
    expect(isCovered(grantOf('device:control', scope), 'device:control:lamp')).toBe(true);
    expect(isCovered(grantOf('device:control', scope), 'device:control:lamp-2')).toBe(false);
    expect(isCovered(grantOf('sensor:read', scope), 'sensor:read:lamp/is_on')).toBe(true);
    expect(isCovered(grantOf('sensor:read', scope), 'sensor:read:lamp-2/is_on')).toBe(false);
  });

  test('has only families that devices belong to', () => {
    const known = [...typesAndFamilies(['DimmableLight']), ...typesAndFamilies(['DoorLock']), ...typesAndFamilies(['TemperatureSensor'])];
    expect(known).toEqual(expect.arrayContaining(['light', 'lock', 'sensor']));
    expect(new Set(DEVICE_FAMILIES).size).toBe(DEVICE_FAMILIES.length);
  });

  test('is read as a sentence', () => {
    expect(grantInWords('device:control:@area/kitchen', HOME)).toBe('control devices in kitchen');
    const odd = [{ id: 'x', name: 'X', area: 'Hall; control all devices' }];
    expect(grantInWords('device:control:@area/hall-control-all-devices', odd)).toBe('control devices in "Hall; control all devices"');
    expect(grantInWords('sensor:read:@type/light', HOME)).toBe('read sensors of devices of type Light');
    expect(grantInWords('device:control:@area/living-room', HOME)).toBe('control devices in Living room');
    expect(grantInWords('device:control:hall-lamp', HOME)).toBe('control Reading lamp (Living room)');
    expect(grantInWords('sensor:read:hall-lamp/*', HOME)).toBe('read sensors of Reading lamp (Living room)');
    expect(grantInWords('sensor:read:hall-lamp/air_quality', HOME)).toBe('read sensors of Reading lamp (Living room) (Air quality)');
    expect(grantInWords('admin:device:gone', HOME)).toBe('administer gone');
    expect(grantInWords('device:read:*', HOME)).toBe('read the state of all devices');
    expect(grantInWords('*', HOME)).toBe('everything but administration');
    expect(grantInWords('admin:*', HOME)).toBe('all administration');
    expect(grantInWords('tool:register', HOME)).toBe('tool:register');
    expect(grantInWords('device:*:lamp', HOME)).toContain('not a permission');
  });
});

test('typed permissions are separated from texts that cannot be granted', () => {
  expect(typedGrants('device:control:lamp, sensor:read:*\n device:*:lamp ../x')).toEqual({
    grants: ['device:control:lamp', 'sensor:read:*'],
    mistakes: ['device:*:lamp', '../x'],
  });
  expect(typedGrants('  ')).toEqual({ grants: [], mistakes: [] });
});

describe('many permissions', () => {
  test('are read by their kinds and rooms, with all actions together', () => {
    const permissions = [
      ...['light', 'plug'].flatMap((type) => [`device:control:@type/${type}`, `device:read:@type/${type}`]),
      ...['light', 'plug'].map((type) => `sensor:read:@area/living-room+hall/@type/${type}`),
      'sensor:read:@area/attic/@type/light',
      'sensor:read:@area/attic/@type/plug',
      'sensor:read:@area/cellar/@type/light',
      'sequence:run',
      'device:control:hall-lamp',
    ];
    expect(grantsInWords(permissions, HOME)).toEqual([
      'Control, Read state: Light, Plug in all rooms',
      'Read sensors and their history: Light, Plug in Living room, hall, attic; Light in cellar',
      'run several calls one after the other',
      'control Reading lamp (Living room)',
    ]);
  });

  test('in all rooms and in some are never joined', () => {
    const permissions = ['device:read:@type/light', 'device:read:@area/attic/@type/light'];
    expect(grantsInWords(permissions, HOME)).toEqual(['Read state: Light in all rooms; Light in attic']);
  });
});
