import { expect, test } from 'vitest';
import { ThingFinder } from '../../src/bridge/thing-finder.ts';

const line = (name: string) => ({ sensor: { id: `gpio/${name}`, device: 'gpio', name, kind: 'gpio', unit: '', title: name } });
const probe = { sensor: { id: 'pond/temperature', device: 'pond', name: 'temperature', kind: 'temperature', unit: '°C', title: 'Pond' } };
const board = [
  { id: 'gpio', name: 'Lines', kind: 'board' },
  { id: 'pond', name: 'Pond', kind: 'board' },
];

test('what can be bridged has the outputs of the board by the name with which they are added', () => {
  const finder = new ThingFinder({
    readings: { sensors: () => [line('pump'), line('button'), probe] },
    devices: { list: () => board, get: (id: string) => board.find((one) => one.id === id) },
    registry: { get: (tool: string) => (tool.startsWith('gpio:pump_') ? { definition: { metadata: { isDangerous: false } } } : undefined) },
    scenes: { list: () => [{ id: 'night', name: 'Night', devices: [] }] },
    mesh: { peers: () => [] },
    pipeline: {},
  } as unknown as ConstructorParameters<typeof ThingFinder>[0]);
  expect(finder.candidates().map(({ thing, type }) => [thing, type])).toEqual([
    ['gpio', 'board'],
    ['pond', 'board'],
    ['pump', 'output'],
    ['night', 'scene'],
  ]);
});
