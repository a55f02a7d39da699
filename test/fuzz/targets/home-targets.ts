import { parseAnnouncement } from '../../../src/connectors/atmosphere/remote-nodes.ts';
import { parseShallowJson } from '../../../src/connectors/atmosphere/shallow-json.ts';
import { parsePosition } from '../../../src/connectors/location/location-tool.ts';
import { mediaTypeOf, pictureSize } from '../../../src/connectors/media-type.ts';
import { commandFor } from '../../../src/connectors/mqtt/home-assistant-commands.ts';
import type { SensorInfo } from '../../../src/core/devices/sensor-readings.ts';
import { isJsonObject } from '../../../src/core/json.ts';
import { type DbusMessage, decodeMessage, encodeMessage } from '../../../src/matter/ble/dbus-message.ts';
import { parseSetupCode } from '../../../src/matter/commissioning/setup-code.ts';
import { fromJson } from '../../../src/matter/model/value-json.ts';
import type { ValueShape } from '../../../src/matter/model/value-shape.ts';
import { readEdges } from '../../../src/sensors/gpio/gpio-uapi.ts';
import { parseProbe } from '../../../src/sensors/kernel/one-wire.ts';
import { scaled } from '../../../src/sensors/kernel/sysfs.ts';
import { bytesTarget, jsonTarget, requireSame, type Target, textTarget, unlessRefused } from '../target.ts';

const SIGNAL = encodeMessage({
  type: 'signal',
  serial: 7,
  path: '/org/bluez/hci0/dev_00_11_22_33_44_55',
  interface: 'org.freedesktop.DBus.Properties',
  member: 'PropertiesChanged',
  sender: ':1.5',
  signature: 'sa{sv}as',
  body: [
    'org.bluez.Device1',
    new Map([
      ['RSSI', { signature: 'n', value: -60 }],
      ['ServiceData', { signature: 'a{sv}', value: new Map([['fff6', { signature: 'ay', value: Uint8Array.of(0, 15, 240) }]]) }],
    ]),
    ['x'],
  ],
});
const CALL = encodeMessage({
  type: 'call',
  serial: 1,
  path: '/',
  member: 'Hello',
  signature: '(xad)vt',
  body: [[1n, [1.5]], { signature: 'b', value: true }, 2n],
});

/** What is decoded is written and decoded again as the same message. */
function checkDbus(input: Uint8Array): void {
  const decoded = unlessRefused(() => decodeMessage(input));
  if (!decoded) return;
  const encoded = unlessRefused(() => encodeMessage(plain(decoded.message)));
  const again = encoded && unlessRefused(() => decodeMessage(encoded));
  if (again) requireSame(again.message.body.length, decoded.message.body.length, 'the body of a message is read again as it was written');
}

const plain = ({ type, serial, path, interface: face, member, errorName, replySerial, destination, signature, body }: DbusMessage) => {
  return { type, serial, path, interface: face, member, errorName, replySerial, destination, signature, body };
};

const SHAPE = {
  kind: 'struct',
  fields: [
    { name: 'level', shape: { kind: 'integer', min: 0, max: 254, isNullable: true }, isOptional: true },
    { name: 'mode', shape: { kind: 'enum', values: [{ name: 'auto', value: 1 }] }, isOptional: true },
    { name: 'list', shape: { kind: 'list', entry: { kind: 'bytes', minBytes: 0, maxBytes: 8 } }, isOptional: true },
    {
      name: 'flags',
      shape: {
        kind: 'bitmap',
        bits: [
          { name: 'on', width: 1 },
          { name: 'speed', width: 3 },
        ],
      },
      isOptional: true,
    },
    { name: 'text', shape: { kind: 'text', minBytes: 1 }, isOptional: true },
  ],
} as unknown as ValueShape;

const sensor = (kind: string, name: string): SensorInfo =>
  ({ id: `lamp/${name}`, device: 'lamp', name, kind, unit: '', title: name }) as unknown as SensorInfo;
const SENSORS = [
  sensor('on_off', 'is_on'),
  sensor('brightness', 'brightness'),
  sensor('setpoint', 'heating_setpoint'),
  sensor('thermostat_mode', 'mode'),
  sensor('cover_position', 'open_percent'),
];

