import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillPermission } from '../../../src/tools/definition/tool-permissions.ts';

describe('templated permissions', () => {
  test('take canonical values', () => {
    expect(fillPermission('device:control:{device_id}', { device_id: 'kitchen-light' })).toBe('device:control:kitchen-light');
    expect(fillPermission('sensor:read:{sensor_id}', { sensor_id: 'hall/temperature' })).toBe('sensor:read:hall/temperature');
    expect(fillPermission('admin:group:{group}', { group: 7 })).toBe('admin:group:7');
  });

  test('are denied without a value, or with anything that names more than one resource', () => {
    for (const value of [
      undefined,
      null,
      true,
      1.5,
      {},
      ['a'],
      '',
      '*',
      'a*',
      '@type/light',
      '/x',
      'x/',
      '.',
      'a/../b',
      'a//b',
      'a:b',
      '{x}',
      'a'.repeat(257),
      'ä',
    ]) {
      expect(() => fillPermission('a:b:{x}', value === undefined ? {} : { x: value })).toThrow(/cannot be judged/);
    }
    expect(() => fillPermission('a:b:{x-y}', {})).toThrow(/not a template/);
  });

  test('no text gives a permission with a wildcard or another number of parts', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z@./*:{}]{0,12}$/)), (text) => {
        let filled: string;
        try {
          filled = fillPermission('a:b:{x}', { x: text });
        } catch {
          return;
        }
        expect(filled).toMatch(/^a:b:[A-Za-z0-9_@.+/-]+$/);
      }),
    );
  });
});
