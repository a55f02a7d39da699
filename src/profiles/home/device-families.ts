/** Families that people speak of, and the types of the Matter Device Library that belong to them. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  light: ['OnOffLight', 'DimmableLight', 'ColorTemperatureLight', 'ExtendedColorLight'],
  plug: ['OnOffPlugInUnit', 'DimmablePlugInUnit', 'MountedOnOffControl', 'MountedDimmableLoadControl'],
  switch: ['OnOffLightSwitch', 'DimmerSwitch', 'ColorDimmerSwitch', 'GenericSwitch', 'ControlBridge', 'PumpController'],
  lock: ['DoorLock', 'DoorLockController'],
  thermostat: ['Thermostat', 'ThermostatController'],
  heating: ['Thermostat', 'HeatPump', 'WaterHeater', 'RoomAirConditioner'],
  cover: ['WindowCovering', 'WindowCoveringController', 'Closure', 'ClosurePanel'],
  fan: ['Fan', 'AirPurifier', 'ExtractorHood'],
  valve: ['WaterValve', 'IrrigationSystem'],
  pump: ['Pump'],
  camera: ['Camera', 'SnapshotCamera', 'FloodlightCamera', 'VideoDoorbell', 'Intercom'],
  doorbell: ['Doorbell', 'AudioDoorbell', 'VideoDoorbell'],
  media: ['Speaker', 'BasicVideoPlayer', 'CastingVideoPlayer', 'VideoRemoteControl', 'ContentApp', 'CastingVideoClient'],
  energy: ['EnergyEvse', 'SolarPower', 'BatteryStorage', 'DeviceEnergyManagement', 'ElectricalMeter', 'ElectricalSensor'],
  appliance: [
    ...['Refrigerator', 'RoomAirConditioner', 'LaundryWasher', 'LaundryDryer', 'Dishwasher', 'Oven', 'CookSurface', 'Cooktop'],
    ...['MicrowaveOven', 'ExtractorHood', 'RoboticVacuumCleaner', 'TemperatureControlledCabinet', 'WaterHeater'],
  ],
};

const ofType = new Map<string, readonly string[]>();
for (const [family, types] of Object.entries(FAMILIES)) {
  for (const type of types) ofType.set(type, [...(ofType.get(type) ?? []), family]);
}

/** `DimmableLight` is `dimmable-light`, `DeviceType0xfff1` is `device-type0xfff1`. */
function typeSlug(type: string): string {
  return type
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}

/** Slugs of Matter device types and of their families; every sensor and detector is a `sensor` too. */
export function typesAndFamilies(types: readonly string[]): ReadonlySet<string> {
  const slugs = types.map(typeSlug);
  const sensors = slugs.some((one) => /-(sensor|detector|alarm)$/.test(one)) ? ['sensor'] : [];
  return new Set([...slugs, ...types.flatMap((type) => ofType.get(type) ?? []), ...sensors]);
}
