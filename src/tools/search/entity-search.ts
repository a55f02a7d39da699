import { areaKey, type HomeNames, NO_HOME_NAMES } from '../../core/devices/device-names.ts';
import type { SensorInfo } from '../../core/devices/sensor-readings.ts';
import type { HubId } from '../../core/ids.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { READ_TERM } from './actions.ts';
import { confidenceOf, metNeeds, reasonsOf, sortedByScore, weightedByConfidence } from './confidence.ts';
import type { EntityMatch, EntitySearch, SearchedDevice, SearchedHome, SearchQuery } from './home-search.ts';
import { concept, neighbourOf } from './lexicon.ts';
import { parseQuery } from './query.ts';
import type { Need, QueryRequest } from './query-needs.ts';
import { interleave, type Ranked, rank } from './ranking.ts';
import { documentTerms, type ExtraTerm, type FieldText, TermIndex, type TermWeight, typeText } from './term-index.ts';
import { splitName } from './words.ts';

const DEFAULT_LIMIT = 10;
/** Minimum confidence of a match. A lower confidence means that only a common word matched. */
const NAMED_FROM = 0.12;
/** Maximum number of cached devices. Above it the cache is cleared, which also drops devices that were removed. */
const MOST_DEVICES = 10_000;

/** Finds devices, areas and sensors with the vocabulary and the weights of the tool search. */
export class LexicalEntitySearch implements EntitySearch {
  readonly #index: TermIndex<Entity>;
  /** Cached entities by hub and device id. An entity is valid while the searched fields of the device, in `facts`, stay the same. */
  readonly #devices = new Map<string, { readonly facts: string; readonly entity: Entity }>();
  /** Cached entity of each sensor, by the sensor's info object. */
  readonly #sensors = new WeakMap<SensorInfo, Extract<Entity, { kind: 'sensor' }>>();
  readonly #areas = new Map<string, Entity>();

  constructor(names: HomeNames = NO_HOME_NAMES) {
    this.#index = new TermIndex((entity) => entityTerms(entity, names), names);
  }

