import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { EventBus } from '../../src/core/events.ts';
import { ServiceStack } from '../../src/core/lifecycle.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { Auth } from '../../src/hub/auth.ts';
import { loadConfig } from '../../src/hub/config/config.ts';
import { openToolServices } from '../../src/hub/tool-services.ts';
import { listAuthorizer, makeTool, owner, permissiveParts, settled, withToken } from '../calls/pipeline-fixture.ts';
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

function servicesOf(auth: Auth, clock: ManualClock, stack: ServiceStack) {
  const events = new EventBus('hub-1', clock);
  const collaborators = { clock, auth, logger: silentLogger, events, store: new MemoryKeyValueStore(clock), mesh: () => undefined };
  return openToolServices(collaborators, loadConfig({}, dir), stack);
}

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
  await using stack = new ServiceStack();
  const { nameUses } = await servicesOf(auth, clock, stack);
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

describe('a revocation', () => {
  type Listener = (tokenId: string) => void;
  const agent = withToken({ id: 'agent-1', kind: 'agent', permissions: ['*'] });

  /** The services of a hub, and what tells them that the owner, or any hub of the mesh, revoked a token. */
  async function services(stack: ServiceStack) {
    const clock = new ManualClock();
    const told: { byOwner?: Listener; byAnybody?: Listener; isValid: boolean } = { isValid: true };
    const auth = {
      ...permissiveParts(clock),
      key: { hubId: 'hub-1', sealSecret: String },
      authorizer: listAuthorizer,
      authenticator: { isStillValid: () => told.isValid },
      tokens: { find: () => undefined, onRevoked: (listener: Listener) => Object.assign(told, { byOwner: listener }) },
      revocations: { onRevoked: (listener: Listener) => Object.assign(told, { byAnybody: listener }) },
    } as unknown as Auth;
    return { told, ...(await servicesOf(auth, clock, stack)) };
  }

  test('by this hub ends the jobs of the token and those of no other', async () => {
    await using stack = new ServiceStack();
    const { told, jobStore } = await services(stack);
    const [job, other] = [jobStore.create(agent, makeTool({})), jobStore.create(owner, makeTool({}))];
    told.byOwner?.('aa');
    expect([job.signal.aborted, other.signal.aborted]).toEqual([true, false]);
  });

  test('by any hub ends the calls of the token, but only where the token does not count any more', async () => {
    await using stack = new ServiceStack();
    const { told, registry, pipeline } = await services(stack);
    const signals: AbortSignal[] = [];
    const untilAborted = async (signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)));
    };
    registry.register(makeTool({ handler: (_, { signal }) => untilAborted(signal) }));
    const call = pipeline.call({ principal: agent, tool: 'probe', params: {} });
    await settled();
    told.byAnybody?.('aa');
    told.isValid = false;
    told.byAnybody?.('bb');
    expect(signals[0]?.aborted).toBe(false);
    told.byAnybody?.('aa');
    expect(signals[0]?.aborted).toBe(true);
    await call;
  });
});
