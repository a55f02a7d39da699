import { type DeviceRows, device, does, type Fact, tells } from '../tool-row.ts';
import { switchRows } from './on-off-rows.ts';

/** The code of the owner of the standard home's lock, in the tests' own home. */
export const PIN = '73916428';
const PIN_OCTETS = { $bytes: Buffer.from(PIN).toString('hex') };

const lock = (attribute: string, raw: number): Fact => ['lock', 'DoorLock', attribute, raw];
const lift = (raw: number): Fact => ['covering', 'WindowCovering', 'CurrentPositionLiftPercent100ths', raw];
const liftTarget = (raw: number): Fact => ['covering', 'WindowCovering', 'TargetPositionLiftPercent100ths', raw];
const valve = (attribute: string, raw: unknown): Fact => ['valve', 'ValveConfigurationAndControl', attribute, raw];
const pump = (attribute: string, raw: number): Fact => ['pump', 'PumpConfigurationAndControl', attribute, raw];
const robot = (cluster: string, attribute: string, raw: unknown): Fact => ['robot', cluster, attribute, raw];

export const MOVING: readonly DeviceRows[] = [
  device('Front door', [
    does(
      'front_door_unlock',
      { pin: PIN },
      {
        raw: [lock('LockState', 2)],
        sent: { cluster: 'DoorLock', command: 'unlockDoor', fields: { pinCode: PIN_OCTETS } },
        state: { lock_state: 'unlocked' },
      },
    ),
    does(
      'front_door_lock',
      { pin: PIN },
      {
        raw: [lock('LockState', 1)],
        sent: { cluster: 'DoorLock', command: 'lockDoor', fields: { pinCode: PIN_OCTETS } },
        state: { lock_state: 'locked' },
      },
    ),
    does(
      'front_door_unlock_for',
      { seconds: 5, pin: PIN },
      {
        raw: [lock('LockState', 2)],
        later: [lock('LockState', 1)],
        sent: { cluster: 'DoorLock', command: 'unlockWithTimeout', fields: { timeout: 5, pinCode: PIN_OCTETS } },
      },
    ),
    tells('front_door_read_lock', [lock('DoorState', 0)], { lock_state: 'locked', door_state: 'door_open' }),
  ]),
  // Matter counts how far a cover is closed, in 0.01 %.
  device('Bedroom blind', [
    does(
      'bedroom_blind_close',
      {},
      { raw: [liftTarget(10_000)], later: [lift(10_000)], isSettled: false, state: { target_open_percent: 0 } },
    ),
    does(
      'bedroom_blind_set_position',
      { open_percent: 75 },
      { raw: [liftTarget(2500)], later: [lift(2500)], isSettled: false, state: { target_open_percent: 75 } },
    ),
    does('bedroom_blind_open', {}, { raw: [liftTarget(0)], later: [lift(0)], isSettled: false, state: { target_open_percent: 100 } }),
    does(
      'bedroom_blind_set_tilt',
      { tilt_percent: 75 },
      { later: [['covering', 'WindowCovering', 'CurrentPositionTiltPercent100ths', 2500]], isSettled: false },
    ),
    does('bedroom_blind_stop', {}, { sent: { cluster: 'WindowCovering', command: 'stopMotion' } }),
  ]),
  device('Garden valve', [
    does(
      'garden_valve_open',
      { open_percent: 40, seconds: 60 },
      {
        raw: [valve('CurrentState', 1), valve('CurrentLevel', 40), valve('OpenDuration', 60)],
        state: { valve_state: 'open', open_percent: 40 },
      },
    ),
    does(
      'garden_valve_close',
      {},
      { raw: [valve('CurrentState', 0), valve('CurrentLevel', 0)], state: { valve_state: 'closed', open_percent: 0 } },
    ),
    tells('garden_valve_read_valve', [valve('CurrentState', 1), valve('CurrentLevel', 55), valve('RemainingDuration', 90)], {
      valve_state: 'open',
      open_percent: 55,
      seconds_left: 90,
    }),
  ]),
  device('Well pump', [
    ...switchRows('well_pump', 'pump'),
    does(
      'well_pump_set_operation_mode',
      { operation_mode: 'maximum' },
      {
        raw: [pump('OperationMode', 2), pump('EffectiveOperationMode', 2)],
        state: { operation_mode: 'maximum', capacity: 10, pump_speed: 1500 },
      },
    ),
    does(
      'well_pump_set_control_mode',
      { control_mode: 'constant_flow' },
      { raw: [pump('ControlMode', 3), pump('EffectiveControlMode', 3)] },
    ),
  ]),
  device('Robot', [
    does('robot_select_areas', { areas: ['kitchen', 'hall'] }, { raw: [robot('ServiceArea', 'SelectedAreas', [1, 3])] }),
    does(
      'robot_set_clean_mode',
      { clean_mode: 'quiet_vacuum' },
      { raw: [robot('RvcCleanMode', 'CurrentMode', 2)], state: { clean_mode: 'quiet_vacuum' } },
    ),
    does(
      'robot_set_run_mode',
      { run_mode: 'cleaning' },
      {
        raw: [robot('RvcRunMode', 'CurrentMode', 1), robot('RvcOperationalState', 'OperationalState', 1)],
        state: { run_mode: 'cleaning' },
      },
    ),
    does('robot_pause', {}, { raw: [robot('RvcOperationalState', 'OperationalState', 2)], state: { operational_state: 'paused' } }),
    does('robot_resume', {}, { raw: [robot('RvcOperationalState', 'OperationalState', 1)], state: { operational_state: 'running' } }),
    does(
      'robot_go_home',
      {},
      { raw: [robot('RvcOperationalState', 'OperationalState', 0x40)], state: { operational_state: 'seeking_charger' } },
    ),
  ]),
];
