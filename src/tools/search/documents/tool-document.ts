import type { HomeNames } from '../../../core/devices/home-names.ts';
import { isJsonObject } from '../../../core/json.ts';
import type { RegisteredTool, ToolDefinition } from '../../definition/tool-definition.ts';
import { ACTS_TERM, actionsOfTitle, actionTerm, FOR_KIND_TERM, OF_DEVICE_TERM, READ_TERM } from '../actions.ts';
import { concept } from '../words/lexicon.ts';
import { STOP_WORDS } from '../words/stop-words.ts';
import { NUMBER_TERM, unitTerm } from '../words/values.ts';
import { wordsOf } from '../words/words.ts';
import { documentTerms, type ExtraTerm, type FieldText, type TermWeight, typeText } from './search-document.ts';

/** What a search may know of a device of this hub beside its tools. */
export interface NamedDevice {
  readonly name: string;
  readonly deviceTypes: readonly string[];
}

/** What the search of tools knows of the home. */
export interface HomeFacts {
  readonly names: HomeNames;
  /** Undefined for devices of other hubs. */
  device(id: string): NamedDevice | undefined;
}

/** What an action is worth whose title says more than the action: `Turn on for a time`. */
const WITH_MORE = 0.85;
/** Raw commands of the specification come after what profiles made for people. */
const RAW = 0.8;

/** The terms by which a tool is found. */
export function toolTerms({ definition, hubs }: RegisteredTool, facts: HomeFacts): ReadonlyMap<string, TermWeight> {
  const { name, namespace, description, metadata } = definition;
  const { device: id, area } = metadata;
  const device = id === undefined || hubs ? undefined : facts.device(id);
  const aliases = id === undefined || hubs ? [] : facts.names.deviceAliases(id);
  const places = area === undefined || hubs ? undefined : facts.names.areaNames(area);
  const texts: FieldText[] = [
    { field: 'name', text: name },
    { field: 'title', text: metadata.title },
    { field: 'tag', text: tagText(metadata.tags) },
    { field: 'description', text: description },
    { field: 'namespace', text: namespace },
    { field: 'device', text: device?.name ?? quotedName(description) ?? id ?? '' },
    { field: 'type', text: typeText(device?.deviceTypes ?? []) },
    { field: 'area', text: area ?? '' },
    { field: 'floor', text: places?.floor ?? '' },
    ...aliases.map((text): FieldText => ({ field: 'alias', text })),
    ...(places?.aliases ?? []).map((text): FieldText => ({ field: 'area', text })),
    { field: 'parameter', text: parameterText(definition) },
  ];
  const terms = documentTerms(
    texts.filter(({ text }) => text !== ''),
    [...actionTerms(definition), ...ownerTerms(definition), ...unitTerms(definition)],
  );
  return new Map([...terms, ...sameDeeds(terms)]);
}

/** For things of a kind one action is another: whoever turns the sprinkler on opens its valve. */
const SAME_DEEDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  valve: { open: 'on', close: 'off' },
  cover: { open: 'raise', close: 'lower' },
  fan: { stop: 'off' },
};
const SAME = 0.95;

function sameDeeds(terms: ReadonlyMap<string, TermWeight>): readonly (readonly [string, TermWeight])[] {
  return Object.entries(SAME_DEEDS).flatMap(([kind, deeds]) => {
    if (!terms.has(concept(kind))) return [];
    return Object.entries(deeds).flatMap(([own, other]) => {
      const known = terms.get(actionTerm(own));
      return known && !terms.has(actionTerm(other)) ? [[actionTerm(other), { ...known, weight: known.weight * SAME }] as const] : [];
    });
  });
}

/** Tools of devices say the name of theirs in quotes; that is all that is known of devices of other hubs. */
function quotedName(description: string): string | undefined {
  return /"([^"]{1,64})"/.exec(description)?.[1];
}

function actionTerms({ metadata, execution }: ToolDefinition): readonly ExtraTerm[] {
  // What only computes tells nothing of the home.
  if (!execution.hasSideEffects) return metadata.category === 'computing' ? [] : [{ field: 'action', term: READ_TERM, weight: 1 }];
  const words = wordsOf(metadata.title);
  const { actions, places } = actionsOfTitle(words);
  const hasMore = words.some(({ text }, place) => !places.has(place) && !STOP_WORDS.has(text));
  const worth = (hasMore ? WITH_MORE : 1) * (metadata.tags.includes('generic') ? RAW : 1);
  const deeds = [...actions].map(
    ([action, strength]) => ({ field: 'action', term: actionTerm(action), weight: strength * worth }) as const,
  );
  return [...deeds, { field: 'action', term: ACTS_TERM, weight: 1 }];
}

/** Tags say the names of clusters in parts as well, and a part alone is something else: a blind is no window. */
function tagText(tags: readonly string[]): string {
  const parts = new Set(tags.filter((tag) => PLAIN_TAGS[tag] !== undefined).flatMap((tag) => tag.split('-')));
  return tags.map((tag) => PLAIN_TAGS[tag] ?? (parts.has(tag) ? '' : tag)).join(' ');
}

const PLAIN_TAGS: Readonly<Record<string, string>> = { 'window-covering': 'covering', 'door-lock': 'lock' };

/** Whether it is of one device, or for any device of a kind. */
function ownerTerms({ metadata, parameters }: ToolDefinition): readonly ExtraTerm[] {
  if (metadata.device !== undefined) return [{ field: 'action', term: OF_DEVICE_TERM, weight: 1 }];
  const { properties } = parameters;
  return isJsonObject(properties) && 'device_id' in properties ? [{ field: 'action', term: FOR_KIND_TERM, weight: 1 }] : [];
}

function unitTerms(definition: ToolDefinition): readonly ExtraTerm[] {
  const units = parametersOf(definition).flatMap(([, schema]) => {
    const { type, 'x-unit': unit } = schema;
    if (type !== 'number' && type !== 'integer') return [];
    return typeof unit === 'string' ? [NUMBER_TERM, unitTerm(unit)] : [NUMBER_TERM];
  });
  return [...new Set(units)].map((term) => ({ field: 'value', term, weight: 1 }));
}

/** Names of parameters and the words that they may be set to. */
function parameterText(definition: ToolDefinition): string {
  return parametersOf(definition)
    .flatMap(([name, schema]) => [name, ...(Array.isArray(schema.enum) ? schema.enum.filter((one) => typeof one === 'string') : [])])
    .join(' ');
}

function parametersOf({ parameters }: ToolDefinition) {
  const properties = parameters.properties;
  return isJsonObject(properties)
    ? Object.entries(properties).flatMap(([name, schema]) => (isJsonObject(schema) ? [[name, schema] as const] : []))
    : [];
}
