import {
  type ByType,
  CLOCK_TIME,
  comparison,
  days,
  deviceId,
  identifier,
  LONGEST_SECONDS,
  offset,
  person,
  SUN_EVENTS,
  shortText,
  timeZone,
} from './schema-parts.ts';

/** The schemas of a trigger's fields, by the `type` of the trigger. */
export const TRIGGERS = {
  reading: {
    required: ['sensor_id'],
    properties: {
      ...comparison,
      changes: { enum: [true], description: 'For reading: any change' },
      for_seconds: { type: 'number', minimum: 0, maximum: LONGEST_SECONDS, description: 'For reading: it has to stay so for this long' },
      hysteresis: { type: 'number', minimum: 0, description: 'For reading: how far it has to go back before it can cross again' },
    },
  },
  device_event: {
    required: ['device_id', 'event'],
    properties: {
      device_id: deviceId,
      event: shortText('Name of the event, such as InitialPress'),
      cluster: shortText('Cluster that sends it'),
    },
  },
  reachability: {
    required: ['device_id', 'becomes'],
    properties: { device_id: deviceId, becomes: { enum: ['reachable', 'unreachable'], description: 'For reachability: lost or back' } },
  },
  time: {
    required: [],
    properties: {
      at: CLOCK_TIME,
      cron: {
        ...shortText('For time, instead of at: minute, hour, day of the month, month and day of the week, as cron has them'),
        examples: ['*/15 7-9 * * mon-fri'],
      },
      days,
      time_zone: timeZone,
    },
  },
  every: {
    required: ['seconds'],
    properties: { seconds: { type: 'number', minimum: 10, maximum: LONGEST_SECONDS, description: 'For every: seconds between two runs' } },
  },
  sun: {
    required: ['event'],
    properties: {
      event: { enum: SUN_EVENTS, description: 'For sun: which event' },
      offset_minutes: offset('For sun: minutes after the event, negative before it'),
    },
  },
  hub_start: { required: [], properties: {} },
  webhook: { required: ['name'], properties: { name: identifier('For webhook: its name, the last part of its address') } },
  decision: {
    required: ['decision'],
    properties: {
      agent_id: shortText('For decision: whose call it was about; any when absent'),
      decision: { enum: ['approved', 'denied'], description: 'For decision: what a person decided' },
    },
  },
  scene: { required: ['scene_id'], properties: { scene_id: shortText('For scene: id of the scene that was run') } },
  automation_ended: {
    required: ['agent_id'],
    properties: {
      agent_id: shortText('For automation_ended: id of the automation whose run ended'),
      outcome: { enum: ['success', 'failure', 'stopped'], description: 'For automation_ended: only if it ended so' },
    },
  },
  presence: {
    required: ['becomes'],
    properties: {
      person: { ...person, description: 'For presence: this person; when absent, the first who comes or the last who leaves' },
      becomes: { enum: ['home', 'away'], description: 'For presence: comes home or leaves' },
    },
  },
} as const;

type TriggersByType = ByType<typeof TRIGGERS>;

/** Fires when a reading crosses a value, equals it, or changes. */
export type ReadingTrigger = TriggersByType['reading'];
/** Fires when a device sends an event, such as a pressed button. */
export type DeviceEventTrigger = TriggersByType['device_event'];
/** Fires when a device becomes unreachable or reachable. */
export type ReachabilityTrigger = TriggersByType['reachability'];
/** Fires at a time of day, or at the times of a cron expression, in a time zone. Has exactly one of `at` and `cron`. */
export type TimeTrigger = TriggersByType['time'];
/** Fires at a fixed interval. */
export type IntervalTrigger = TriggersByType['every'];
/** Fires at an event of the sun at the place of the hub, or some minutes before or after it. */
export type SunTrigger = TriggersByType['sun'];
/** Fires once after each start of the hub. */
export type HubStartTrigger = TriggersByType['hub_start'];
/** Fires when somebody who may configure the automation posts to its webhook. */
export type WebhookTrigger = TriggersByType['webhook'];
/** Fires when a person has approved or denied a call. */
export type DecisionTrigger = TriggersByType['decision'];
/** Fires when a scene was run. */
export type SceneTrigger = TriggersByType['scene'];
/** Fires when a run of another automation has ended. */
export type AutomationEndedTrigger = TriggersByType['automation_ended'];
/** Fires when a person comes home or leaves; without a person, when the first comes or the last leaves. */
export type PresenceTrigger = TriggersByType['presence'];
/** Starts a run of an automation. */
export type Trigger = TriggersByType[keyof TriggersByType];
