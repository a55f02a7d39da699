import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sseMessages } from '../../../src/cli/hub/answer-body.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { until } from '../../matter/device-hub.ts';
import { SysfsTree } from '../../sensors/sysfs-tree.ts';
import { MAIN } from '../main-program.ts';
import { modernClient } from '../mcp/mcp-clients.ts';
import { RunningHub } from '../running-hub.ts';

const PROBE = 'devices/w1_bus_master1/28-000005e2fdc3';
const LATE = '28-00000aabbccd';

let tree: SysfsTree;
let stateDir: string;
let hub: RunningHub;

beforeAll(async () => {
  tree = SysfsTree.of('pi5');
  stateDir = mkdtempSync(join(tmpdir(), 'sensors-'));
  hub = await start();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  tree[Symbol.dispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

function start(): Promise<RunningHub> {
  const sensors = {
    sysfs: tree.root,
    poll_seconds: 1,
    devices: {
      greenhouse: {
        source: 'iio:bme280',
        title: 'Greenhouse',
        area: 'Garden',
        readings: { temperature: { offset: -0.37 } },
      },
      pond: { source: 'w1:28-000005e2fdc3', area: 'Pond' },
    },
    gpio: { backend: 'sim', outputs: { pump: { line: 'GPIO27' } } },
  };
  const connectors = { sandbox: { container_engine: 'podman' } };
  return RunningHub.start({ stateDir, config: { matter: { enabled: false }, sensors, connectors } });
}

/** One line of `w1_slave` after the other, as the driver writes them. */
function probeSays(millidegrees: number, bytes = '6e 01 4b 46 7f ff 02 10 71', verdict = 'YES'): void {
  tree.write(`${PROBE}/w1_slave`, `${bytes} : crc=71 ${verdict}\n${bytes} t=${millidegrees}`);
}

async function atmo(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, ATMO_STATE_DIR: stateDir, ATMO_URL: hub.url };
  return (await promisify(execFile)(process.execPath, [MAIN, ...args], { env })).stdout;
}

async function pondCelsius(): Promise<unknown> {
  const answer = await hub.call('read_temperature', { location: 'Pond' });
  return answer.status === 'success' ? (answer.result as JsonObject).value : undefined;
}

test('discovery tells what this board makes possible', async () => {
  const response = await hub.request('/api/v1/tools/discover', { method: 'POST' });
  const { known } = (await response.json()) as { readonly known: readonly string[] };
  const ofBoard = ['core:docker_list@1.0.0', 'gpio:pump_pulse@1.0.0', 'gpio:pump_turn_off@1.0.0', 'gpio:pump_turn_on@1.0.0'];
  expect(known).toEqual(expect.arrayContaining([...ofBoard, expect.stringMatching(/^custom:board_temperature_/)]));
  expect(known).not.toContain('core:get_camera_frame@1.0.0');
});

describe("the board's own sensors", () => {
  test('are read by room, with the calibration of the owner', async () => {
    expect(await hub.result('read_temperature', { location: 'Garden' })).toMatchObject({
      value: 21,
      unit: 'celsius',
      reachability: 'reachable',
    });
    expect(await hub.result('read_temperature', { location: 'Pond', unit: 'fahrenheit' })).toMatchObject({ value: 73.18 });
    expect(await hub.result('query_sensor', { sensor_id: 'greenhouse/humidity' })).toMatchObject({
      values: [{ value: 43.817 }],
      unit: '%',
      sensor_type: 'humidity',
    });
  });

  test('are listed beside those that nobody named', async () => {
    const { sensors } = (await hub.result('list_sensors', {})) as { sensors: readonly JsonObject[] };
    const ids = sensors.map(({ sensor_id: id }) => id);
    expect(ids).toContain('greenhouse/pressure');
    expect(ids).toContain('board/cpu-thermal');
    expect(ids).toContain('tmp102-1-0048/temp1');
    expect(ids).toContain('rpi-volt-raspberrypi-hwmon/in0_lcrit_alarm');
    expect(new Set(ids).size).toBe(ids.length);
    const { sensors: garden } = (await hub.result('list_sensors', { area: 'Garden' })) as { sensors: readonly JsonObject[] };
    expect(garden.map(({ title }) => title).sort()).toEqual(['Greenhouse humidity', 'Greenhouse pressure', 'Greenhouse temperature']);
  });

  test('are devices, so that the page shows them', async () => {
    const greenhouse = await deviceOf('greenhouse');
    expect(greenhouse).toMatchObject({ name: 'Greenhouse', area: 'Garden', kind: 'board', reachability: 'reachable' });
    expect((greenhouse.readings as readonly JsonObject[]).map(({ id }) => id)).toContain('greenhouse/temperature');
  });

  test('tell each value as an event, and keep it', async () => {
    const stop = new AbortController();
    const response = await hub.request('/api/v1/events?types=sensor.reading', { signal: stop.signal });
    probeSays(14_250);
    for await (const { data } of sseMessages(response.body)) {
      const event = JSON.parse(data) as JsonObject;
      if (event.subject !== 'pond/temperature' || (event.data as JsonObject).value === 22.875) continue;
      expect(event.data).toMatchObject({ value: 14.25, unit: '°C', kind: 'temperature' });
      break;
    }
    stop.abort();
    const history = (await hub.get('/api/v1/sensors/pond%2Ftemperature/readings')) as { points: readonly JsonObject[] };
    expect(history.points.map(({ value }) => value)).toEqual([22.875, 14.25]);
    expect(await hub.result('query_sensor', { sensor_id: 'pond/temperature', aggregation: 'min' })).toMatchObject({
      values: [{ value: 14.25 }],
    });
  });

  test('are read by people at the terminal', async () => {
    expect(await atmo('read', 'pond/temperature')).toMatch(/14\.25 °C/);
    expect(await atmo('sensors')).toMatch(/greenhouse\/temperature.+21 °C/);
  });

  test('are resources for agents', async () => {
    const token = await ownersAgent();
    const client = await modernClient({ kind: 'http', url: `${hub.url}/mcp`, token });
    const uri = (await client.resources())
      .map((resource) => resource.uri)
      .find((one) => one.includes('pond') && one.includes('temperature'));
    expect(uri).toBeDefined();
    expect(JSON.stringify(await client.read(uri ?? ''))).toContain('14.25');
    await client.close();
  });

  test('are never believed when their checksum is wrong or the value means an error', async () => {
    probeSays(99_000, undefined, 'NO');
    await until(async () => (await pondReachability()) === 'unreachable');
    probeSays(85_000, '50 05 4b 46 7f ff 0c 10 1c');
    await until(async () => hub.log.some((line) => line.includes('85 °C is what a probe says')));
    probeSays(15_000);
    await until(async () => (await pondCelsius()) === 15);
    const history = (await hub.get('/api/v1/sensors/pond%2Ftemperature/readings')) as { points: readonly JsonObject[] };
    expect(history.points.map(({ value }) => value)).not.toContain(99);
    expect(history.points.map(({ value }) => value)).not.toContain(85);
  });

  test('come and go while the hub runs', async () => {
    const id = `w1-${LATE}/temperature`;
    tree.write(`devices/w1_bus_master1/${LATE}/w1_slave`, '6e 01 4b 46 7f ff 02 10 71 : crc=71 YES\n6e 01 4b 46 7f ff 02 10 71 t=4062');
    tree.link(`bus/w1/devices/${LATE}`, `devices/w1_bus_master1/${LATE}`);
    await until(async () => (await hub.call('query_sensor', { sensor_id: id })).status === 'success');
    expect(await hub.result('query_sensor', { sensor_id: id })).toMatchObject({ values: [{ value: 4.062 }] });
    tree.remove(`bus/w1/devices/${LATE}`);
    await until(async () => (await deviceOf(`w1-${LATE}`)).reachability === 'unreachable');
  });

  test('have the same ids and their history after a restart', async () => {
    await hub.stop();
    hub = await start();
    await until(async () => (await pondCelsius()) === 15);
    const history = (await hub.get('/api/v1/sensors/pond%2Ftemperature/readings')) as { points: readonly JsonObject[] };
    expect(history.points.map(({ value }) => value).slice(0, 2)).toEqual([22.875, 14.25]);
  });
});

async function deviceOf(id: string): Promise<JsonObject> {
  const { devices } = (await hub.get('/api/v1/devices')) as { devices: readonly JsonObject[] };
  return devices.find((device) => device.id === id) ?? {};
}

async function pondReachability() {
  return (await deviceOf('pond')).reachability;
}

/** A token that may read sensors and nothing else. */
async function ownersAgent(): Promise<string> {
  const answer = await atmo('token', 'mint', '--agent', 'gardener', '--allow', 'sensor:read:*', '--json');
  return String((JSON.parse(answer) as JsonObject).token);
}
