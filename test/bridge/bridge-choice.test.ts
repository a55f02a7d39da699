import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sceneThing } from '../../src/bridge/bridged-things.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { BridgeHub, night, probe, pump } from './bridge-hub.ts';

let hub: BridgeHub;

beforeEach(() => {
  hub = new BridgeHub();
});

afterEach(() => hub.service[Symbol.asyncDispose]());

const DAMAGED = new AtmoError('STORAGE_FAILED', 'the file is damaged');
const wider = sceneThing({ id: 'night', name: 'Night', devices: ['lamp', 'heater'] });
/** Lets all queued work end. */
const settled = () => hub.service.remove('nothing of this name').catch(() => undefined);

describe('a bridge that cannot open', () => {
  test('is tried again after growing waits, and says until then what is wrong', async () => {
    await hub.commission('Pump');
    hub.fault = DAMAGED;
    await hub.restart();
    expect(hub.service.bridges()).toEqual([{ bridge: 1, problem: 'the file is damaged' }]);
    expect(hub.problems.list()).toEqual([expect.stringContaining('the file is damaged')]);
    hub.opened = 0;
    for (const waitMs of [5_000, 10_000, 20_000]) {
      hub.clock.advance(waitMs - 1);
      await settled();
      const before = hub.opened;
      hub.clock.advance(1);
      await settled();
      expect(hub.opened - before, `${waitMs}`).toBe(1);
    }
    hub.fault = undefined;
    hub.clock.advance(40_000);
    await settled();
    expect(hub.service.bridges()).toEqual([{ bridge: 1 }]);
    expect(hub.problems.list()).toEqual([]);
    await hub.command('Pump', 'turn_on');
    expect(hub.calls).toHaveLength(1);
  });

  test('is never tried more than ten minutes later', async () => {
    await hub.commission('Pump');
    hub.fault = DAMAGED;
    await hub.restart();
    for (let count = 0; count < 12; count++) {
      hub.clock.advance(600_000);
      await settled();
    }
    hub.opened = 0;
    hub.clock.advance(600_000);
    await settled();
    expect(hub.opened).toBe(1);
  });

  test('refuses things and windows with the reason, and keeps nothing of them', async () => {
    hub.fault = DAMAGED;
    await hub.service.start();
    await expect(hub.add('Pump')).rejects.toMatchObject({ message: 'the file is damaged' });
    expect(hub.service.things()).toEqual([]);
    await expect(hub.service.openWindow(1, 900)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    hub.fault = undefined;
    await hub.add('Pump');
    hub.fault = DAMAGED;
    await hub.restart();
    await expect(hub.service.openWindow(1, 900)).rejects.toMatchObject({ message: 'the file is damaged' });
  });

  test('keeps its storage when its last thing is taken away while an ecosystem still has it', async () => {
    await hub.commission('Pump');
    hub.fault = DAMAGED;
    await hub.restart();
    await hub.service.remove('Pump');
    expect(hub.nodes.has(1)).toBe(true);
  });

  test('has the fixed port that the configuration gives its number', async () => {
    await hub.commission('Pump');
    expect(hub.node().options).toMatchObject({ number: 1, fixedPort: 5600 });
  });
});

describe('a thing that is chosen', () => {
  test('is not kept if it cannot be shown, and is shown at the next attempt', async () => {
    await hub.service.start();
    await hub.add('Siren', true);
    hub.node().hidden.add('Pump');
    await expect(hub.add('Pump')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(hub.service.things().map(({ thing }) => thing.name)).toEqual(['Siren']);
    hub.node().hidden.clear();
    await hub.add('Pump');
    expect(hub.node().named('Pump').isReachable).toBe(true);
  });

  test('is not shown if it cannot be stored', async () => {
    await hub.service.start();
    await hub.add('Siren', true);
    const full = vi.spyOn(hub.state, 'set').mockImplementation(() => {
      throw new AtmoError('STORAGE_FAILED', 'no space is left');
    });
    await expect(hub.add('Pump')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    full.mockRestore();
    expect([...hub.node().shown.values()].map(({ name }) => name)).toEqual(['Siren']);
  });

  test('keeps its id and the number of its endpoint when it is chosen again, and over a restart with other storage', async () => {
    await hub.service.start();
    await hub.add('Siren', true);
    const [first] = await hub.add('Pump');
    expect(await hub.add('Pump')).toEqual([first]);
    expect(first?.endpointNumber).toBe(3);
    hub.node().numbers.clear();
    hub.node().shown.clear();
    await hub.restart();
    expect(hub.node().named('Pump')).toMatchObject({ id: first?.id, number: 3 });
  });

  test('keeps its tokens when another one of the same request cannot be shown', async () => {
    await hub.commission('Siren');
    hub.things.set('Board', [pump, night]);
    const put = vi.spyOn(hub.node(), 'put');
    put.mockImplementationOnce(async () => 9).mockImplementationOnce(() => Promise.reject(DAMAGED));
    await expect(hub.add('Board')).rejects.toThrow();
    expect(hub.granted()).toEqual(['device:control:pump', 'device:control:siren']);
  });
});

describe('a scene that has changed since it was chosen', () => {
  const suspended = () => hub.service.things().map((entry) => entry.suspended);

  test('is not reachable and has no permissions if it controls more, until the owner chooses it again', async () => {
    await hub.commission('Night', 'Pump');
    hub.change('Night', wider);
    await expect(hub.command('Night', 'turn_on')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await settled();
    expect(hub.node().named('Night').isReachable).toBe(false);
    expect(hub.granted()).toEqual(['device:control:pump']);
    hub.change('Night', night);
    await settled();
    expect(suspended()).toEqual(['widened', undefined]);
    await hub.add('Night');
    expect(hub.node().named('Night').isReachable).toBe(true);
    await hub.command('Night', 'turn_on');
    expect(hub.calls).toMatchObject([{ tool: 'core:run_scene' }]);
  });

  test('stays suspended over a restart, and does not come back with a scene of the same name', async () => {
    await hub.commission('Night');
    hub.change('Night');
    await settled();
    expect(suspended()).toEqual(['gone']);
    hub.change('Night', night);
    await hub.restart();
    expect(hub.problems.list()).toEqual([expect.stringContaining('sudo atmo bridge list')]);
    expect(suspended()).toEqual(['gone']);
    expect(hub.granted()).toEqual([]);
  });

  test('is suspended if it became dangerous, and needs the explicit word of the owner then', async () => {
    await hub.commission('Night');
    hub.change('Night', { ...night, isDangerous: true });
    await settled();
    expect(suspended()).toEqual(['dangerous']);
    await expect(hub.add('Night')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(suspended()).toEqual(['dangerous']);
    await hub.add('Night', true);
    expect(suspended()).toEqual([undefined]);
    expect(hub.problems.list()).toEqual([]);
  });

  test('is suspended by a change while the hub did not run, before an ecosystem can use it', async () => {
    await hub.commission('Night');
    hub.things.set('Night', [wider]);
    await hub.restart();
    expect(suspended()).toEqual(['widened']);
    expect(hub.node().named('Night').isReachable).toBe(false);
  });

  test('goes on with fewer permissions and a new name if it only became smaller', async () => {
    hub.things.set('Night', [wider]);
    await hub.commission('Night');
    hub.change('Night', { ...night, name: 'Nacht' });
    await settled();
    expect(hub.granted()).toEqual(['device:control:lamp']);
    expect(hub.node().named('Nacht').isReachable).toBe(true);
  });

  test('does nothing when a command comes before the change is stored', async () => {
    await hub.commission('Night');
    hub.things.set('Night', []);
    await expect(hub.command('Night', 'turn_on')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(hub.calls).toEqual([]);
  });
});

test('a thing that became another kind keeps its device type, until it is chosen again with a new identity', async () => {
  const contact = { ...probe('door'), kind: 'contact_sensor', sensors: { open: 'shed/door' } } as const;
  hub.things.set('door', [contact]);
  await hub.service.start();
  const [before] = await hub.add('door');
  hub.change('door', { ...contact, kind: 'leak_sensor', sensors: { wet: 'shed/door' } });
  await settled();
  expect(hub.node().named('door')).toMatchObject({ id: before?.id, kind: 'contact_sensor' });
  const [after] = await hub.add('door');
  expect(hub.node().named('door')).toMatchObject({ id: after?.id, kind: 'leak_sensor' });
  expect(after?.id).not.toBe(before?.id);
  expect(hub.node().shown.size).toBe(1);
});

test('an output that became dangerous is suspended, and one that is missing is only not reachable', async () => {
  await hub.commission('Pump');
  hub.change('Pump');
  await settled();
  expect(hub.service.things()).toMatchObject([{ thing: { name: 'Pump' } }]);
  expect(hub.service.things()[0]?.suspended).toBeUndefined();
  hub.change('Pump', { ...pump, isDangerous: true });
  await settled();
  expect(hub.service.things()[0]?.suspended).toBe('dangerous');
});

describe('values of another hub', () => {
  beforeEach(async () => {
    hub.peers.push({ id: 'hub-2', isReachable: true, devices: [{ id: 'attic', isReachable: true }] });
    await hub.service.start();
    await hub.add('Attic');
  });

  test('are requested for the chosen sensors alone, and no others are shown', async () => {
    const [subscription] = hub.subscriptions;
    expect(subscription).toMatchObject({ hub: 'hub-2', subjects: ['attic/is_on'] });
    subscription?.send('attic/is_on', true);
    subscription?.send('lock/is_on', true);
    await vi.waitFor(() => expect(hub.node().named('Attic').values).toEqual({ on: true }));
  });

  test('are deleted with their thing', async () => {
    hub.subscriptions[0]?.send('attic/is_on', true);
    await hub.service.remove('Attic');
    await hub.add('Attic');
    expect(hub.node().named('Attic').values).toEqual({ on: null });
  });

  test('are read with a new token when the hub does not accept the one that it holds', async () => {
    const [before = ''] = hub.tokens.valid();
    hub.tokens.revoke(before);
    await hub.restart();
    hub.clock.advance(86_400_000);
    await settled();
    expect(hub.tokens.valid()).toHaveLength(1);
    expect(hub.tokens.valid()).not.toContain(before);
  });
});
