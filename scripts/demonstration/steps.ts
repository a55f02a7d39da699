import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { ACCESS_STEPS } from './access-steps.ts';
import { AGENT_STEPS } from './agent-steps.ts';
import type { DemoWorld, DevicePlace, Step } from './demo-world.ts';
import { MESH_STEPS } from './mesh-steps.ts';
import { ensure, until } from './proof.ts';

interface CallExample {
  readonly tool: string;
  readonly params: JsonObject;
  /** What a person did at the device before, where it would hold the proof already. */
  readonly before?: Json;
  /** What the device's own process must hold afterwards, in raw Matter units. */
  readonly proof: DevicePlace & { readonly value: number | boolean };
}

const CALLS: readonly CallExample[] = [
  {
    tool: 'living_room_lamp_turn_on',
    params: {},
    proof: { device: 'Living room lamp', endpoint: 1, cluster: 'onOff', attribute: 'onOff', value: true },
  },
  {
    tool: 'living_room_lamp_set_brightness',
    params: { brightness: 40 },
    proof: { device: 'Living room lamp', endpoint: 1, cluster: 'levelControl', attribute: 'currentLevel', value: 102 },
  },
  {
    tool: 'thermostat_set_temperature',
    params: { temperature: 21.5 },
    proof: { device: 'Thermostat', endpoint: 1, cluster: 'thermostat', attribute: 'occupiedHeatingSetpoint', value: 2150 },
  },
  {
    tool: 'bedroom_blind_set_position',
    params: { open_percent: 25 },
    proof: { device: 'Bedroom blind', endpoint: 1, cluster: 'windowCovering', attribute: 'currentPositionLiftPercent100ths', value: 7500 },
  },
  {
    tool: 'front_door_lock',
    params: { pin: '1234' },
    before: 2,
    proof: { device: 'Front door', endpoint: 1, cluster: 'doorLock', attribute: 'lockState', value: 1 },
  },
];

const UNREACHABLE_LIMIT_MS = 5_500;
const TOOLS_SHOWN = 12;

/** The demo, in the order in which a person would try things. */
export const STEPS: readonly Step[] = [
  { title: 'Commission every device by the code on its box', run: commissionAll },
  { title: 'Look at the tools', run: showTools },
  ...CALLS.map((example) => ({ title: `Call ${example.tool} ${JSON.stringify(example.params)}`, run: callAndVerify(example) })),
  { title: 'Read a sensor that changes', run: readSensor },
  { title: 'Ask for the impossible', run: refuseImpossible },
  { title: 'Call a device without power', run: callDeadDevice },
  { title: 'Give it power again', run: reviveDevice },
  ...ACCESS_STEPS,
  ...AGENT_STEPS,
  ...MESH_STEPS,
];

async function commissionAll({ devices, hub, say }: DemoWorld): Promise<void> {
  for (const device of devices) {
    // A manual code holds 4 bits of the discriminator: it is for a home where few devices wait at once, as now for the last.
    const code = device === devices.at(-1) ? device.pairing.manualCode : device.pairing.qrCode;
    const ids = await hub.commission(device, code);
    ensure(ids.length > 0, `${device.name} was commissioned and made no device`);
    say(`${code.padEnd(24)} → ${ids.join(', ')}`);
  }
}

async function showTools({ hub, say }: DemoWorld): Promise<void> {
  const { tools, total } = await hub.get('/api/v1/tools?limit=1000');
  const ids = Array.isArray(tools) ? tools.filter(isJsonObject).map((tool) => String(tool.id ?? tool.name)) : [];
  const ofDevices = ids.filter((id) => id.includes('living_room_lamp') || id.includes('thermostat'));
  ensure(ofDevices.length >= 4, `Only ${ofDevices.length} tools of the lamp and the thermostat`);
  for (const id of ofDevices.slice(0, TOOLS_SHOWN)) say(id);
  say(`… ${total} in all`);
}

function callAndVerify({ tool, params, before, proof }: CallExample): Step['run'] {
  return async ({ hub, home, say }) => {
    if (before !== undefined) await home.set(proof, before);
    ensure(
      (await home.get(proof)) !== proof.value,
      `${proof.device} holds ${proof.attribute} = ${proof.value} already; the call would prove nothing`,
    );
    const answer = await hub.call(tool, params);
    ensure(answer.status === 'success', `${tool} answered ${JSON.stringify(answer)}`);
    say(`answer ${JSON.stringify(answer.result)}`);
    await until(async () => (await home.get(proof)) === proof.value, `${proof.device} to hold ${proof.attribute} = ${proof.value}`);
    say(`the device itself holds ${proof.cluster}.${proof.attribute} = ${proof.value}`);
  };
}

async function readSensor({ hub, home, say }: DemoWorld): Promise<void> {
  await home.set({ device: 'Garden thermometer', endpoint: 1, cluster: 'temperatureMeasurement', attribute: 'measuredValue' }, -350);
  await until(async () => (await temperature(hub)) === -3.5, 'the hub to hear -3.5 °C');
  say('the thermometer says -350, the hub tells -3.5 °C');
}

async function temperature(hub: DemoWorld['hub']): Promise<unknown> {
  const device = await hub.get('/api/v1/devices/Garden%20thermometer');
  const readings = Array.isArray(device.readings) ? device.readings.filter(isJsonObject) : [];
  return readings.find((reading) => reading.name === 'temperature')?.value;
}

async function refuseImpossible({ hub, say }: DemoWorld): Promise<void> {
  const { error } = await hub.call('living_room_lamp_set_brightness', { brightness: 400 });
  ensure(isJsonObject(error) && error.code === 'VALIDATION_ERROR', `400 % was not refused: ${JSON.stringify(error)}`);
  say(String(error.message));
}

async function callDeadDevice({ hub, home, say }: DemoWorld): Promise<void> {
  await home.powerOff('Bedroom lamp');
  const startMs = performance.now();
  const { error } = await hub.call('bedroom_lamp_turn_on', {});
  const elapsedMs = performance.now() - startMs;
  ensure(isJsonObject(error), 'A device without power answered');
  ensure(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN'].includes(String(error.code)), `It failed with ${error.code}`);
  ensure(elapsedMs <= UNREACHABLE_LIMIT_MS, `It took ${Math.round(elapsedMs)} ms to say so`);
  say(`${error.code} after ${Math.round(elapsedMs)} ms`);
}

async function reviveDevice({ hub, home, say }: DemoWorld): Promise<void> {
  const startMs = performance.now();
  await home.powerOn('Bedroom lamp');
  await until(async () => (await hub.call('bedroom_lamp_turn_on', {})).status === 'success', 'the lamp to answer again');
  const isOn = await home.get({ device: 'Bedroom lamp', endpoint: 1, cluster: 'onOff', attribute: 'onOff' });
  ensure(isOn === true, 'The lamp has power and was told to turn on, but is off');
  say(`on again, ${((performance.now() - startMs) / 1000).toFixed(1)} s after its power came back`);
}
