import { visibleLine } from '../../core/foreign-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { shallowJson } from './shallow-json.ts';

/** What somebody on the relay says that it can do. Nothing of it is proven. */
export interface HeardCapability {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tools: readonly string[];
}

/** An announcement after its parts were bounded. */
export interface HeardAnnouncement {
  readonly nonce: string;
  readonly timestampMs: number;
  readonly capabilities: readonly HeardCapability[];
}

const MAX_CAPABILITIES = 50;
const MAX_NAME = 200;
const MAX_DESCRIPTION = 500;
const MAX_TOOLS = 50;
/** Of all entries of one node, characters: an announcement of fifty tools has half of it. */
const MAX_TEXT = 65_536;
const MAX_NONCE = 64;
const DIRECT = ['capability_announce', 'capability.announce'];

/**
 * The announcement in a message's payload, in either dialect; undefined for what is none, and for what tells of another node than the
 * one that the relay says it comes from.
 */
export function readAnnouncement(from: string, payload: JsonObject): HeardAnnouncement | undefined {
  const direct = typeof payload.type === 'string' && DIRECT.includes(payload.type);
  const told = direct ? payload : gossipIn(payload);
  if (!told || (direct ? told.node_id : told.from) !== from) return undefined;
  const { nonce, timestamp, capabilities } = told;
  if (typeof nonce !== 'string' || nonce === '' || nonce.length > MAX_NONCE) return undefined;
  if (typeof timestamp !== 'number' || !Array.isArray(capabilities)) return undefined;
  return { nonce, timestampMs: timestamp * 1_000, capabilities: readCapabilities(capabilities) };
}

/** The first fifty of a list of entries, or of names alone, without those that have no id, as far as one node may have text. */
export function readCapabilities(list: Json | undefined): readonly HeardCapability[] {
  if (!Array.isArray(list)) return [];
  let length = 0;
  const heard = list.slice(0, MAX_CAPABILITIES).map(readCapability);
  return heard.filter((one) => {
    length += lengthOf(one);
    return one.id !== '' && length <= MAX_TEXT;
  });
}

function lengthOf({ id, label, description, tools }: HeardCapability): number {
  return [id, label, description, ...tools].reduce((sum, text) => sum + text.length, 0);
}

/** Text from outside as a line: bounded, without hidden characters; empty for what is no text. */
export function heardText(value: Json | undefined, maxLength: number): string {
  // Copied, for a slice of a text keeps all of it in memory.
  return typeof value === 'string' ? structuredClone(visibleLine(value.slice(0, maxLength), maxLength)) : '';
}

function gossipIn({ type, data }: JsonObject): JsonObject | undefined {
  if (type !== 'gossip' || typeof data !== 'string') return undefined;
  const inner = shallowJson(Buffer.from(data, 'base64').toString('utf8'));
  return isJsonObject(inner) && inner.type === 'announce' ? inner : undefined;
}

function readCapability(entry: Json): HeardCapability {
  const told = isJsonObject(entry) ? entry : { id: entry, label: entry };
  const id = heardText(told.capability_id ?? told.id, MAX_NAME);
  const tools = Array.isArray(told.tools) ? told.tools.slice(0, MAX_TOOLS).map((name: Json) => heardText(name, MAX_NAME)) : [];
  return {
    id,
    label: heardText(told.label, MAX_NAME),
    description: heardText(told.description, MAX_DESCRIPTION),
    tools: [...new Set([...tools, announcedTool(told)])].filter((name) => name !== ''),
  };
}

function announcedTool({ constraints }: JsonObject): string {
  return isJsonObject(constraints) ? heardText(constraints.tool, MAX_NAME) : '';
}
