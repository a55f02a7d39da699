import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { ALSO_ACCEPTED } from '../../tools/schema/schema-walk.ts';
import type { ClusterView } from '../compile/cluster-view.ts';
import { type DevicePlan, invoke } from '../compile/compiled-device.ts';
import { CONVERTERS } from '../values/converters.ts';
import {
  type Chromaticity,
  COLOR_NAMES,
  chromaticityToRgb,
  type HueSaturation,
  hueSaturationToRgb,
  kelvinToChromaticity,
  parseColor,
  type Rgb,
  rgbToChromaticity,
  rgbToHueSaturation,
} from './color.ts';
import { ALSO_WHILE_OFF, type Recipe, type RecipeParameters, transitionParameter, transitionTime } from './recipe.ts';

type WantedColor = { readonly rgb: Rgb } | { readonly kelvin: number } | { readonly hueSaturation: HueSaturation };

/**
 * Sets a colour. The caller gives a name, RGB, hue and saturation, or a colour temperature. The recipe sends the colour in a form that the
 * light supports (Application Clusters §3.2).
 */
export const setColor: Recipe = {
  cluster: 'ColorControl',
  elements: ['MoveToHueAndSaturation', 'MoveToColor', 'MoveToColorTemperature'],
  isOffered: (view) => view.command('MoveToHueAndSaturation') !== undefined || view.command('MoveToColor') !== undefined,
  parameters,
  plan(params, view) {
    const common = { TransitionTime: transitionTime(params), ...ALSO_WHILE_OFF };
    return planFor(wantedColor(params), view, common);
  },
};

const channel = { type: 'integer', minimum: 0, maximum: 255 };
const rgb = {
  type: 'object',
  properties: { r: channel, g: channel, b: channel },
  required: ['r', 'g', 'b'],
  additionalProperties: false,
};

/**
 * Schema of a colour as text. The handler also accepts an object with `r`, `g` and `b`. The public schema omits this form, because some LLM
 * adapters would then keep only the object form.
 */
export const COLOR_SCHEMA = {
  type: 'string',
  maxLength: 40,
  description: `Color as a word (${COLOR_NAMES.slice(0, 8).join(', ')}, warm white, …) or as #rrggbb. Example: "red"`,
  [ALSO_ACCEPTED]: [rgb],
} as const;

function parameters(view: ClusterView): RecipeParameters {
  const range = whiteRange(view);
  return {
    properties: {
      color: COLOR_SCHEMA,
      hue: {
        type: 'number',
        minimum: 0,
        maximum: 360,
        'x-unit': '°',
        description: 'Hue in degrees: 0 red, 120 green, 240 blue. Example: 30',
      },
      saturation: {
        type: 'number',
        minimum: 0,
        maximum: 100,
        'x-unit': '%',
        description: 'Saturation in percent: 0 white, 100 full color. With hue; 100 without',
      },
      ...(range && {
        kelvin: {
          type: 'integer',
          ...range,
          'x-unit': 'K',
          description: `White light of this temperature in kelvin (${range.minimum} warm to ${range.maximum} cold). Example: ${range.minimum}`,
        },
      }),
      transition_seconds: transitionParameter,
    },
    example: { color: 'red' },
  };
}

/** Returns the colour temperature range of a light in kelvin; undefined for a light without white. */
function whiteRange(view: ClusterView): { readonly minimum: number; readonly maximum: number } | undefined {
  const field = view.attribute('ColorTemperatureMireds');
  if (!field || !view.command('MoveToColorTemperature')) return undefined;
  const min = view.liveNumber('ColorTempPhysicalMinMireds') || 100;
  const max = view.liveNumber('ColorTempPhysicalMaxMireds') || 1000;
  const schema = CONVERTERS.kelvin.schema({ schema: { type: 'integer', minimum: 1, maximum: 65_279 }, min, max });
  return { minimum: Number(schema.minimum), maximum: Number(schema.maximum) };
}

function wantedColor(params: JsonObject): WantedColor {
  requireOneWay(params);
  const color = params.color;
  if (typeof color === 'string') return parseColor(color);
  if (isJsonObject(color)) return { rgb: { r: Number(color.r), g: Number(color.g), b: Number(color.b) } };
  if (typeof params.hue === 'number') return { hueSaturation: { hue: params.hue, saturation: Number(params.saturation ?? 100) } };
  return { kelvin: Number(params.kelvin) };
}

/** Throws VALIDATION_ERROR unless the colour is given in exactly one form. If it were given in two forms, one would be ignored. */
function requireOneWay(params: JsonObject): void {
  const ways = ['color', 'hue', 'kelvin'].filter((name) => params[name] !== undefined);
  const isAlone = params.saturation === undefined || params.hue !== undefined;
  if (ways.length === 1 && isAlone) return;
  const given = [...ways, ...(isAlone ? [] : ['saturation'])];
  const what = given.length === 0 ? 'nothing' : given.join(' and ');
  throw new AtmoError(
    'VALIDATION_ERROR',
    `Give the color in one way: color, hue (with saturation if wanted), or kelvin; this call has ${what}`,
    { given },
  );
}

function planFor(wanted: WantedColor, view: ClusterView, common: JsonObject): DevicePlan {
  if ('kelvin' in wanted && view.command('MoveToColorTemperature')) return whitePlan(wanted.kelvin, view, common);
  if (view.command('MoveToHueAndSaturation')) return huePlan(hueSaturationOf(wanted), view, common);
  return chromaticityPlan(chromaticityOf(wanted), view, common);
}

function whitePlan(kelvin: number, view: ClusterView, common: JsonObject): DevicePlan {
  const range = whiteRange(view);
  const within = range ? Math.min(Math.max(kelvin, range.minimum), range.maximum) : kelvin;
  const fields = { ColorTemperatureMireds: Math.round(1_000_000 / within), ...common };
  return {
    steps: [invoke(view, 'MoveToColorTemperature', fields)],
    target: { color_mode: 'color_temperature', color_temperature: within },
  };
}

function huePlan({ hue, saturation }: HueSaturation, view: ClusterView, common: JsonObject): DevicePlan {
  const fields = { Hue: Math.round((hue * 254) / 360) % 254, Saturation: Math.round(saturation * 2.54), ...common };
  return {
    steps: [invoke(view, 'MoveToHueAndSaturation', fields)],
    target: { hue: Math.round((fields.Hue * 360) / 254), saturation: Math.round(fields.Saturation / 2.54) },
  };
}

function chromaticityPlan({ x, y }: Chromaticity, view: ClusterView, common: JsonObject): DevicePlan {
  const fields = { ColorX: Math.round(x * 65_536), ColorY: Math.round(y * 65_536), ...common };
  return { steps: [invoke(view, 'MoveToColor', fields)], target: { color_x: round4(x), color_y: round4(y) } };
}

function hueSaturationOf(wanted: WantedColor): HueSaturation {
  if ('hueSaturation' in wanted) return wanted.hueSaturation;
  return rgbToHueSaturation('rgb' in wanted ? wanted.rgb : chromaticityToRgb(kelvinToChromaticity(wanted.kelvin)));
}

function chromaticityOf(wanted: WantedColor): Chromaticity {
  if ('kelvin' in wanted) return kelvinToChromaticity(wanted.kelvin);
  return rgbToChromaticity('rgb' in wanted ? wanted.rgb : hueSaturationToRgb(wanted.hueSaturation));
}

function round4(value: number): number {
  return Number(value.toFixed(4));
}