  search({ text, limit = DEFAULT_LIMIT }: SearchQuery, home: SearchedHome): readonly EntityMatch[] {
    const members = this.#index.membersOf(this.#entitiesOf(home));
    const tieBreak = (document: number) => this.#index.item(document)?.id ?? '';
    const areaOf = (document: number) => placeOf(this.#index.item(document));
    const found = parseQuery(text).map((wish) => {
      const { ranked, needs } = rank(this.#index, { wish, limit, tieBreak, areaOf }, (document) => members[document] === 1);
      const matches = ranked.flatMap((one) => this.#match(one, { wish, needs }));
      return sortedByScore(matches.filter(({ confidence }) => confidence >= NAMED_FROM));
    });
    return interleave(found, ({ kind, id, node = '' }) => `${kind} ${id} ${node}`).slice(0, limit);
  }

  #match(one: Ranked, asked: { readonly wish: QueryRequest; readonly needs: readonly Need[] }): readonly EntityMatch[] {
    const entity = this.#index.item(one.document);
    if (!entity) return [];
    const { kind, id, name, node } = entity;
    const confidence = confidenceOf(this.#index, one, { ...asked, isThing: true });
    const area = kind === 'area' ? undefined : entity.area;
    return [
      {
        kind,
        id,
        name,
        ...(area !== undefined && { area }),
        ...(node !== undefined && { node }),
        score: weightedByConfidence(one.score, confidence),
        confidence,
        reasons: reasonsOf(metNeeds(this.#index, one, asked.needs)),
      },
    ];
  }

  #entitiesOf({ devices, sensors }: SearchedHome): readonly Entity[] {
    const names = new Map(devices.filter(({ node }) => node === undefined).map(({ id, name }) => [id as string, name]));
    if (this.#devices.size > MOST_DEVICES) this.#devices.clear();
    return [
      ...devices.map((device) => this.#deviceEntity(device)),
      ...sensors.map((sensor) => this.#sensorEntity(sensor, names.get(sensor.device) ?? sensor.device)),
      ...[...areasOf(devices)].map(([id, area]) => this.#areaEntity({ kind: 'area', id, ...area })),
    ];
  }

  #deviceEntity(device: SearchedDevice): Entity {
    const { id, name, area, node, deviceTypes, vendor, product } = device;
    const key = `${node ?? ''} ${id}`;
    const facts = JSON.stringify([name, area, deviceTypes, vendor, product]);
    const known = this.#devices.get(key);
    if (known?.facts === facts) return known.entity;
    const entity: Entity = { kind: 'device', id, name, ...(area !== undefined && { area }), ...(node && { node }), device };
    this.#devices.set(key, { facts, entity });
    return entity;
  }

  #sensorEntity(sensor: SensorInfo, deviceName: string): Entity {
    const known = this.#sensors.get(sensor);
    if (known?.deviceName === deviceName) return known;
    const { id, title, area } = sensor;
    const entity = {
      kind: 'sensor',
      id,
      name: title.includes(quoted(deviceName)) ? title : `${quoted(deviceName)}: ${title}`,
      ...(area !== undefined && { area }),
      sensor,
      deviceName,
    } as const;
    this.#sensors.set(sensor, entity);
    return entity;
  }

  #areaEntity(area: Extract<Entity, { kind: 'area' }>): Entity {
    const known = this.#areas.get(area.id);
    if (known?.name === area.name && known.node === area.node) return known;
    this.#areas.set(area.id, area);
    return area;
  }
}

function placeOf(entity: Entity | undefined): string | undefined {
  if (!entity) return undefined;
  return entity.kind === 'area' ? entity.name : entity.area;
}

/** A device, area or sensor that a search can find. */
type Entity =
  | {
      readonly kind: 'device';
      readonly id: string;
      readonly name: string;
      readonly area?: string;
      readonly node?: HubId;
      readonly device: SearchedDevice;
    }
  | {
      readonly kind: 'sensor';
      readonly id: string;
      readonly name: string;
      readonly area?: string;
      readonly node?: undefined;
      readonly sensor: SensorInfo;
      readonly deviceName: string;
    }
  | { readonly kind: 'area'; readonly id: string; readonly name: string; readonly node?: HubId };

/** Index terms for the actions and settings of each kind of device. With them, `open the big one` finds a gate and not a lamp. */
const ACTIONS_OF_KIND: Readonly<Record<string, string>> = {
  light: '!on !off !toggle !set !raise !lower ~brightness ~color #% #',
  plug: '!on !off !toggle',
  switch: '!on !off !toggle',
  fan: '!on !off !set !raise !lower ~speed #% #',
  purifier: '!on !off !set ~air_quality ~speed',
  thermostat: '!set !raise !lower !on !off ~temperature ~heating #° #',
  cooling: '!on !off !set !raise !lower ~temperature #° #',
  cover: '!open !close !stop !set !raise !lower ~position #% #',
  garage_door: '!open !close !stop',
  gate: '!open !close !stop',
  lock: '!lock !unlock',
  valve: '!open !close !on !off !set ~irrigation #% #',
  media: '!play !pause !stop !next !previous !mute !unmute !on !off !set !raise !lower ~volume ~channel #% #',
  vacuum: '!start !stop !pause !dock',
  mower: '!start !stop !pause !dock',
  washer: '!start !stop !pause',
  dishwasher: '!start !stop !pause',
  oven: '!start !stop !set ~temperature #° #',
  pump: '!on !off',
};
const ACTION_OF_KIND_WORTH = 0.7;

function entityTerms(entity: Entity, names: HomeNames): ReadonlyMap<string, TermWeight> {
  if (entity.kind === 'area') return areaTerms(entity.name, names);
  const texts = [
    ...(entity.kind === 'device' ? deviceTexts(entity.device, names) : sensorTexts(entity)),
    ...placeTexts(entity.area, names),
  ];
  const terms = documentTerms(texts, entity.kind === 'sensor' ? [{ field: 'reading', term: READ_TERM, weight: 1 }] : []);
  return entity.kind === 'device' ? new Map([...terms, ...actionsOfKind(terms)]) : terms;
}

/** Returns the areas of the devices by `areaKey`. The first device in an area determines the area's spelling and hub. */
function areasOf(devices: readonly SearchedDevice[]): ReadonlyMap<string, Pick<SearchedDevice, 'node'> & { readonly name: string }> {
  const areas = new Map<string, Pick<SearchedDevice, 'node'> & { readonly name: string }>();
  for (const { area, node } of devices) {
    if (area !== undefined && !areas.has(areaKey(area))) areas.set(areaKey(area), { name: area, ...(node && { node }) });
  }
  return areas;
}

function deviceTexts({ id, name, deviceTypes, vendor, product, node }: SearchedDevice, names: HomeNames): readonly FieldText[] {
  // The hub knows aliases only for its own devices.
  const aliases = node === undefined ? names.deviceAliases(id) : [];
  return [
    { field: 'device', text: name },
    ...aliases.map((text): FieldText => ({ field: 'alias', text })),
    { field: 'type', text: typeText(deviceTypes) },
    { field: 'description', text: `${vendor?.name ?? ''} ${product?.name ?? ''}` },
  ];
}

function sensorTexts({ sensor, deviceName }: Extract<Entity, { kind: 'sensor' }>): readonly FieldText[] {
  return [
    { field: 'device', text: deviceName },
    { field: 'reading', text: `${sensor.title} ${sensor.kind === sensor.title.toLowerCase() ? '' : splitName(sensor.kind)}` },
    { field: 'description', text: sensor.unit },
  ];
}

function placeTexts(area: string | undefined, names: HomeNames): readonly FieldText[] {
  if (area === undefined) return [];
  const { floor, aliases } = names.areaNames(area);
  return [
    { field: 'area', text: area },
    ...aliases.map((text): FieldText => ({ field: 'area', text })),
    ...(floor === undefined ? [] : [{ field: 'floor', text: floor } as const]),
  ];
}

function areaTerms(name: string, names: HomeNames): ReadonlyMap<string, TermWeight> {
  const { floor, aliases } = names.areaNames(name);
  return documentTerms(
    [
      { field: 'area', text: name },
      // The field `name` distinguishes an area from its devices, which have the area's name only in the field `area`.
      { field: 'name', text: name },
      ...aliases.flatMap((text): readonly FieldText[] => [
        { field: 'alias', text },
        { field: 'name', text },
      ]),
      ...(floor === undefined ? [] : [{ field: 'floor', text: floor } as const]),
    ],
    [],
  );
}

function actionsOfKind(terms: ReadonlyMap<string, TermWeight>): readonly (readonly [string, TermWeight])[] {
  const deeds = Object.entries(ACTIONS_OF_KIND).flatMap(([kind, list]): readonly ExtraTerm[] => {
    const known = terms.get(concept(kind)) ?? terms.get(neighbourOf(concept(kind)));
    if (!known) return [];
    const own = list.split(' ').filter((term) => !terms.has(term));
    return own.map((term) => ({ term, weight: ACTION_OF_KIND_WORTH, field: known.field }));
  });
  return deeds.map(({ term, weight, field }) => [term, { weight, field }]);
}
