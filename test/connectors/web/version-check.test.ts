import { expect, test } from 'vitest';
import type { FetchPublic } from '../../../src/connectors/web/public-fetch.ts';
import { VersionCheck, versionTool } from '../../../src/connectors/web/version-check.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { agent, makePipeline, settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

const URL_OF_DOCUMENT = 'https://releases.example/hub.json';
const DAY_MS = 86_400_000;

/** A hub of version 1.2.3, and what the address of the document answers. */
async function hub({ url }: { readonly url: string | undefined } = { url: URL_OF_DOCUMENT }) {
  const clock = new ManualClock();
  const asked: string[] = [];
  let answer: () => { readonly status?: number; readonly body: string } = () => ({ body: '{}' });
  const fetch: FetchPublic = async ({ url: wanted }) => {
    asked.push(wanted);
    const { status = 200, body } = answer();
    return { status, url: wanted, headers: new Headers(), body: new TextEncoder().encode(body) };
  };
  const versions = new VersionCheck({ clock, logger: silentLogger, fetch }, { running: '1.2.3', url });
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
  return { versions, asked, pass, say, fail };
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

test('only who administrates the hub is told', async () => {
  const { versions } = await hub();
  const { registry, pipeline } = makePipeline();
  registry.register(versionTool(versions));
  const call = (...permissions: string[]) => pipeline.call({ principal: agent(...permissions), tool: 'hub:show_version', params: {} });
  expect(await call('*')).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
  expect(await call('admin:hub')).toMatchObject({ result: { version: '1.2.3', is_configured: true } });
});
