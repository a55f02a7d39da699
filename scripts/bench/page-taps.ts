import { randomBytes } from 'node:crypto';
import type { Browser, Locator, Page } from 'playwright-core';
import type { ApprovalView } from '../../src/web/api/hub-types.ts';
import { TOKEN } from '../../test/http/http-fixture.ts';
import { homeOfSize } from '../../test/web/whole-home.ts';
import type { BenchFigure } from './figure.ts';

const DEVICES = 60;
const MINUTE_MS = 60_000;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;
/** Counts what fingers do, not what the test does: a tap that scripts make has no pointer. */
const COUNT_TAPS = "window.taps = 0; addEventListener('pointerdown', ({ isTrusted }) => { if (isTrusted) window.taps += 1; }, true);";

/** What people do most, each with the request that the page must send in the end. */
interface Errand {
  readonly name: string;
  readonly most: number;
  readonly sends: RegExp;
  readonly what: string;
  readonly run: (page: Page) => Promise<void>;
}

const ERRANDS: readonly Errand[] = [
  {
    name: 'page.taps_all_off',
    most: 1,
    sends: /\/tools\/control_area\/invoke$/,
    what: 'all lights of the house off',
    run: async (page) => page.getByRole('button', { name: 'All lights off' }).tap(),
  },
  {
    name: 'page.taps_scene',
    most: 1,
    sends: /\/tools\/[^/]*scene[^/]*\/invoke$/,
    what: 'the scene Good night',
    run: async (page) => page.getByRole('button', { name: 'Good night' }).tap(),
  },
  {
    name: 'page.taps_approve',
    most: 2,
    sends: /\/approvals\/[0-9a-f]+$/,
    what: 'a request approved, from Home',
    run: async (page) => {
      await page.getByRole('link', { name: /Approvals/ }).tap();
      await tapSteady(page.getByRole('button', { name: 'Approve once' }));
    },
  },
  {
    name: 'page.taps_lamp',
    most: 3,
    sends: /\/tools\/[^/]*bedroom_lamp_turn_on[^/]*\/invoke$/,
    what: `one lamp found among ${DEVICES} devices and turned on`,
    run: async (page) => {
      await page.getByRole('searchbox').tap();
      await page.keyboard.type('bedroom lamp');
      await page.getByRole('switch', { name: 'Bedroom lamp on' }).tap();
    },
  },
];

/** Counts the taps of each errand on a phone, each from Home, in a home whose answers the browser is given. */
export async function taps(browser: Browser, url: string): Promise<BenchFigure[]> {
  const figures: BenchFigure[] = [];
  for (const errand of ERRANDS) figures.push(await figureOf(errand, browser, url));
  return figures;
}

async function figureOf({ name, most, sends, what, run }: Errand, browser: Browser, url: string): Promise<BenchFigure> {
  const context = await browser.newContext({ ...PHONE, locale: 'en-GB' });
  try {
    const page = await context.newPage();
    await openHome(page, url);
    const sent = page.waitForRequest((request) => request.method() === 'POST' && sends.test(decodeURIComponent(request.url())));
    await page.evaluate(COUNT_TAPS);
    await run(page);
    await sent;
    const value = Number(await page.evaluate('window.taps'));
    return { name, value, unit: 'taps', bar: most, ok: value <= most, samples: 1, vs: `${what}, counted by a browser` };
  } finally {
    await context.close();
  }
}

async function openHome(page: Page, url: string): Promise<void> {
  const scene = { scene: 'good-night', name: 'Good night', actions: [], left_out: [] };
  await page.route('**/api/v1/devices', (route) => route.fulfill({ json: { devices: homeOfSize(DEVICES) } }));
  await page.route('**/api/v1/scenes', (route) => route.fulfill({ json: { scenes: [scene] } }));
  const approval = waiting();
  await page.route('**/api/v1/approvals', (route) => route.fulfill({ json: { approvals: [approval] } }));
  await page.route(`**/api/v1/approvals/${approval.approval_id}`, (route) => route.fulfill({ json: approval }));
  const login = { token: TOKEN, person: 'owner', key: randomBytes(32).toString('base64url') };
  await page.goto(`${url}/#login=${Buffer.from(JSON.stringify(login)).toString('base64url')}`);
  await page.getByRole('link', { name: /Approvals/ }).waitFor();
  await page.goto(`${url}/#/home`);
  await page.getByRole('button', { name: 'All lights off' }).waitFor();
}

/** Taps a button that decides as soon as it has stood still on the screen for long enough. */
async function tapSteady(button: Locator): Promise<void> {
  await button.evaluate("element => element.scrollIntoView({ block: 'center' })");
  await button.and(button.page().locator('[aria-disabled="false"]')).waitFor();
  await button.tap();
}

function waiting(): ApprovalView {
  const nowMs = Date.now();
  return {
    approval_id: 'ab'.repeat(16),
    state: 'pending',
    agent_id: 'claude',
    tool: 'matter:front_door_unlock@1.0.0',
    title: 'Unlock',
    summary: 'claude wants: Unlock Front door (Hall)',
    params: {},
    effects: [{ target: 'front-door/1/DoorLock/UnlockDoor', permission: 'device:control:front-door', risk: 'dangerous' }],
    devices: [{ id: 'front-door', name: 'Front door', area: 'Hall' }],
    needed: 1,
    given: 0,
    approved_by: [],
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + 10 * MINUTE_MS).toISOString(),
    waits_for_s: 600,
    answers: ['approve', 'deny'],
    runs_when_approved: false,
    hub: 'hub-1',
    call_hash: 'cd'.repeat(32),
  };
}
