import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { systemClock } from '../../src/core/clock.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { makeDevice, makeHttpApi, makeReading, TOKEN } from '../../test/http/http-fixture.ts';
import { startChromium } from '../../test/live/page/chromium.ts';
import { buildPage } from '../build-page.ts';
import type { BenchFigure } from './figure.ts';
import { taps } from './page-taps.ts';
import { median } from './statistics.ts';

const MAX_FIRST_GZIP_BYTES = 120_000;
const OPENINGS = 7;
const SENSORS = 60;
/** Each sensor tells a value twice a minute. */
const HOUR_EVENTS = SENSORS * 2 * 60;
/** After it the lists of the page are as long as they ever get. */
const WARM_UP_EVENTS = 1_000;
const BURST = 50;
const MAX_GROWTH_BYTES = 4_000_000;

type Room = ReturnType<typeof makeHttpApi>;

/**
 * The page: its bytes, how soon it can be used, what an hour of a home with 60 devices adds to its memory, and how many taps people need.
 * The events of the hour come as fast as the page takes them in.
 */
export async function run(): Promise<BenchFigure[]> {
  const room = makeHttpApi({ clock: systemClock }, { port: 0 });
  furnish(room);
  await room.httpApi.start();
  const browser = await startChromium();
  try {
    return [
      await bytes(),
      await timeToInteractive(browser, room),
      ...(await memory(browser, room)),
      ...(await taps(browser, room.httpApi.url)),
    ];
  } finally {
    await browser.close();
    await room.httpApi[Symbol.asyncDispose]();
  }
}

async function bytes(): Promise<BenchFigure> {
  const dir = mkdtempSync(join(tmpdir(), 'page-bench-'));
  const { first, all } = await buildPage(dir).finally(() => rmSync(dir, { recursive: true, force: true }));
  const value = first.gzipBytes;
  const vs = `the first page; all files have ${all.gzipBytes} B`;
  return { name: 'page.gzip', value, unit: 'B', bar: MAX_FIRST_GZIP_BYTES, ok: value <= MAX_FIRST_GZIP_BYTES, samples: 1, vs };
}

/** From the address to a home that can be clicked, with an empty cache. */
async function timeToInteractive(browser: Browser, room: Room): Promise<BenchFigure> {
  const times: number[] = [];
  for (let opening = 0; opening < OPENINGS; opening++) {
    const startMs = performance.now();
    const page = await open(browser, room);
    times.push(performance.now() - startMs);
    await page.context().close();
  }
  const value = median(times);
  return { name: 'page.interactive', value, unit: 'ms', bar: null, ok: true, samples: OPENINGS, vs: 'signed in, nothing cached' };
}

async function memory(browser: Browser, room: Room): Promise<BenchFigure[]> {
  const page = await open(browser, room);
  await replay(page, room, WARM_UP_EVENTS);
  const before = await heapBytes(page);
  await replay(page, room, HOUR_EVENTS);
  const after = await heapBytes(page);
  const growth = after - before;
  const figure = { unit: 'B', samples: HOUR_EVENTS, vs: `an hour of ${SENSORS} devices` };
  return [
    { ...figure, name: 'page.heap', value: after, bar: null, ok: true },
    { ...figure, name: 'page.heap_growth', value: growth, bar: MAX_GROWTH_BYTES, ok: growth <= MAX_GROWTH_BYTES },
  ];
}

async function open(browser: Browser, room: Room): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  const login = Buffer.from(JSON.stringify({ token: TOKEN })).toString('base64url');
  await page.goto(`${room.httpApi.url}/#login=${login}`);
  await page.getByText('sensor 0', { exact: true }).first().waitFor();
  return page;
}

/** As many readings as an hour brings, as fast as the page takes them in. */
async function replay(page: Page, room: Room, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    const value = 20 + (sent % 97) / 10;
    room.events.emit('sensor.reading', `sensor-${sent % SENSORS}/temperature`, { value, at_ms: systemClock.now() });
    if (sent % BURST === 0) await setImmediate();
  }
  const last = (20 + ((count - 1) % 97) / 10).toFixed(1);
  await page
    .getByText(new RegExp(last.replace(/\.0$/, '')))
    .first()
    .waitFor();
}

async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  if (usedSize > 0) return usedSize;
  throw new AtmoError('INTERNAL_ERROR', 'Chromium does not tell the size of its heap');
}

function furnish({ directory, readings }: Room): void {
  const numbers = Array.from({ length: SENSORS }, (_, number) => number);
  directory.devices = numbers.map((number) =>
    makeDevice(`sensor-${number}`, { deviceTypes: ['TemperatureSensor'], area: `Room ${number % 8}` }),
  );
  readings.readings = numbers.map((number) => makeReading(`sensor-${number}/temperature`, 20, systemClock.now()));
}
