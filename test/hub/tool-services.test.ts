import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { EventBus } from '../../src/core/events.ts';
import { ServiceStack } from '../../src/core/lifecycle.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { Auth } from '../../src/hub/auth.ts';
import { loadConfig } from '../../src/hub/config/config.ts';
import { openToolServices } from '../../src/hub/tool-services.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

const dir = mkdtempSync(join(tmpdir(), 'services-'));
afterAll(() => rmSync(dir, { recursive: true }));

const CONFIG = `
sensors:
  devices: { shed: { source: "w1:28-0", area: Winter Garden } }
  serial: { meter: { path: /dev/ttyUSB0, area: winter garden, readings: { power: { unit: W } } } }
  gpio:
    inputs: { door: { line: 4, area: Winter-garden }, bell: { line: 5 } }
    outputs: { pump: { line: 6, area: Winter Garden } }
roles: { gardener: { permissions: ["device:control:@area/winter-garden"] } }
tools: { disabled: [winter_garden_pump] }
`;

test('what names a room is found in settings, rules and tokens that still count, however the room is written', async () => {
  writeFileSync(join(dir, 'config.yaml'), CONFIG);
  const clock = new ManualClock();
  const permissions = ['device:read:@area/winter-garden'];
  const tokenOf = (agentId: string, more = {}) => ({ agentId, permissions, expiresAtMs: clock.now() + 1, ...more });
  const auth = {
    key: { hubId: 'hub-1' },
    rules: { list: () => ({ rules: [{ name: 'quiet', when: { area: 'Winter garden' } }] }) },
    tokens: {
      list: () => [tokenOf('waterer'), tokenOf('ended', { expiresAtMs: clock.now() }), tokenOf('revoked', { revokedAtMs: clock.now() })],
      onRevoked: () => {},
    },
    revocations: { onRevoked: () => {} },
  } as unknown as Auth;
  const collaborators = {
    clock,
    auth,
    logger: silentLogger,
    events: new EventBus('hub-1', clock),
    store: new MemoryKeyValueStore(clock),
    mesh: () => undefined,
  };
  await using stack = new ServiceStack();
  const { nameUses } = await openToolServices(collaborators, loadConfig({}, dir), stack);
  const isPlace = true;
  expect(nameUses.of({ areas: ['winter-garden'], texts: [], tools: [] })).toEqual([
    { kind: 'setting', id: 'roles.gardener', as: ['device:control:@area/winter-garden'] },
    { kind: 'rule', id: 'quiet', as: ['Winter garden'] },
    { kind: 'token', id: 'waterer', as: permissions },
    { kind: 'setting', id: 'sensors.devices.shed.area', as: ['Winter Garden'], isPlace },
    { kind: 'setting', id: 'sensors.serial.meter.area', as: ['winter garden'], isPlace },
    { kind: 'setting', id: 'sensors.gpio.inputs.door.area', as: ['Winter-garden'], isPlace },
    { kind: 'setting', id: 'sensors.gpio.outputs.pump.area', as: ['Winter Garden'], isPlace },
  ]);
  // A device of that name is not the room.
  expect(nameUses.of({ texts: ['Winter Garden'], tools: [] }).map(({ id }) => id)).toEqual(['quiet']);
});
