import { describe, expect, test } from 'vitest';
import { matchRoute, titleOf } from '../../src/web/router.ts';

describe('an address', () => {
  test.each([
    ['home', '#/home', {}],
    ['home', '#home', {}],
    ['devices/:id', '#/devices/hall-lamp', { id: 'hall-lamp' }],
    ['devices/:id', '#/devices/a%2Fb?tab=raw', { id: 'a/b', tab: 'raw' }],
    ['devices/:id', '#/devices/50%', { id: '50%' }],
  ])('%s is %s', (route, hash, params) => {
    expect(matchRoute(route, hash)).toEqual(params);
  });

  test.each([
    ['home', ''],
    ['home', '#/homes'],
    ['devices/:id', '#/devices'],
    ['devices/:id', '#/devices/'],
    ['devices/:id', '#/devices/a/b'],
  ])('%s is not %s', (route, hash) => {
    expect(matchRoute(route, hash)).toBeUndefined();
  });
});

describe('the title of the tab', () => {
  test('has the number of waiting requests', () => {
    expect(titleOf(2, 'Home')).toBe('(2) Home · Atmosphere');
    expect(titleOf(0, undefined)).toBe('Atmosphere');
  });
});
