import type { Trigger } from '../automations/automation-config.ts';
import { DeviceEventWatch, ReachabilityWatch } from './device-watch.ts';
import { ReadingWatch } from './reading-watch.ts';
import { IntervalWatch, TimeWatch } from './time-watch.ts';
import type { Fire, Watch, WatchPorts } from './trigger-watch.ts';

/** The watch of a trigger's type; it does nothing before it is started. */
export function watchFor(trigger: Trigger, ports: WatchPorts, fire: Fire): Watch {
  switch (trigger.type) {
    case 'reading':
      return new ReadingWatch(ports, trigger, fire);
    case 'device_event':
      return new DeviceEventWatch(ports, trigger, fire);
    case 'reachability':
      return new ReachabilityWatch(ports, trigger, fire);
    case 'time':
      return new TimeWatch(ports, trigger, fire);
    case 'every':
      return new IntervalWatch(ports, trigger, fire);
  }
}
