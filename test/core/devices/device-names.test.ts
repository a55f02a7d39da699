import { MatterModel } from '@matter/model';
import { expect, test } from 'vitest';
import { announcedType, libraryType, typeSlug } from '../../../src/core/devices/device-names.ts';

const TYPES = [...MatterModel.standard.deviceTypes].map(({ name }) => name);

test('a type is announced as its slug with underscores, in at most 64 characters', () => {
  for (const type of [...TYPES, 'DeviceType0xfff1', 'HVACUnit']) expect(announcedType(type)).toBe(typeSlug(type).replaceAll('-', '_'));
  expect([announcedType('HVACUnit'), announcedType(), announcedType('A'.repeat(70))]).toEqual(['hvac_unit', 'unknown', 'a'.repeat(64)]);
});

test('a hub reads each type of the Matter library from what another one announces', () => {
  expect(TYPES.length).toBeGreaterThan(50);
  expect(TYPES.map((type) => libraryType(announcedType(type)))).toEqual(TYPES);
});
