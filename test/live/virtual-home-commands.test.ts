import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientNode } from '@matter/main/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BareController } from '../home/bare-controller.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';

const PIN = new Uint8Array(Buffer.from('1234'));
const WRONG_PIN = new Uint8Array(Buffer.from('9999'));
const IN_MOTION = { interval: 100 };

const NAMES = [
  'Air purifier',
  'Bedroom blind',
  'Bedroom fan',
  'Bedroom lamp',
  'Boiler',
  'Car charger',
  'Fridge',
  'Front door',
  'Garden valve',
  'Microwave',
  'Oven',
  'Party light',
  'Robot',
  'Smoke alarm',
  'Television',
  'Thermostat',
  'Wall button',
  'Washer',
  'Well pump',
];

let dir: string;
let home: VirtualHome;
let controller: BareController;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'virtual-home-'));
  home = await VirtualHome.start({ spec: together(homeOf(standardHome(), NAMES)), dir: join(dir, 'home') });
  controller = await BareController.start(join(dir, 'controller'));
});

afterAll(async () => {
  await controller?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** A commissioned device and its commands by cluster. */
class Subject {
  readonly device: VirtualDevice;
  readonly #peer: ClientNode;

  constructor(device: VirtualDevice, peer: ClientNode) {
    this.device = device;
    this.#peer = peer;
  }

  async invoke(...[endpoint, cluster, command, fields]: [number, string, string, object?]): Promise<unknown> {
    const commands = this.#peer.endpoints.for(endpoint).commandsOf(cluster) as unknown as Record<
      string,
      (fields?: object) => Promise<unknown>
    >;
    const invoke = commands[command];
    if (!invoke) return expect.unreachable(`${cluster} has no command ${command}`);
    return await invoke(fields);
  }

  async write(...[endpoint, cluster, values]: [number, string, Record<string, unknown>]): Promise<void> {
    await this.#peer.endpoints.for(endpoint).setStateOf(cluster, values as never);
  }

  get(...[endpoint, cluster, attribute]: [number, string, string]): Promise<unknown> {
    return this.device.get(endpoint, cluster, attribute);
  }
}

async function commission(name: string): Promise<Subject> {
  const device = home.device(name);
  return new Subject(device, await controller.commission(device.pairing));
}

describe('what a command does can be read from the device', () => {
  test('colour light: hue and saturation, colour temperature', async () => {
    const lamp = await commission('Bedroom lamp');
    await lamp.invoke(1, 'onOff', 'on');
    const options = { transitionTime: 0, optionsMask: {}, optionsOverride: {} };
    await lamp.invoke(1, 'colorControl', 'moveToHueAndSaturation', { hue: 120, saturation: 200, ...options });
    await expect.poll(() => lamp.get(1, 'ColorControl', 'CurrentHue'), IN_MOTION).toBe(120);
    await lamp.invoke(1, 'colorControl', 'moveToColorTemperature', { colorTemperatureMireds: 370, ...options });
    await expect.poll(() => lamp.get(1, 'ColorControl', 'ColorTemperatureMireds'), IN_MOTION).toBe(370);
  });

  test('lock: only with the right PIN', async () => {
    const lock = await commission('Front door');
    await expect(lock.invoke(1, 'doorLock', 'unlockDoor', {})).rejects.toThrow();
    await expect(lock.invoke(1, 'doorLock', 'unlockDoor', { pinCode: WRONG_PIN })).rejects.toThrow();
    expect(await lock.get(1, 'DoorLock', 'LockState')).toBe(1);
    await lock.invoke(1, 'doorLock', 'unlockDoor', { pinCode: PIN });
    expect(await lock.get(1, 'DoorLock', 'LockState')).toBe(2);
    expect(await lock.invoke(1, 'doorLock', 'getUser', { userIndex: 1 })).toMatchObject({ userName: 'Owner' });
  });

  test('blind: takes its time and stops half way', async () => {
    const blind = await commission('Bedroom blind');
    await blind.invoke(1, 'windowCovering', 'downOrClose');
    await expect.poll(() => blind.get(1, 'WindowCovering', 'CurrentPositionLiftPercent100ths'), { interval: 20 }).toBeGreaterThan(0);
    await blind.invoke(1, 'windowCovering', 'stopMotion');
    const stopped = await blind.get(1, 'WindowCovering', 'CurrentPositionLiftPercent100ths');
    expect(stopped).toBeLessThan(10_000);
    expect(await blind.get(1, 'WindowCovering', 'TargetPositionLiftPercent100ths')).toBe(stopped);
    await blind.invoke(1, 'windowCovering', 'goToTiltPercentage', { tiltPercent100thsValue: 2500 });
    await expect.poll(() => blind.get(1, 'WindowCovering', 'CurrentPositionTiltPercent100ths'), IN_MOTION).toBe(2500);
  });

  test('thermostat: setpoints by command and by writing', async () => {
    const thermostat = await commission('Thermostat');
    await thermostat.invoke(1, 'thermostat', 'setpointRaiseLower', { mode: 0, amount: 10 });
    expect(await thermostat.get(1, 'Thermostat', 'OccupiedHeatingSetpoint')).toBe(2100);
    await thermostat.write(1, 'thermostat', { occupiedHeatingSetpoint: 2150 });
    expect(await thermostat.get(1, 'Thermostat', 'OccupiedHeatingSetpoint')).toBe(2150);
  });

  test('fan: percentage, speed and mode follow each other', async () => {
    const fan = await commission('Bedroom fan');
    await fan.write(1, 'fanControl', { percentSetting: 40 });
    await expect.poll(() => fan.get(1, 'FanControl', 'SpeedCurrent'), IN_MOTION).toBe(4);
    expect(await fan.get(1, 'FanControl', 'FanMode')).toBe(2);
    await fan.write(1, 'fanControl', { fanMode: 3 });
    await expect.poll(() => fan.get(1, 'FanControl', 'PercentCurrent'), IN_MOTION).toBe(100);
    await fan.invoke(1, 'fanControl', 'step', { direction: 1 });
    await expect.poll(() => fan.get(1, 'FanControl', 'PercentCurrent'), IN_MOTION).toBe(90);
    await fan.write(1, 'fanControl', { fanMode: 0 });
    await expect.poll(() => fan.get(1, 'FanControl', 'SpeedCurrent'), IN_MOTION).toBe(0);
    await fan.write(1, 'fanControl', { fanMode: 5 });
    await expect.poll(() => fan.get(1, 'FanControl', 'PercentSetting'), IN_MOTION).toBe(null);
  });

  test('air purifier: a new filter', async () => {
    const purifier = await commission('Air purifier');
    await purifier.invoke(1, 'hepaFilterMonitoring', 'resetCondition');
    expect(await purifier.get(1, 'HepaFilterMonitoring', 'Condition')).toBe(100);
    expect(await purifier.get(1, 'ActivatedCarbonFilterMonitoring', 'Condition')).toBe(70);
  });

  test('valve: opens to a level and closes when its time is over', async () => {
    const valve = await commission('Garden valve');
    await valve.invoke(1, 'valveConfigurationAndControl', 'open', { openDuration: 3_600, targetLevel: 40 });
    expect(await valve.get(1, 'ValveConfigurationAndControl', 'CurrentLevel')).toBe(40);
    await valve.invoke(1, 'valveConfigurationAndControl', 'open', { openDuration: 1, targetLevel: 40 });
    await expect.poll(() => valve.get(1, 'ValveConfigurationAndControl', 'CurrentState'), IN_MOTION).toBe(0);
  });

  test('pump: runs in the mode that was written', async () => {
    const pump = await commission('Well pump');
    await pump.write(1, 'pumpConfigurationAndControl', { operationMode: 2 });
    await expect.poll(() => pump.get(1, 'PumpConfigurationAndControl', 'EffectiveOperationMode'), IN_MOTION).toBe(2);
  });

  test('robot: cleans chosen rooms, pauses and goes home', async () => {
    const robot = await commission('Robot');
    expect(await robot.invoke(1, 'serviceArea', 'selectAreas', { newAreas: [1, 3] })).toMatchObject({ status: 0 });
    expect(await robot.get(1, 'ServiceArea', 'SelectedAreas')).toEqual([1, 3]);
    await robot.invoke(1, 'rvcCleanMode', 'changeToMode', { newMode: 1 });
    expect(await robot.get(1, 'RvcCleanMode', 'CurrentMode')).toBe(1);
    await robot.invoke(1, 'rvcRunMode', 'changeToMode', { newMode: 1 });
    expect(await robot.get(1, 'RvcOperationalState', 'OperationalState')).toBe(1);
    await robot.invoke(1, 'rvcOperationalState', 'pause');
    expect(await robot.get(1, 'RvcOperationalState', 'OperationalState')).toBe(2);
    await robot.invoke(1, 'rvcOperationalState', 'goHome');
    expect(await robot.get(1, 'RvcOperationalState', 'OperationalState')).toBe(0x40);
  });

  test('washer: starts, pauses and refuses to resume once stopped', async () => {
    const washer = await commission('Washer');
    await washer.invoke(1, 'operationalState', 'start');
    expect(await washer.get(1, 'OperationalState', 'OperationalState')).toBe(1);
    await washer.invoke(1, 'operationalState', 'stop');
    expect(await washer.invoke(1, 'operationalState', 'resume')).toMatchObject({ commandResponseState: { errorStateId: 3 } });
    await washer.invoke(1, 'temperatureControl', 'setTemperature', { targetTemperatureLevel: 2 });
    expect(await washer.get(1, 'TemperatureControl', 'SelectedTemperatureLevel')).toBe(2);
  });

  test('microwave: cooks with the given time, power and mode', async () => {
    const microwave = await commission('Microwave');
    await microwave.invoke(1, 'microwaveOvenControl', 'setCookingParameters', {
      cookMode: 1,
      cookTime: 90,
      powerSetting: 50,
      startAfterSetting: true,
    });
    expect(await microwave.get(1, 'MicrowaveOvenControl', 'PowerSetting')).toBe(50);
    expect(await microwave.get(1, 'MicrowaveOvenMode', 'CurrentMode')).toBe(1);
    expect(await microwave.get(1, 'OperationalState', 'OperationalState')).toBe(1);
  });

  test('fridge: each cabinet has its own setpoint', async () => {
    const fridge = await commission('Fridge');
    const freezer = (await fridge.device.get('freezer', 'TemperatureControl', 'TemperatureSetpoint')) as number;
    await fridge.invoke(2, 'temperatureControl', 'setTemperature', { targetTemperature: 500 });
    expect(await fridge.device.get('fridge', 'TemperatureControl', 'TemperatureSetpoint')).toBe(500);
    expect(await fridge.device.get('freezer', 'TemperatureControl', 'TemperatureSetpoint')).toBe(freezer);
  });

  test('smoke alarm: tests itself for a while', async () => {
    const alarm = await commission('Smoke alarm');
    const isTesting = () => alarm.get(1, 'SmokeCoAlarm', 'TestInProgress');
    // Who asks only afterwards may be late.
    await Promise.all([expect.poll(isTesting, { interval: 20 }).toBe(true), alarm.invoke(1, 'smokeCoAlarm', 'selfTestRequest')]);
    await expect.poll(isTesting, IN_MOTION).toBe(false);
  });

  test('television, charger and oven do as they are told', async () => {
    const television = await commission('Television');
    await television.invoke(1, 'mediaPlayback', 'play');
    expect(await television.get(1, 'MediaPlayback', 'CurrentState')).toBe(0);
    const charger = await commission('Car charger');
    await charger.invoke(1, 'energyEvse', 'enableCharging', {
      chargingEnabledUntil: null,
      minimumChargeCurrent: 6000,
      maximumChargeCurrent: 16_000,
    });
    expect(await charger.get(1, 'EnergyEvse', 'SupplyState')).toBe(1);
    const oven = await commission('Oven');
    await oven.invoke(2, 'ovenCavityOperationalState', 'start');
    expect(await oven.get(2, 'OvenCavityOperationalState', 'OperationalState')).toBe(1);
  });

  test("the manufacturer's own command adds to the manufacturer's own count", async () => {
    const light = await commission('Party light');
    const before = Number(await light.get(1, 'Sparkle', 'SparkleCount'));
    await light.invoke(1, 'sparkle', 'addSparkles', { amount: 3 });
    expect(await light.get(1, 'Sparkle', 'SparkleCount')).toBe(before + 3);
  });

  test('boiler: boosts for its time only', async () => {
    const boiler = await commission('Boiler');
    await boiler.invoke(1, 'waterHeaterManagement', 'boost', { boostInfo: { duration: 3_600 } });
    expect(await boiler.get(1, 'WaterHeaterManagement', 'BoostState')).toBe(1);
    await boiler.invoke(1, 'waterHeaterManagement', 'boost', { boostInfo: { duration: 1 } });
    await expect.poll(() => boiler.get(1, 'WaterHeaterManagement', 'BoostState'), IN_MOTION).toBe(0);
  });

  test('a button press becomes events', async () => {
    const { device } = await commission('Wall button');
    await device.set(1, 'Switch', 'CurrentPosition', 1);
    await device.set(1, 'Switch', 'CurrentPosition', 0);
    await device.emit(1, 'Switch', 'InitialPress', { newPosition: 1 });
    await expect(device.emit(1, 'Switch', 'Explode', {})).rejects.toThrow(/No event Explode/);
  });
});
