import { expect, test } from 'vitest';
import { fragmentOfPath, matchRoute, Router } from '../../src/web/router.ts';

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

test('a page that has something to save stays, and opens the other page only when the person leaves it', () => {
  const page = windowAt('#/new-automation');
  const router = routerOf(page);
  const asked: (() => void)[] = [];
  const release = router.hold((leave) => asked.push(leave));
  page.location.hash = '#/home';
  page.tell();
  expect([router.place?.page.route, page.location.hash, asked.length]).toEqual(['new-automation', '#/new-automation', 1]);
  asked[0]?.();
  page.tell();
  expect([router.place?.page.route, page.location.hash, asked.length]).toEqual(['home', '#/home', 1]);
  router.hold(() => asked.push(release));
  release();
  page.location.hash = '#/tools';
  page.tell();
  expect([router.place?.page.route, asked.length]).toEqual(['home', 2]);
});

test('a page that is released is left without a question', () => {
  const page = windowAt('#/new-automation');
  const router = routerOf(page);
  router.hold(() => {
    throw new Error('Nobody may be asked');
  })();
  page.location.hash = '#/home';
  page.tell();
  expect(router.place?.page.route).toBe('home');
});

test('a request of OAuth becomes a page whose parameter is the query as the application wrote it', () => {
  for (const search of ['?client_id=a%2Fb&state=x?y/z&scope=a+b', '?state=%zz#', '']) {
    const fragment = fragmentOfPath({ pathname: '/oauth/authorize', search }) ?? '';
    expect(matchRoute('authorize/:query', fragment), search).toEqual({ query: search || '?' });
  }
  const device = fragmentOfPath({ pathname: '/oauth/device', search: '?user_code=WDJB-MJHT' }) ?? '';
  expect(matchRoute('authorize-device', device)).toEqual({ user_code: 'WDJB-MJHT' });
  expect(fragmentOfPath({ pathname: '/oauth/device', search: '' })).toBe('#/authorize-device');
  for (const pathname of ['/', '/oauth/authorize/', '/assets/x.js']) expect(fragmentOfPath({ pathname, search: '?a=b' })).toBeUndefined();
});
