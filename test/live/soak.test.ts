import { afterAll, beforeAll, expect, test } from 'vitest';
import { SoakHub } from '../../scripts/bench/soak-hub.ts';
import { Workspace } from '../../scripts/bench/workspace.ts';

const workspace = new Workspace();
let hub: SoakHub;

beforeAll(async () => {
  hub = await new SoakHub(workspace.dir).start();
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  workspace[Symbol.dispose]();
});

test('some hours leave nothing behind in a hub but what it writes down, and no timer is late (`npm run bench -- soak` has a month)', async () => {
  await hub.live(1 / 24);
  const before = hub.sample();
  await hub.live(3 / 24);
  const after = hub.sample();
  const { runs, minutes } = await hub.drift();
  expect(minutes).toBe(240);
  expect(runs).toBe(minutes);
  expect(hub.calls).toBeGreaterThan(90);
  expect(after.descriptors - before.descriptors).toBeLessThanOrEqual(4);
  expect(after.handles - before.handles).toBeLessThanOrEqual(4);
  expect(after.heapMegabytes - before.heapMegabytes).toBeLessThan(16);
  expect(after.diskMegabytes - before.diskMegabytes).toBeLessThan(10);
});
