import { expect, test } from 'vitest';
import { SimulatedAuthority } from '../../scripts/simulation/simulated-authority.ts';
import { subscribedEventCodec } from '../../src/codec/messages/call.ts';
import { parseAnnouncement } from '../../src/connectors/atmosphere/remote-nodes.ts';
import type { HubId } from '../../src/core/ids.ts';
import type { Json } from '../../src/core/json.ts';
import { isVisible, quoted } from '../../src/core/untrusted-text.ts';
import { deviceText } from '../../src/matter/devices/device-composition.ts';
import { toJson } from '../../src/matter/model/value-json.ts';
import { successResult } from '../../src/mcp/calls/tool-result.ts';
import { readRemoteDefinition } from '../../src/mesh/gossip/definition-store.ts';
import { errorOfFrame } from '../../src/mesh/rpc/incoming-requests.ts';
import { parseRemoteEvent } from '../../src/mesh/rpc/remote-events.ts';
import { errorOfBody } from '../../src/mesh/rpc/signed-answers.ts';
import { sensorRegistryOf } from '../../src/sensors/sensor-registry.ts';
import { parseChunk } from '../../src/tools/definition/notifications.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { makeDirectory, Origin } from '../mesh/gossip/gossip-fixture.ts';

/** One of each kind of what nobody sees: the tag block, variation selectors of both blocks, fillers, joiners, directions, controls. */
const HIDDEN = [
  ...[0x00, 0x1b, 0x7f, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200d, 0x200e, 0x2028, 0x202e, 0x2060],
  ...[0x2064, 0x2066, 0x206f, 0x2800, 0x3164, 0xe000, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfff0, 0x1bca0, 0x1d173],
  ...[0xe0001, 0xe0020, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff, 0xf0000, 0x10ffff],
].map((code) => String.fromCodePoint(code));
const SMUGGLING = `Desk${HIDDEN.join('x')}lamp`;
const executor = 'hub-0123456789abcdef' as HubId;

function remoteDefinition(text: string): Json {
  const parameters = { type: 'object', properties: { a: { type: 'string', title: text, description: text } } };
  const tool = {
    name: 'probe',
    description: text,
    execution: { side_effects: false },
    parameters,
    metadata: { title: text, tags: [text] },
  };
  return { ...readRemoteDefinition(new TextEncoder().encode(JSON.stringify({ tool })), new SchemaValidator()) } as unknown as Json;
}

function announcedHub(text: string): Json {
  const authority = new SimulatedAuthority();
  const setup = makeDirectory(authority);
  const origin = new Origin(authority);
  setup.directory.receive(origin.full({ name: text.slice(0, 32), capabilities: [{ type: 'vision', description: text }] }), setup.neighbour);
  const { name, capabilities } = setup.directory.hub(origin.id) ?? expect.unreachable();
  return { name, capabilities: capabilities.map(({ description }) => description) };
}

function eventOfHub(text: string): Json {
  const event = {
    specversion: '1.0',
    id: 'a',
    source: 'b',
    type: 'device.changed',
    subject: 'hall-lamp',
    time: '2026-01-31T12:00:00.000Z',
  };
  const told = parseRemoteEvent(subscribedEventCodec.encode({ event: { ...event, data: { [text]: [text] } } }), {
    types: ['device.changed'],
  });
  return told?.data ?? null;
}

function errorsOfHub(text: string): Json {
  const body = { code: 'TIMEOUT', message: text, details: { [text]: text }, retryable: false } as const;
  const frame = { type: 'error', id: 1, code: 'TIMEOUT', message: text, details: JSON.stringify({ a: text }) } as const;
  return [errorOfBody(body, executor), errorOfFrame(frame)].map(({ message, details }) => [message, details]);
}

function boardSensor(text: string): Json {
  const found = { address: 'iio:a/temp', device: 'a', reading: 'b', kind: 'temperature', unit: '°C', title: text, deviceTitle: text };
  const [sensor] = sensorRegistryOf([found], { devices: {}, discover: true, pollSeconds: 30 }).sensors;
  return [sensor?.info.title ?? '', sensor?.device.name ?? ''];
}

function relayNode(text: string): Json {
  const capabilities = [{ id: 'a', label: text, description: text, tools: [text] }];
  const payload = { type: 'capability_announce', node_id: 'n', nonce: 'x', timestamp: 1, capabilities };
  return (parseAnnouncement('n', payload)?.capabilities ?? []) as unknown as Json;
}

test.each<[string, (text: string) => Json]>([
  ['the definition of a tool of another hub', remoteDefinition],
  ['the name and capabilities of another hub', announcedHub],
  ['an event of another hub', eventOfHub],
  ['an error of another hub', errorsOfHub],
  ['a note of a call that runs on another hub', (text) => parseChunk({ fraction: 0, note: text })?.note ?? null],
  ['the label of a device', deviceText],
  ['a value of a device', (text) => toJson({ kind: 'list', entry: { kind: 'any' } } as never, [text])],
  ['a name in a description', quoted],
  ['a sensor of the board', boardSensor],
  ['a node of a relay', relayNode],
  ['a result that a model reads', (text) => successResult({ title: text, list: [text] })],
])('%s has no character that nobody sees', (_, read) => {
  const shown = read(SMUGGLING);
  expect(JSON.stringify(shown)).toContain('Desk');
  const texts: string[] = [];
  JSON.stringify(shown, (name, value: unknown) => {
    texts.push(name, typeof value === 'string' ? value : '');
    return value;
  });
  expect(texts.filter((text) => !isVisible(text))).toEqual([]);
});