/** The first byte of an edge starts a structure of 48 bytes. */
const EDGE = Uint8Array.from({ length: 96 }, (_, index) => (index % 48 === 8 ? 1 : index % 7));
const PNG = Uint8Array.from(Buffer.from('89504e470d0a1a0a0000000d49484452000000100000000808020000', 'hex'));
const JPEG = Uint8Array.from(Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108000800100301', 'hex'));
const PROBE = '50 05 4b 46 7f ff 0c 10 1c : crc=1c YES\n50 05 4b 46 7f ff 0c 10 1c t=85000\n';
const ANNOUNCE = {
  type: 'capability_announce',
  node_id: 'node-1',
  nonce: 'n',
  timestamp: 1_767_225_600,
  capabilities: [{ id: 'a', label: 'A', tools: ['x'], constraints: { tool: 'y' } }, 'plain'],
};
const GOSSIP = {
  type: 'gossip',
  data: Buffer.from(JSON.stringify({ type: 'announce', from: 'node-1', nonce: 'n', timestamp: 1, capabilities: [] })).toString('base64'),
};

/** What devices, the kernel, buses and brokers say. */
export const HOME_TARGETS: readonly Target[] = [
  bytesTarget('dbus', 'matter/ble/dbus-message.ts', {
    run: checkDbus,
    seeds: [SIGNAL, CALL],
    words: ['a{sv}', '()', 'a()', 'a{}', 'aay', 'v', '(ii)'],
  }),
  textTarget('setup-code', 'matter/commissioning/setup-code.ts', {
    run: parseSetupCode,
    seeds: [
      'MT:Y.K9042C00KA0648G00',
      '34970112332',
      '749701123365521327694',
      'MT:Y.K9042C00KA0648G00*Y.K9042C00KA0648G00',
      '3497-011-2332',
    ],
    maxBytes: 2_000,
  }),
  jsonTarget('matter-value', 'matter/model/value-json.ts', {
    run: (value) => fromJson(SHAPE, value),
    seeds: [{ level: 3, mode: 'auto', list: ['AAE='], flags: { on: true, speed: 3 }, text: 'x' }],
  }),
  textTarget('one-wire', 'sensors/kernel/one-wire.ts', {
    run: (text) => parseProbe(text, { family: '28', lastCelsius: 84 }),
    seeds: [PROBE, '21500\n', ''],
  }),
  textTarget('sysfs', 'sensors/kernel/sysfs.ts', { run: (text) => scaled(text, 0.001), seeds: ['21500\n', '-1', '0.5'] }),
  bytesTarget('gpio-edges', 'sensors/gpio/gpio-uapi.ts', { run: (input) => readEdges(Buffer.from(input)), seeds: [EDGE] }),
  textTarget('gpsd', 'connectors/location/location-tool.ts', {
    run: parsePosition,
    seeds: ['{"class":"TPV","mode":3,"time":"2026-01-01T00:00:00.000Z","lat":52.5,"lon":13.4,"eph":3,"epx":1,"epy":2}'],
  }),
  textTarget('home-assistant', 'connectors/mqtt/home-assistant-commands.ts', {
    run: (payload) => SENSORS.map((one) => commandFor(one, payload)),
    seeds: ['ON', '50', '21.5', 'heat', 'OPEN', 'STOP', '{"state":"ON","brightness":255}'],
  }),
  jsonTarget('atmosphere', 'connectors/atmosphere/remote-nodes.ts', {
    run: (value) => isJsonObject(value) && parseAnnouncement('node-1', value),
    seeds: [ANNOUNCE, GOSSIP],
  }),
  textTarget('shallow-json', 'connectors/atmosphere/shallow-json.ts', {
    run: parseShallowJson,
    seeds: ['{"a":["\\"}",{"b":[1]}]}'],
    maxBytes: 65_536,
  }),
  bytesTarget('picture', 'connectors/media-type.ts', { run: (input) => [mediaTypeOf(input), pictureSize(input)], seeds: [PNG, JPEG] }),
];
