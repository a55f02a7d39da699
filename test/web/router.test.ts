import { expect, test } from 'vitest';
import { Router } from '../../src/web/router.ts';

/** A window whose address changes at once and whose event about that comes when it is told. */
function windowAt(hash: string) {
  const location = { hash };
  const listeners: (() => void)[] = [];
  return {
    location,
    history: { replaceState: (_state: unknown, _title: string, to: string) => Object.assign(location, { hash: to }) },
    addEventListener: (_type: string, listener: () => void) => listeners.push(listener),
    tell: () => {
      for (const listener of listeners) listener();
    },
  };
}

function routerOf(page: ReturnType<typeof windowAt>): Router {
  const router = new Router(page);
  router.start();
  return router;
}

test('an address without a page becomes that of the first one', () => {
  const page = windowAt('');
  const router = routerOf(page);
  expect(router.place).toBeUndefined();
  router.begin('home');
  expect([router.place?.page.route, page.location.hash]).toEqual(['home', '#/home']);
});

test('a page that was just opened stays, although its event has not come yet', () => {
  const page = windowAt('');
  const router = routerOf(page);
  page.location.hash = '#/devices/lamp';
  router.begin('home');
  expect(router.place).toMatchObject({ page: { route: 'devices/:id' }, params: { id: 'lamp' } });
  page.tell();
  expect([router.place?.page.route, page.location.hash]).toEqual(['devices/:id', '#/devices/lamp']);
});
