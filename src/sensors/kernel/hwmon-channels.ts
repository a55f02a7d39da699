/** A channel of a monitoring chip, `temp1`, `in0`, `fan2` …, with its attribute. */
export interface MonitorChannel {
  readonly channel: string;
  readonly attribute: string;
  readonly kind: string;
  readonly unit: string;
  /** What one of the kernel's units is in ours; absent for an alarm, which is 0 or 1. */
  readonly factor?: number;
}

/** Kernel units of Documentation/hwmon/sysfs-interface.rst. */
const KINDS: Readonly<Record<string, { readonly kind: string; readonly unit: string; readonly factor: number }>> = {
  temp: { kind: 'temperature', unit: '°C', factor: 1e-3 },
  in: { kind: 'voltage', unit: 'V', factor: 1e-3 },
  curr: { kind: 'current', unit: 'A', factor: 1e-3 },
  power: { kind: 'power', unit: 'W', factor: 1e-6 },
  energy: { kind: 'energy', unit: 'kWh', factor: 1 / 3.6e12 },
  humidity: { kind: 'humidity', unit: '%', factor: 1e-3 },
  fan: { kind: 'fan_speed', unit: 'rpm', factor: 1 },
};

const VALUE = /^((temp|in|curr|power|energy|humidity|fan)\d+)_input$/;
/** A limit that the chip watches itself, such as `in0_lcrit_alarm`, the Raspberry Pi's word for too little voltage. */
const ALARM = /^((?:temp|in|curr|power|humidity|fan)\d+(?:_[a-z]+)?_alarm)$/;

/** What a chip's attributes measure. */
export function monitorChannels(attributes: readonly string[]): readonly MonitorChannel[] {
  return attributes.flatMap((attribute): readonly MonitorChannel[] => {
    const [, channel, type = ''] = VALUE.exec(attribute) ?? [];
    const known = KINDS[type];
    if (channel !== undefined && known) return [{ channel, attribute, ...known }];
    const [, alarm] = ALARM.exec(attribute) ?? [];
    return alarm === undefined ? [] : [{ channel: alarm, attribute, kind: 'alarm', unit: '' }];
  });
}
