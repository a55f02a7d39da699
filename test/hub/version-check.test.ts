import { describe, expect, test } from 'vitest';
import type { FetchPublic } from '../../src/connectors/web/public-fetch.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { HubProblems } from '../../src/core/health.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { UpgradeRecord } from '../../src/hub/upgrade-record.ts';
import { VersionCheck, versionTool } from '../../src/hub/version-check.ts';
import { HubNotices } from '../../src/notices/hub-notices.ts';
import { agent, makePipeline, settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { household } from '../notices/notices-fixture.ts';

const URL_OF_DOCUMENT = 'https://releases.example/hub.json';
const DAY_MS = 86_400_000;

interface HubParts {
  readonly url?: string | undefined;
  readonly running?: string;
  readonly clock?: ManualClock;
  readonly store?: MemoryKeyValueStore;
  readonly upgrade?: UpgradeRecord;
}

/** A hub of version 1.2.3, and what the address of the document answers. */
async function hub(parts: HubParts = {}) {
  const { url, running = '1.2.3', clock = new ManualClock() } = { url: URL_OF_DOCUMENT, ...parts };
  const store = parts.store ?? new MemoryKeyValueStore(clock);
  const asked: string[] = [];
  let answer: () => { readonly status?: number; readonly body: string } = () => ({ body: '{}' });
  const fetch: FetchPublic = async ({ url: wanted }) => {
    asked.push(wanted);
    const { status = 200, body } = answer();
    return { status, url: wanted, headers: new Headers(), body: new TextEncoder().encode(body) };
  };
  const problems = new HubProblems();
  const upgrade = () => parts.upgrade;
  const versions = new VersionCheck({ clock, store, logger: silentLogger, fetch, upgrade, problems }, { running, url });
  await versions.start();
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  const say = (body: string, status = 200) => {
    answer = () => ({ status, body });
  };
  const fail = (error: AtmoError) => {
    answer = () => {
      throw error;
    };
  };
  return { versions, clock, store, asked, pass, say, fail, problems };
}

test('a hub whose owner named no address asks nobody', async () => {
  const silent = await hub({ url: undefined });
  await silent.pass(30 * DAY_MS);
  expect([silent.asked, silent.versions.status()]).toEqual([[], { version: '1.2.3', is_configured: false }]);
});

test('a hub asks soon after its start and then once a day, and tells a version that is newer', async () => {
  const { versions, asked, pass, say } = await hub();
  say('{"version": "1.2.3"}');
  await pass(60_000);
  expect([asked, versions.newer()]).toEqual([[URL_OF_DOCUMENT], undefined]);
  expect(versions.status().checked_at).toBeDefined();
  say('{"version": "1.3.0", "notes_url": "https://releases.example/1.3.0", "more": 1}');
  await pass(DAY_MS - 60_000);
  expect(asked).toHaveLength(2);
  expect(versions.newer()).toEqual({ version: '1.3.0', notesUrl: 'https://releases.example/1.3.0' });
  say('{"version": "1.1.9"}');
  await pass(DAY_MS);
  expect(versions.newer()).toBeUndefined();
});

test('after a failure the last answer stays, and the reason is told', async () => {
  const { versions, pass, say, fail } = await hub();
  say('{"version": "2.0.0", "notes_url": "javascript:alert(1)"}');
  await pass(60_000);
  expect(versions.newer()).toEqual({ version: '2.0.0' });
  fail(new AtmoError('SERVICE_UNAVAILABLE', 'no route'));
  await pass(DAY_MS);
  expect(versions.status()).toMatchObject({ newer: '2.0.0', problem: 'no route' });
  for (const [body, status] of [
    ['{"version": "newest"}', 200],
    ['[]', 200],
    ['<html>', 200],
    ['{"version": "3.0.0"}', 404],
  ] as const) {
    say(body, status);
    await pass(DAY_MS);
    expect(versions.status(), body).toMatchObject({ newer: '2.0.0', problem: expect.stringMatching(/version/) });
  }
});

test('a version and an address are kept in their plain form, and an address that may deceive is left out', async () => {
  const { versions, pass, say } = await hub();
  const newer = async (notes: string) => {
    say(JSON.stringify({ version: '\n v2.0.0-x+y \n', notes_url: notes }));
    await pass(DAY_MS);
    return versions.newer();
  };
  expect(await newer('https://releases.example/a\u202eb')).toEqual({
    version: '2.0.0-x',
    notesUrl: 'https://releases.example/a%E2%80%AEb',
  });
  for (const notes of [
    'https://releases.example@evil.example/',
    'https://:pass@evil.example/',
    'https://releases.example\u202e/',
    'http://releases.example/',
    `https://releases.example/${'a'.repeat(500)}`,
    'notes',
  ]) {
    expect([notes, await newer(notes)]).toEqual([notes, { version: '2.0.0-x' }]);
  }
});

test('a hub that starts again tells nobody once more of a version, until that version runs', async () => {
  const home = await household({ personsFor: () => ['ann'] });
  const { clock } = home;
  const store = new MemoryKeyValueStore(clock);
  const started = async (running: string) => {
    const next = await hub({ clock, store, running });
    const notices = new HubNotices({
      clock,
      time: clock,
      logger: silentLogger,
      publisher: home.publisher,
      problems: new HubProblems(),
      tokens: { list: () => [] },
      agentTokens: () => new Set(),
      certificates: () => [],
      updates: async () => [],
      newerHub: () => next.versions.newer()?.version,
      wentBack: () => next.versions.wentBack(),
      freeBytes: async () => Number.MAX_SAFE_INTEGER,
    });
    const check = async () => {
      await notices.check();
      await home.pass(0);
    };
    return { ...next, check };
  };
  const first = await started('1.2.3');
  first.say('{"version": "1.3.0"}');
  await first.pass(60_000);
  await first.check();
  await first.versions[Symbol.asyncDispose]();
  const second = await started('1.2.3');
  await second.check();
  second.say('{"version": "1.3.0"}');
  await second.pass(60_000);
  await second.check();
  await second.versions[Symbol.asyncDispose]();
  expect(home.sent.map(({ message }) => message)).toEqual(['Version 1.3.0 of the hub can be installed.']);
  expect(home.notices.open('update')).toHaveLength(1);
  await (await started('1.3.0')).check();
  expect(home.notices.open('update')).toEqual([]);
});

test('what one address answered says nothing about another address', async () => {
  const { clock, store, pass, say } = await hub();
  say('{"version": "2.0.0"}');
  await pass(60_000);
  const other = await hub({ clock, store, url: 'https://other.example/hub.json' });
  expect(other.versions.status()).toEqual({ version: '1.2.3', is_configured: true });
});

test('only who administrates the hub is told', async () => {
  const { versions } = await hub();
  const { registry, pipeline } = makePipeline();
  registry.register(versionTool(versions));
  const call = (...permissions: string[]) => pipeline.call({ principal: agent(...permissions), tool: 'hub:show_version', params: {} });
  expect(await call('*')).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
  expect(await call('admin:hub')).toMatchObject({ result: { version: '1.2.3', is_configured: true } });
});

describe('an upgrade of the package', () => {
  const upgrade: UpgradeRecord = { step: 'settled', from: '1.2.2', to: '1.2.3', atMs: 5_000 };

  test('that was kept names the version before, and is no problem', async () => {
    const { versions, problems } = await hub({ upgrade });
    expect(versions.status()).toMatchObject({ version: '1.2.3', before: '1.2.2' });
    expect(versions.status()).not.toHaveProperty('went_back');
    expect(problems.list()).toEqual([]);
  });

  test('to a pre-release is known by the version of its package', async () => {
    const { versions } = await hub({ running: '1.2.3-rc.1', upgrade: { ...upgrade, to: '1.2.3~rc.1' } });
    expect(versions.status()).toMatchObject({ before: '1.2.2' });
  });

  test('that was taken back is told with its reason, and is a problem that status shows', async () => {
    const { versions, problems } = await hub({ running: '1.2.2', upgrade: { ...upgrade, step: 'rolled-back', reason: 'no_answer' } });
    const at = '1970-01-01T00:00:05.000Z';
    expect(versions.status()).toMatchObject({ went_back: { version: '1.2.3', reason: 'no_answer', at, is_possible: true } });
    expect(versions.status()).not.toHaveProperty('before');
    expect(problems.list()).toEqual([expect.stringMatching(/^The upgrade to 1\.2\.3 was not kept .* 1\.2\.2 runs again/)]);
  });

  test('without a way back says so', async () => {
    const { versions, problems } = await hub({ upgrade: { ...upgrade, step: 'stayed', reason: 'ended', obstacle: 'minimum' } });
    expect(versions.wentBack()).toMatchObject({ version: '1.2.3', isPossible: false });
    expect(problems.list()).toEqual([expect.stringContaining('there was no way back')]);
  });
});
