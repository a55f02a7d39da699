import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EventFeed } from '../../../src/gateway/events/event-feed.ts';
import { watchHub } from '../../../src/gateway/metrics/hub-metrics.ts';
import { watchMesh } from '../../../src/gateway/metrics/mesh-metrics.ts';
import { MeshOutlook } from '../../../src/tools/elsewhere/mesh-outlook.ts';
import { makeGateway } from '../gateway-room.ts';

test('docs/http.md has every metric of the hub, with its kind, and no other', () => {
  const room = makeGateway();
  const { metrics, events, clock } = room;
  const stop = watchHub(metrics, { ...room, feed: new EventFeed(events, clock), health: { health: () => HEALTH } });
  watchMesh(metrics, { view: new MeshOutlook(() => undefined).view, drops: () => ({}) });
  const told = [...metrics.text().matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
  const documented = readFileSync(join(import.meta.dirname, '../../../docs/http.md'), 'utf8');
  const listed = [...documented.matchAll(/^\| `([a-z]\w+)` \| (counter|gauge|histogram) \|/gm)].map(([, name, kind]) => `${name} ${kind}`);
  expect(listed.toSorted()).toEqual(told.toSorted());
  stop();
});

const HEALTH = { status: 'ok', nodeId: 'hub-1', version: '1.2.3', startedAtMs: 0, problems: [] } as const;
