import type { Trigger } from '../plan/trigger-schema.ts';
import { IntervalWatch, SunWatch, TimeWatch } from './clock-watches.ts';
import {
  AutomationEndedWatch,
  DecisionWatch,
  DeviceEventWatch,
  HubStartWatch,
  PresenceWatch,
  ReachabilityWatch,
  SceneWatch,
  WebhookWatch,
} from './event-watches.ts';
import { ReadingWatch } from './reading-watch.ts';
import type { Firing, Watch, WatchPorts } from './watch.ts';

/** Returns a watch for the trigger; the caller has to start it. */
export function createWatch(trigger: Trigger, ports: WatchPorts, onFiring: (firing: Firing) => void): Watch {
  switch (trigger.type) {
    case 'reading':
      return new ReadingWatch(ports, trigger, onFiring);
    case 'device_event':
      return new DeviceEventWatch(ports, trigger, onFiring);
    case 'reachability':
      return new ReachabilityWatch(ports, trigger, onFiring);
    case 'time':
      return new TimeWatch(ports, trigger, onFiring);
    case 'every':
      return new IntervalWatch(ports, trigger, onFiring);
    case 'sun':
      return new SunWatch(ports, trigger, onFiring);
    case 'hub_start':
      return new HubStartWatch(ports, trigger, onFiring);
    case 'webhook':
      return new WebhookWatch(ports, trigger, onFiring);
    case 'decision':
      return new DecisionWatch(ports, trigger, onFiring);
    case 'scene':
      return new SceneWatch(ports, trigger, onFiring);
    case 'automation_ended':
      return new AutomationEndedWatch(ports, trigger, onFiring);
    case 'presence':
      return new PresenceWatch(ports, trigger, onFiring);
  }
}
