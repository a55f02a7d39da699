import { areaKey } from '../../../core/devices/device-facts.ts';
import type { HomeNames } from '../../../core/devices/home-names.ts';
import type { SensorInfo } from '../../../core/devices/reading-store.ts';
import type { HubId } from '../../../core/ids.ts';
import { READ_TERM } from '../actions.ts';
import type { SearchedDevice } from '../search.ts';
import { concept, neighbourOf } from '../words/lexicon.ts';
import { splitName } from '../words/words.ts';
import { documentTerms, type ExtraTerm, type FieldText, type TermWeight, typeText } from './search-document.ts';

/** Something of a home that has a name. */
export type Entity =
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

/** What can be done with things of a kind, and what of them can be set: `open the big one` rather means a door than a lamp. */
const DEEDS: Readonly<Record<string, string>> = {
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
const DEED_WORTH = 0.7;

/** The terms by which a device, area or sensor is found. */
export function entityTerms(entity: Entity, names: HomeNames): ReadonlyMap<string, TermWeight> {
  if (entity.kind === 'area') return areaTerms(entity.name, names);
  const texts = [
    ...(entity.kind === 'device' ? deviceTexts(entity.device, names) : sensorTexts(entity)),
    ...placeTexts(entity.area, names),
  ];
  const terms = documentTerms(texts, entity.kind === 'sensor' ? [{ field: 'reading', term: READ_TERM, weight: 1 }] : []);
  return entity.kind === 'device' ? new Map([...terms, ...deedsOf(terms)]) : terms;
}

/** Rooms by which devices are grouped, one entity for each, by the first device in it. */
export function areasOf(devices: readonly SearchedDevice[]): ReadonlyMap<string, Pick<SearchedDevice, 'node'> & { readonly name: string }> {
  const areas = new Map<string, Pick<SearchedDevice, 'node'> & { readonly name: string }>();
  for (const { area, node } of devices) {
    if (area !== undefined && !areas.has(areaKey(area))) areas.set(areaKey(area), { name: area, ...(node && { node }) });
  }
  return areas;
}

function deviceTexts({ id, name, deviceTypes, vendor, product, node }: SearchedDevice, names: HomeNames): readonly FieldText[] {
  // What people call devices besides is known of those of this hub.
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
      // Its own name: a device in it has the same words, but they are not its name.
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

function deedsOf(terms: ReadonlyMap<string, TermWeight>): readonly (readonly [string, TermWeight])[] {
  const deeds = Object.entries(DEEDS).flatMap(([kind, list]): readonly ExtraTerm[] => {
    const known = terms.get(concept(kind)) ?? terms.get(neighbourOf(concept(kind)));
    if (!known) return [];
    const own = list.split(' ').filter((term) => !terms.has(term));
    return own.map((term) => ({ term, weight: DEED_WORTH, field: known.field }));
  });
  return deeds.map(({ term, weight, field }) => [term, { weight, field }]);
}
