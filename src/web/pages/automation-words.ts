import type { Json } from '../../core/json.ts';
import type { ReadingView } from '../api/hub-types.ts';
import { humanWords, readingName, valueWords } from '../components/formatting.ts';
import { languageTag, text } from '../texts/text.ts';

/** An automation in the result of `list_automations`. */
export interface AutomationView {
  readonly agent_id: string;
  readonly name: string;
  readonly status: 'active' | 'failing' | 'disabled' | 'killed' | 'expired';
  /** Id of the agent that made it; absent if the owner made it. */
  readonly parent?: string;
  readonly triggers: readonly TriggerView[];
  readonly actions: readonly ActionView[];
  readonly runs: number;
  readonly last_run_at?: string;
  readonly last_outcome?: 'success' | 'failure' | 'stopped' | 'unknown';
  readonly last_error?: { readonly code: string; readonly message: string };
  readonly next_run_at?: string;
  readonly expires_at: string;
  readonly renews_itself?: boolean;
  readonly reason?: string;
}

/** A trigger as the configuration of an automation has it. Which members it has depends on its type. */
export interface TriggerView {
  readonly type: 'reading' | 'device_event' | 'reachability' | 'time' | 'every';
  readonly sensor_id?: string;
  readonly above?: number;
  readonly below?: number;
  readonly equals?: Json;
  readonly device_id?: string;
  readonly event?: string;
  readonly becomes?: 'reachable' | 'unreachable';
  readonly at?: string;
  readonly days?: readonly string[];
  readonly seconds?: number;
}

/** An action: the tool and what it acts on. */
export interface ActionView {
  readonly tool: string;
  readonly title?: string;
  readonly device_id?: string;
  readonly device_ids?: readonly string[];
  readonly area?: string;
}

/** How the home calls what an automation names by ids. */
export interface HomeNames {
  readonly device: (id: string) => string;
  readonly reading: (id: string) => Pick<ReadingView, 'title' | 'unit'> | undefined;
}

/** Returns when an automation runs, in words. */
export function triggerWords(trigger: TriggerView, names: HomeNames): string {
  switch (trigger.type) {
    case 'reading':
      return readingWords(trigger, names);
    case 'device_event':
      return text('automations.on_event', { device: names.device(trigger.device_id ?? ''), event: humanWords(trigger.event ?? '') });
    case 'reachability': {
      const key = trigger.becomes === 'reachable' ? 'automations.on_back' : 'automations.on_lost';
      return text(key, { device: names.device(trigger.device_id ?? '') });
    }
    case 'time':
      return text('automations.at', { time: trigger.at ?? '', days: dayWords(trigger.days) });
    case 'every':
      return everyWords(trigger.seconds ?? 0);
  }
}

function readingWords({ sensor_id: id = '', above, below, equals }: TriggerView, names: HomeNames): string {
  const reading = names.reading(id);
  const [device = '', name = ''] = id.split('/');
  const sensor = reading?.title ?? `${names.device(device)} ${readingName(name)}`;
  const withUnit = (value: Json) => `${valueWords(value)}${reading?.unit ? ` ${reading.unit}` : ''}`;
  if (above !== undefined) return text('automations.on_above', { sensor, value: withUnit(above) });
  if (below !== undefined) return text('automations.on_below', { sensor, value: withUnit(below) });
  if (equals !== undefined) return text('automations.on_equals', { sensor, value: valueWords(equals) });
  return text('automations.on_change', { sensor });
}

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
/** A Monday, in UTC. */
const MONDAY_MS = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

function dayWords(days: readonly string[] | undefined): string {
  if (!days || days.length === WEEKDAYS.length) return text('automations.every_day');
  const format = new Intl.DateTimeFormat(languageTag(), { weekday: 'short', timeZone: 'UTC' });
  return days.map((day) => format.format(MONDAY_MS + WEEKDAYS.indexOf(day) * DAY_MS)).join(', ');
}

function everyWords(seconds: number): string {
  if (seconds % 3600 === 0) return text('automations.every_hours', { count: seconds / 3600 });
  if (seconds % 60 === 0) return text('automations.every_minutes', { count: seconds / 60 });
  return text('automations.every_seconds', { count: seconds });
}

/** Returns what an action does, in words: the title of its tool, and the devices or the room. */
export function actionWords({ tool, title, device_id: device, device_ids: devices = [], area }: ActionView, names: HomeNames): string {
  const what = title ?? humanWords(tool.replace(/^[a-z0-9_]+:|@.*$/g, ''));
  const targets = [...(device === undefined ? [] : [device]), ...devices].map(names.device);
  const where = [...targets, ...(area === undefined ? [] : [area])].join(', ');
  return where === '' ? what : `${what}: ${where}`;
}
