import { expect, test } from 'vitest';
import { intersectPermissions } from '../../../src/core/auth/permission-intersection.ts';

test.each<readonly [string, readonly string[], readonly string[], readonly string[]]>([
  ['what one includes of the other', ['device:control:lamp', 'fs:read:x'], ['device:*'], ['device:control:lamp']],
  ['everything but administration', ['*', 'admin:hub'], ['*'], ['*']],
  ['an area and a type', ['device:read:@area/hall'], ['device:read:@type/light'], ['device:read:@area/hall/@type/light']],
  [
    'areas of both',
    ['device:read:@area/hall+attic/@type/light'],
    ['device:read:@area/attic+cellar/@type/light+fan'],
    ['device:read:@area/attic/@type/light'],
  ],
  [
    'types of one area in one grant',
    ['device:read:@type/light', 'device:read:@type/fan'],
    ['device:read:@area/hall'],
    ['device:read:@area/hall/@type/light+fan'],
  ],
  ['nothing of different areas', ['device:read:@area/hall'], ['device:read:@area/attic'], []],
  ['nothing of different actions', ['device:read:@area/hall'], ['device:control:@type/light'], []],
  ['nothing of a device and a group', ['device:read:lamp'], ['device:read:@type/light'], []],
  ['nothing twice', ['device:read:lamp', 'device:read:*'], ['device:*', 'device:read:lamp'], ['device:read:*']],
  ['nothing with nothing', ['device:read:lamp'], [], []],
])('two lists have in common: %s', (_, one, other, common) => {
  expect(intersectPermissions(one, other)).toEqual(common);
  expect(intersectPermissions(other, one).length).toBe(common.length);
});

test('many types of one area are spread over grants that are not too long', () => {
  const types = Array.from({ length: 60 }, (_, index) => `device:read:@type/kind-number-${index}`);
  const common = intersectPermissions(types, ['device:read:@area/hall']);
  expect(common.length).toBeGreaterThan(1);
  expect(Math.max(...common.map((text) => text.length))).toBeLessThanOrEqual(256);
  expect(common.join('+').match(/kind-number-\d+/g)).toHaveLength(60);
});
