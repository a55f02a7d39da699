import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fakeClockLibrary } from '../../scripts/network-lab/debian-tool.ts';
import { IS_LONG, LONG_REASON } from './mesh/figures.ts';
import { LabMesh, untilComplete } from './mesh/lab-mesh.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';

const WATCH_MS = 240_000;
const OFFSETS = ['+600s', '-600s'];
const library = fakeClockLibrary();
const REASON = library === undefined ? ' (skipped: libfaketime is missing; scripts/netlab tools gets it)' : '';

describe.skipIf(library === undefined || !IS_LONG)(`a hub whose clock is ten minutes off${REASON || LONG_REASON}`, () => {
  let mesh: LabMesh;
  let right: MeshHub;
  let wrong: MeshHub;

  beforeAll(async () => {
    mesh = await new LabMesh().start();
    [right, wrong] = (await mesh.addMesh(2)) as [MeshHub, MeshHub];
  });
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  test.each(OFFSETS)(
    `by %s stays in sight without a break`,
    async (offset) => {
      await wrong.stop();
      await wrong.start({ LD_PRELOAD: library ?? '', FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' });
      await untilComplete([right, wrong], 20_000);
      const seen = new Set<string>();
      const endMs = performance.now() + WATCH_MS;
      while (performance.now() < endMs) {
        const [one, other] = await Promise.all([right.peer(wrong), wrong.peer(right)]);
        seen.add(`${one?.state} ${one?.isReachable} ${other?.state} ${other?.isReachable}`);
        await sleep(200);
      }
      expect([...seen]).toEqual(['fresh true fresh true']);
    },
    2 * WATCH_MS,
  );
});
