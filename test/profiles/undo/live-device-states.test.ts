import { expect, test } from 'vitest';
import type { Effect } from '../../../src/core/auth/principal.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { toolEffects } from '../../../src/profiles/tools/run-device-tool.ts';
import { LiveDeviceStates } from '../../../src/profiles/undo/live-device-states.ts';
import { described } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const IDS = ['lamp', 'sleepy', 'dead', 'lost'] as const;

/** A home just after a start: only `lamp` answers reads, and of `lost` it is known that it does not answer. */
async function homeAfterStart() {
  const { home, sync, clock } = await new ToolHarness(
    ...IDS.map((id) => described('OnOffLight', { device: { id: parseDeviceId(id) } })),
  ).start();
  for (const device of IDS) {
    home.report({ device: parseDeviceId(device), endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' }, true);
    home.unreported.add(device);
  }
  for (const id of ['sleepy', 'dead', 'lost']) home.unreadable.add(id);
  home.change(parseDeviceId('lost'), { reachability: 'unreachable' });
  const states = new LiveDeviceStates({ devices: sync, access: home, directory: home, clock });
  const effects = IDS.flatMap((id): readonly Effect[] => {
    const compiled = sync.get(parseDeviceId(id)) ?? expect.unreachable(id);
    const tool = compiled.tools.find(({ action }) => action === 'turn_off') ?? expect.unreachable('turn_off');
    return toolEffects(compiled, tool, {});
  });
  return { home, clock, states, effects };
}

test('a call waits at most one second for all devices that have not reported yet, and keeps the values of those that answer', async () => {
  const { home, clock, states, effects } = await homeAfterStart();
  let isKnown = false;
  const before = Promise.resolve(states.before(effects, new AbortController().signal)).finally(() => {
    isKnown = true;
  });
  clock.advance(999);
  await new Promise(setImmediate);
  expect(isKnown).toBe(false);
  clock.advance(1);
  expect(await before).toEqual({ lamp: expect.objectContaining({ '1/OnOff/OnOff': true }) });
  expect(home.reads.map(([path]) => path?.device)).toEqual(['lamp', 'sleepy', 'dead']);
});

test('a call whose time is up waits no longer', async () => {
  const { states, effects } = await homeAfterStart();
  expect(await states.before(effects, AbortSignal.abort())).toEqual({});
});
