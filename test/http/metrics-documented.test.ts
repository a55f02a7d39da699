import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MeshProxy } from '../../src/calls/mesh-ports.ts';
import { EventFeed } from '../../src/http/event-feed.ts';
import { registerHubMetrics, registerMeshMetrics } from '../../src/http/metrics.ts';
import { makeHttpApi } from './http-fixture.ts';

test('docs/http.md has every metric of the hub, with its kind, and no other', () => {
  const setup = makeHttpApi();
  const { metrics, events, clock } = setup;
  const stop = registerHubMetrics(metrics, { ...setup, feed: new EventFeed(events, clock), health: { health: () => HEALTH } });
  registerMeshMetrics(metrics, { view: new MeshProxy(() => undefined).view, drops: () => ({}) });
  const told = [...metrics.text().matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
  const documented = readFileSync(join(import.meta.dirname, '../../docs/http.md'), 'utf8');
  const listed = [...documented.matchAll(/^\| `([a-z]\w+)` \| (counter|gauge|histogram) \|/gm)].map(([, name, kind]) => `${name} ${kind}`);
  expect(listed.toSorted()).toEqual(told.toSorted());
  stop();
});

const HEALTH = { status: 'ok', nodeId: 'hub-1', version: '1.2.3', startedAtMs: 0, problems: [] } as const;
