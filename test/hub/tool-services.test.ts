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
import { codeOf, listAuthorizer, makeTool, owner, permissiveParts, settled, withToken } from '../calls/pipeline-fixture.ts';
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
  const collaborators = {
    clock,
    auth,
    logger: silentLogger,
    events,
    store: new MemoryKeyValueStore(clock),
    hasLostState: false,
    mesh: () => undefined,
  };
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

type OnRevoked = (tokenId: string) => void;

const agent = withToken({ id: 'agent-1', kind: 'agent', permissions: ['*'] });

/** The services of a hub that approves everything, with what a test changes while a call waits for the audit log. */
async function changingServices(stack: ServiceStack) {
  const clock = new ManualClock();
  const world = {
    isTokenValid: true,
    isTimeTrusted: true,
    /** What happens when an intent is written. */
    onIntent: () => {},
    /** The owner, or any hub of the mesh, revokes a token. */
    revokeHere: (() => {}) as OnRevoked,
    revokeAnywhere: (() => {}) as OnRevoked,
  };
  const approved = async () => ({ state: 'approved', approvalId: 'a', by: ['ann'] });
  const auth = {
    ...permissiveParts(clock),
    key: { hubId: 'hub-1', sealSecret: String },
    authorizer: listAuthorizer,
    audit: { record: async ({ kind }: { readonly kind: string }) => kind === 'intent' && world.onIntent() },
    approvals: { check: approved, peek: approved, giveBack: () => {}, refusalOf: () => undefined, withdraw: () => {} },
    time: { now: () => clock.now(), isTrusted: () => world.isTimeTrusted },
    authenticator: { isStillValid: () => world.isTokenValid },
    tokens: { find: () => undefined, onRevoked: (listener: OnRevoked) => Object.assign(world, { revokeHere: listener }) },
    revocations: { onRevoked: (listener: OnRevoked) => Object.assign(world, { revokeAnywhere: listener }) },
  } as unknown as Auth;
  return { world, ...(await servicesOf(auth, clock, stack)) };
}

describe('a revocation', () => {
  test('by this hub ends the jobs of the token and those of no other', async () => {
    await using stack = new ServiceStack();
    const { world, jobStore } = await changingServices(stack);
    const [job, other] = [jobStore.create(agent, makeTool({})), jobStore.create(owner, makeTool({}))];
    world.revokeHere('aa');
    expect([job.signal.aborted, other.signal.aborted]).toEqual([true, false]);
  });

  test('by any hub ends the calls of the token, but only where the token does not count any more', async () => {
    await using stack = new ServiceStack();
    const { world, registry, pipeline } = await changingServices(stack);
    const signals: AbortSignal[] = [];
    const untilAborted = async (signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)));
    };
    registry.register(makeTool({ handler: (_, { signal }) => untilAborted(signal) }));
    const call = pipeline.call({ principal: agent, tool: 'probe', params: {} });
    await settled();
    world.revokeAnywhere('aa');
    world.isTokenValid = false;
    world.revokeAnywhere('bb');
    expect(signals[0]?.aborted).toBe(false);
    world.revokeAnywhere('aa');
    expect(signals[0]?.aborted).toBe(true);
    await call;
  });
});

describe('a call that waited', () => {
  const program = { kind: 'cmd', program: 'tidy', args: [], powers: [] } as const;
  const dangerous = { metadata: { dangerous: true }, execution: { side_effects: true }, requires: { permissions: ['probe:use'] } };

  test.each([
    ['whose token does not count any more', {}, 'TOKEN_INVALID', { isTokenValid: false }],
    ['that is dangerous and whose time is not trusted any more', dangerous, 'PERMISSION_DENIED', { isTimeTrusted: false }],
  ])('and %s does not run', async (_which, definition, code, change) => {
    await using stack = new ServiceStack();
    const { world, registry, pipeline } = await changingServices(stack);
    let runs = 0;
    registry.register(makeTool({ ...definition, handler: async () => ++runs }));
    const call = async () => codeOf(await pipeline.call({ principal: agent, tool: 'probe', params: {} }));
    expect(await call()).toBe('success');
    world.onIntent = () => void Object.assign(world, change);
    expect(await call()).toBe(code);
    expect(runs).toBe(1);
  });

  test('for another program than people approved does not run', async () => {
    await using stack = new ServiceStack();
    const { world, registry, pipeline } = await changingServices(stack);
    let version = '1';
    let runs = 0;
    const tool = makeTool({ ...dangerous, handler: async () => ++runs });
    registry.register({ ...tool, program: () => ({ ...program, versions: [version] }) });
    const call = async () => codeOf(await pipeline.call({ principal: agent, tool: 'probe', params: {} }));
    expect(await call()).toBe('success');
    world.onIntent = () => {
      version = '2';
    };
    expect(await call()).toBe('CONFLICT');
    expect(runs).toBe(1);
  });
});

test('a preflight refuses partial results that the tool does not have, with its parameters and without', async () => {
  await using stack = new ServiceStack();
  const { registry, pipeline } = await changingServices(stack);
  registry.register(makeTool({}));
  const asked = { principal: agent, tool: 'probe', wantsChunks: true } as const;
  const refused = { allowed: false, error: { code: 'NOT_SUPPORTED' } };
  expect(await pipeline.preflight({ ...asked, params: {} })).toMatchObject(refused);
  expect(await pipeline.preflightTool(asked)).toMatchObject(refused);
});
