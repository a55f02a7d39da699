import type { Capability } from './tools/capability-catalogue.ts';

/** What every hub has (source 000 §5, requires). */
export const OWN_CAPABILITIES: readonly Capability[] = [
  { type: 'sensor_access', description: () => 'Readings of the sensors of this home, now and over time' },
  { type: 'agent_runtime', description: () => 'Automations that run on this hub under tokens of their own' },
];

/** What comes with a Matter fabric (source 000 §7, bridge capability). */
export function deviceCapabilities(count: () => number): readonly Capability[] {
  const some = (what: string) => () => `${what} of a Matter/Thread bridge with ${count()} devices`;
  return [
    { type: 'matter_bridge', description: () => `Matter/Thread bridge with ${count()} devices`, hasDevices: true },
    { type: 'device_control', description: some('Devices') },
    { type: 'light_control', description: some('Lights') },
    { type: 'thermostat_control', description: some('Thermostats') },
  ];
}
