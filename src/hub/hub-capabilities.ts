import type { Capability } from '../tools/capability-catalogue.ts';

/** What every hub has (source 000 §5, requires). */
export const OWN_CAPABILITIES: readonly Capability[] = [
  { type: 'sensor_access', description: () => 'Readings of the sensors of this home, now and over time' },
  { type: 'agent_runtime', description: () => 'Automations that run on this hub under tokens of their own' },
];

const some = (what: string) => (count: number) => `${what} of a Matter/Thread bridge with ${count} devices`;

/** What comes with a Matter fabric (source 000 §7, bridge capability). */
export const DEVICE_CAPABILITIES: readonly Capability[] = [
  { type: 'matter_bridge', description: (count) => `Matter/Thread bridge with ${count} devices`, hasDevices: true },
  { type: 'device_control', description: some('Devices') },
  { type: 'light_control', description: some('Lights') },
  { type: 'thermostat_control', description: some('Thermostats') },
];
