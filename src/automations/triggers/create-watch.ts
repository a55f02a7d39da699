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
import type { Watch, WatchListener, WatchPorts } from './watch.ts';

/** Returns a watch for the trigger; the caller has to start it. */
export function createWatch(trigger: Trigger, ports: WatchPorts, listener: WatchListener): Watch {
  switch (trigger.type) {
    case 'reading':
      return new ReadingWatch(ports, trigger, listener);
    case 'device_event':
      return new DeviceEventWatch(ports, trigger, listener);
    case 'reachability':
      return new ReachabilityWatch(ports, trigger, listener);
    case 'time':
      return new TimeWatch(ports, trigger, listener);
    case 'every':
      return new IntervalWatch(ports, trigger, listener);
    case 'sun':
      return new SunWatch(ports, trigger, listener);
    case 'hub_start':
      return new HubStartWatch(ports, trigger, listener);
    case 'webhook':
      return new WebhookWatch(ports, trigger, listener);
    case 'decision':
      return new DecisionWatch(ports, trigger, listener);
    case 'scene':
      return new SceneWatch(ports, trigger, listener);
    case 'automation_ended':
      return new AutomationEndedWatch(ports, trigger, listener);
    case 'presence':
      return new PresenceWatch(ports, trigger, listener);
  }
}
