import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import type { Tone } from './terminal/ink.ts';
import type { Block } from './terminal/page.ts';
import { cellText } from './terminal/text-table.ts';
import { cutText, padText } from './terminal/text-width.ts';

/** Members that are the same for every call, or that the subject has told already. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'tool',
  'request_id',
  'trace_id',
  'response_hash',
  'job_id',
  'approval_id',
  'at_ms',
  'unit',
]);
const TYPE_COLUMNS = 22;

/** An event in one line: when, what, about what, and the rest in words; a terminal gets the time of day and as much as fits. */
export function eventLine(event: JsonObject): Block {
  return {
    render({ columns, ink }) {
      const type = cellText(event.type);
      const [when, what] = [columns === undefined ? cellText(event.time) : timeOfDay(event.time), padText(type, TYPE_COLUMNS)];
      const rest = [cellText(event.subject), factsText(event.data)].filter((text) => text !== '').join('  ');
      const room = columns === undefined ? rest : cutText(rest, columns - when.length - what.length - 4);
      return `${ink(when, 'quiet')}  ${ink(what, toneOf(type, event.data))}  ${room}`;
    },
  };
}

function toneOf(type: string, data: Json | undefined): Tone {
  const { code, reachability, status, state } = isJsonObject(data) ? data : {};
  if (code === 'APPROVAL_REQUIRED' || type === 'approval.requested' || type === 'hub.warning') return 'warning';
  if (type === 'agi.tool.failed' || status === 'failed' || state === 'denied' || reachability === 'unreachable') return 'bad';
  if (type === 'agi.tool.result' || status === 'succeeded' || state === 'approved') return 'good';
  return type === 'agi.tool.invoked' ? 'quiet' : 'plain';
}

function factsText(data: Json | undefined): string {
  if (!isJsonObject(data)) return '';
  const value =
    data.value === undefined ? [] : [`${cellText(data.value)}${typeof data.unit === 'string' ? ` ${cellText(data.unit)}` : ''}`];
  const others = Object.entries(data).filter(([name, fact]) => name !== 'value' && !LEFT_OUT.has(name) && fact !== null);
  return [...value, ...others.map(([name, fact]) => `${name}=${factText(fact)}`)].join(' ');
}

function factText(fact: Json): string {
  if (!isJsonObject(fact)) return cellText(fact);
  return `(${Object.entries(fact)
    .map(([name, value]) => `${name}=${cellText(value)}`)
    .join(' ')})`;
}

function timeOfDay(time: Json | undefined): string {
  const at = new Date(String(time));
  return Number.isNaN(at.getTime()) ? cellText(time) : at.toTimeString().slice(0, 8);
}
