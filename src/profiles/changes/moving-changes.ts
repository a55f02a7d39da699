import type { Json } from '../../core/json.ts';
import { type AttributeChange, type Changes, NO_CHANGE, type TouchedCluster, unknownChanges } from './attribute-change.ts';

const OPEN_AT = 100;

/** A cover counts how far it is closed, in 0.01 % (Application Clusters §5.3). */
function coverAt(lift: Json | undefined, tilt: Json | undefined): readonly AttributeChange[] {
  return [
    { attribute: 'CurrentPositionLiftPercent100ths', raw: lift },
    { attribute: 'TargetPositionLiftPercent100ths', raw: lift },
    { attribute: 'CurrentPositionTiltPercent100ths', raw: tilt },
    { attribute: 'TargetPositionTiltPercent100ths', raw: tilt },
  ];
}

const liftTo = (touched: TouchedCluster) => coverAt(touched.field('liftPercent100thsValue'), undefined).slice(0, 2);
const tiltTo = (touched: TouchedCluster) => coverAt(undefined, touched.field('tiltPercent100thsValue')).slice(2);
const locked = (state: string): Changes => {
  return () => [{ attribute: 'LockState', raw: state }];
};

/** In passage mode a lock stays open, and whoever changes the mode may leave it in any state (§5.2.9.24). */
function operatingMode({ value }: TouchedCluster): readonly AttributeChange[] {
  return [
    { attribute: 'OperatingMode', raw: value },
    { attribute: 'LockState', raw: undefined },
  ];
}

function openValve(touched: TouchedCluster): readonly AttributeChange[] {
  return [
    { attribute: 'CurrentState', raw: 'Open' },
    { attribute: 'CurrentLevel', raw: touched.field('targetLevel') ?? touched.live('DefaultOpenLevel') ?? OPEN_AT },
    { attribute: 'RemainingDuration', raw: touched.field('openDuration') },
  ];
}

/** The device refuses what would exceed its MaxCookTime (§8.13.6.3). */
function addCookTime(touched: TouchedCluster): readonly AttributeChange[] {
  const [now, added] = [touched.liveNumber('CookTime'), touched.number('timeToAdd')];
  return [{ attribute: 'CookTime', raw: now === undefined || added === undefined ? undefined : now + added }];
}

/** How fast a pump then runs is its own affair (§4.2.7.22). */
const pumpMode =
  (attribute: string): Changes =>
  ({ value }) => [{ attribute, raw: value }, ...unknownChanges('EffectiveControlMode', 'Speed', 'Capacity', 'Power', 'PumpStatus')];

/** What commands to and writes on locks, covers, valves, pumps, chargers and microwaves change, by `Cluster.Element`. */
export const MOVING_CHANGES: Readonly<Record<string, Changes>> = {
  'DoorLock.LockDoor': locked('Locked'),
  'DoorLock.UnlockDoor': locked('Unlocked'),
  'DoorLock.UnlockWithTimeout': locked('Unlocked'),
  'DoorLock.UnboltDoor': locked('Unlocked'),
  'DoorLock.OperatingMode': operatingMode,
  'WindowCovering.UpOrOpen': () => coverAt(0, 0),
  'WindowCovering.DownOrClose': () => coverAt(10_000, 10_000),
  'WindowCovering.GoToLiftPercentage': liftTo,
  'WindowCovering.GoToTiltPercentage': tiltTo,
  'WindowCovering.StopMotion': NO_CHANGE,
  'ClosureControl.Stop': NO_CHANGE,
  'ValveConfigurationAndControl.Open': openValve,
  'ValveConfigurationAndControl.Close': () => [
    { attribute: 'CurrentState', raw: 'Closed' },
    { attribute: 'CurrentLevel', raw: 0 },
  ],
  'PumpConfigurationAndControl.OperationMode': pumpMode('OperationMode'),
  'PumpConfigurationAndControl.ControlMode': pumpMode('ControlMode'),
  // The device takes the lowest of several limits: it never becomes more than this.
  'EnergyEvse.UserMaximumChargeCurrent': ({ value }) => [{ attribute: 'MaximumChargeCurrent', raw: value }],
  'MicrowaveOvenControl.AddMoreTime': addCookTime,
};
