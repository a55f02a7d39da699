import { beforeEach, expect, test } from 'vitest';
import { BridgeStore } from '../../src/bridge/bridge-store.ts';
import { outputThing } from '../../src/bridge/bridged-things.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

let state: MemoryKeyValueStore;
let store: BridgeStore;

beforeEach(() => {
  state = new MemoryKeyValueStore(new ManualClock());
  store = new BridgeStore(state);
});

const thing = (name: string, title = name) => outputThing({ id: `gpio/${name}`, title, device: 'gpio' }, name);
const entry = (id: string, name: string, bridge = 1) => ({ id, bridge, thing: thing(name) });

test('a thing is read as it was stored, sorted by bridge and name, and a malformed one is left out', () => {
  const suspended = { ...entry('c', 'b'), endpointNumber: 7, suspended: 'widened' } as const;
  for (const one of [entry('a', 'z', 2), entry('b', 'z'), suspended]) store.putThing(one);
  state.set('bridge.things', 'd', { bridge: 1 });
  state.set('bridge.things', 'e', { bridge: 'one', thing: {} });
  expect(store.things()).toEqual([suspended, entry('b', 'z'), entry('a', 'z', 2)]);
  store.deleteThing('c');
  expect(store.things()).toHaveLength(2);
});

test('a thing is found by id, key, target and name, and an ambiguous name is refused with the keys', () => {
  store.putThing(entry('a', 'pump'));
  store.putThing({ id: 'b', bridge: 1, thing: thing('well', 'Pump of the well') });
  for (const text of ['b', 'output/well', 'well', 'PUMP of the well']) expect(store.requireThing(text).id, text).toBe('b');
  expect(() => store.requireThing('siren')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  store.putThing({ id: 'c', bridge: 2, thing: { ...thing('other'), name: 'pump' } });
  expect(() => store.requireThing('Pump')).toThrow(
    expect.objectContaining({ code: 'AMBIGUOUS_DEVICE', details: { candidates: ['output/pump', 'output/other'] } }),
  );
});

test('the number of an ecosystem is never used twice, and skips names that are taken', () => {
  expect(store.nextAgentId(() => false)).toBe('ecosystem-1');
  expect(store.nextAgentId((id) => id === 'ecosystem-2')).toBe('ecosystem-3');
  expect(new BridgeStore(state).nextAgentId(() => false)).toBe('ecosystem-4');
});

test('the last number of an ecosystem is no hub whose values are read', () => {
  store.nextAgentId(() => false);
  store.putReaderTokens('hub-2', [{ id: 't', text: 'x', expiresAtMs: 1, permissions: ['sensor:read:shed/*'] }]);
  expect(store.readerHubs()).toEqual(['hub-2']);
  store.putReaderTokens('hub-2', []);
  expect(store.readerHubs()).toEqual([]);
});

test('an ecosystem that was removed is not found, and stays known until its fabric has left', () => {
  const ecosystem = {
    agentId: 'ecosystem-1',
    bridge: 1,
    fabricIndex: 1,
    identity: 'apple',
    vendorId: 1,
    label: '',
    joinedAtMs: 1,
    tokens: [],
  };
  store.putEcosystem({ ...ecosystem, isEnded: true });
  expect(() => store.requireEcosystem('ecosystem-1')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  expect(store.ecosystems()).toEqual([{ ...ecosystem, isEnded: true }]);
});

test('the port of a bridge is kept for each bridge', () => {
  store.putPort(2, 5561);
  expect([store.portOf(1), store.portOf(2)]).toEqual([undefined, 5561]);
});
