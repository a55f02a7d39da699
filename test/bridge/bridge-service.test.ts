import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { APPLE, BridgeHub, probe, pump } from './bridge-hub.ts';

let hub: BridgeHub;

beforeEach(() => {
  hub = new BridgeHub();
});

afterEach(() => hub.service[Symbol.asyncDispose]());

describe('commands of an ecosystem', () => {
  test('are calls of its own agent', async () => {
    await hub.commission('Pump');
    await hub.command('Pump', 'turn_on');
    expect(hub.calls).toMatchObject([{ tool: 'gpio:pump_turn_on', principal: 'ecosystem-1' }]);
  });

  test('fail with the error of the call, and run when they are given again after an approval', async () => {
    await hub.commission('Siren');
    hub.answer = { status: 'error', error: { code: 'APPROVAL_REQUIRED', message: 'ask' } };
    await expect(hub.command('Siren', 'turn_on')).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    hub.answer = { status: 'success', result: null };
    await hub.command('Siren', 'turn_on');
    expect(hub.calls).toHaveLength(2);
  });

  test('of another fabric, or to a thing that was removed, call nothing', async () => {
    await hub.commission('Pump', 'Siren');
    const { id } = hub.node().named('Siren');
    await expect(hub.command('Pump', 'turn_on', 'google')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await hub.service.remove('Siren');
    const late = hub.node().options?.onCommand({ endpoint: id, fabric: 'apple', action: 'turn_on', params: {} });
    await expect(late).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(hub.calls).toEqual([]);
    expect(hub.node().shown.size).toBe(1);
  });

  test('turn a scene on, which is off again a second later', async () => {
    await hub.commission('Night');
    expect(hub.node().named('Night').values).toEqual({ on: false });
    await hub.command('Night', 'turn_on');
    expect(hub.calls).toMatchObject([{ tool: 'core:run_scene', principal: 'ecosystem-1' }]);
    await hub.node().update(hub.node().named('Night').id, { values: { on: true } });
    hub.clock.advance(1_000);
    await vi.waitFor(() => expect(hub.node().named('Night').values).toEqual({ on: false }));
  });
});

test('a command for a thing of another hub carries the permissions for things of that hub alone', async () => {
  await hub.commission('Pump', 'Attic');
  await hub.command('Attic', 'turn_on');
  await hub.command('Pump', 'turn_on');
  expect(hub.calls.map(({ permissions }) => permissions)).toEqual([['device:control:attic'], ['device:control:pump']]);
});

describe('an ecosystem that was removed', () => {
  test('has no tokens at once and leaves', async () => {
    await hub.commission('Pump');
    await hub.service.removeEcosystem('ecosystem-1');
    expect(hub.node().fabrics).toEqual([]);
    expect(hub.tokens.valid()).toEqual([]);
  });

  test('gets none again while its fabric does not leave, and leaves after a restart', async () => {
    await hub.commission('Pump');
    hub.node().cannotRemove = true;
    await expect(hub.service.removeEcosystem('ecosystem-1')).rejects.toThrow();
    hub.node().options?.onEcosystemsChanged();
    await expect(hub.command('Pump', 'turn_on')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    hub.node().cannotRemove = false;
    await hub.restart();
    expect(hub.node().fabrics).toEqual([]);
    expect(hub.tokens.valid()).toEqual([]);
    expect(hub.calls).toEqual([]);
  });

  test('leaves when its token is revoked, also if that was while the hub did not run', async () => {
    await hub.commission('Pump');
    await hub.service[Symbol.asyncDispose]();
    for (const id of hub.tokens.valid()) hub.tokens.revoke(id);
    await hub.restart();
    expect(hub.service.ecosystems()).toEqual([]);
    expect(hub.node().fabrics).toEqual([]);
  });

  test('leaves and gets no new token also if a thing of its bridge cannot be shown', async () => {
    await hub.commission('Pump');
    await hub.service[Symbol.asyncDispose]();
    for (const id of hub.tokens.valid()) hub.tokens.revoke(id);
    hub.node().hidden.add('Pump');
    await hub.restart();
    hub.clock.advance(86_400_000);
    await hub.add('Night');
    expect(hub.service.ecosystems()).toEqual([]);
    expect(hub.node().fabrics).toEqual([]);
    expect(hub.tokens.valid()).toEqual([]);
  });
});

test('a thing that cannot be shown keeps no other one away, and its owner learns it until it is shown or taken away', async () => {
  await hub.commission('Pump', 'Night');
  hub.node().hidden.add('Night');
  await hub.node().update(hub.node().named('Pump').id, { values: { on: true } });
  await hub.restart();
  expect(hub.node().named('Pump').values).toEqual({ on: false });
  expect(hub.problems.list()).toEqual([expect.stringContaining('cannot be shown')]);
  hub.node().hidden.clear();
  await hub.add('Night');
  expect(hub.problems.list()).toEqual([]);
  hub.node().hidden.add('Night');
  await hub.restart();
  await hub.service.remove('Night');
  expect(hub.problems.list()).toEqual([]);
});

test('many changes of ecosystems at once are compared with the fabrics once', async () => {
  await hub.commission('Pump');
  const compared = vi.spyOn(hub.node(), 'ecosystems');
  for (let count = 0; count < 100; count++) hub.node().options?.onEcosystemsChanged();
  await hub.add('Night');
  expect(compared.mock.calls.length).toBe(1);
});

test('a fabric that joined without the owner leaves and gets no token', async () => {
  await hub.service.start();
  await hub.add('Pump');
  hub.node().fabrics = [APPLE];
  hub.node().options?.onEcosystemsChanged();
  await vi.waitFor(() => expect(hub.node().fabrics).toEqual([]));
  expect(hub.tokens.records.size).toBe(0);
});

test('a lock or a dangerous output is bridged only if the owner says so', async () => {
  await hub.service.start();
  await expect(hub.add('Siren')).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(hub.service.things()).toEqual([]);
  await hub.add('Siren', true);
  expect(hub.service.things()).toHaveLength(1);
});

test('after a restart, a thing shows what it is now, and its present name', async () => {
  await hub.commission('Pump', 'Night');
  const { id } = hub.node().named('Pump');
  await hub.node().update(id, { values: { on: true } });
  await hub.node().update(hub.node().named('Night').id, { values: { on: true } });
  hub.things.set('Pump', [{ ...pump, name: 'Well' }]);
  await hub.restart();
  await vi.waitFor(() => expect(hub.node().named('Well')).toMatchObject({ id, values: { on: false } }));
  expect(hub.node().named('Night').values).toEqual({ on: false });
});

test('a sensor that the board has lost is not reachable', async () => {
  await hub.service.start();
  await hub.add('Pump');
  expect(hub.node().named('Pump').isReachable).toBe(true);
  hub.readings.delete('gpio/pump');
  hub.events.emit('device.removed', 'gpio', {});
  await vi.waitFor(() => expect(hub.node().named('Pump').isReachable).toBe(false));
});

test('the 51st thing goes to a second bridge, and a bridge without things and ecosystems is closed', async () => {
  await hub.service.start();
  hub.things.set(
    'Shed',
    Array.from({ length: 51 }, (_, index) => probe(`t${index}`)),
  );
  await hub.add('Shed');
  expect([hub.node(1).shown.size, hub.node(2).shown.size]).toEqual([50, 1]);
  await hub.service.remove('sensor/shed/t50');
  expect(hub.nodes.has(2)).toBe(false);
});

test('the tokens that read things of another hub end with the last of these things', async () => {
  await hub.service.start();
  await hub.add('Attic');
  expect(hub.tokens.valid()).toHaveLength(1);
  await hub.service.remove('Attic');
  expect(hub.tokens.valid()).toEqual([]);
});
