import { AtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, type JsonSchema, objectOf, textsOf } from '../../core/json.ts';
import type { DeviceView, ReadingView } from '../api/hub-types.ts';
import { capital, humanWords } from '../components/formatting.ts';
import type { IconName } from '../components/icon.ts';
import { hasText, text } from '../texts/text.ts';

/** A tool call that a control makes. */
export interface TileCall {
  readonly tool: string;
  readonly params: JsonObject;
  /** The action of the control, such as `Turn on Hall light`. */
  readonly label: string;
  /** Name of a parameter that only a person knows, such as a lock's PIN. If the tool has this parameter, the page asks for its value. */
  readonly secret?: string;
  /** A parameter whose value is known only to the device, such as its mode for cleaning. The page takes it from the tool's definition. */
  readonly fill?: FilledParameter;
}

/** How the page finds the value of a parameter: the first of the device's choices that contains one of `words`, or its largest number. */
export interface FilledParameter {
  readonly name: string;
  readonly words: readonly string[] | 'maximum';
}

/** A control that turns something on and off. */
export interface SwitchControl {
  readonly kind: 'switch';
  readonly isOn: boolean;
  readonly label: string;
  readonly flip: TileCall;
}

/** A control that sets a number on a scale. */
export interface SliderControl {
  readonly kind: 'slider';
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly unit: string;
  readonly set: (value: number) => TileCall;
}

/** A control that raises and lowers a temperature in steps. */
export interface StepperControl {
  readonly kind: 'stepper';
  readonly label: string;
  readonly value: number;
  readonly step: number;
  readonly unit: string;
  readonly set: (value: number) => TileCall;
}

/** A button with one action. */
export interface TileButton {
  readonly icon: IconName;
  /** The action in a word or two, such as `Unlock`. */
  readonly text: string;
  readonly call: TileCall;
  /** `main`: a tap on the tile's icon does it. `second`: it stands beside the name. Others are shown with all controls only. */
  readonly place?: 'main' | 'second';
}

/** Buttons with one action each. */
export interface ButtonsControl {
  readonly kind: 'buttons';
  readonly buttons: readonly TileButton[];
}

/** A control that selects a colour. */
export interface ColorControl {
  readonly kind: 'color';
  readonly colors: readonly { readonly name: string; readonly call: TileCall }[];
}

/** A control that selects one of the modes that the device lists in the definition of a tool. */
export interface ChoiceControl {
  readonly kind: 'choice';
  readonly label: string;
  readonly value: string;
  readonly tool: string;
  readonly parameter: string;
}

export type TileControl = SwitchControl | SliderControl | StepperControl | ButtonsControl | ColorControl | ChoiceControl;

/** The data from which a tile is made. The keys of `readings` are names of readings. `actions` maps names of actions to tool ids. */
export interface TileSource {
  readonly device: DeviceView;
  readonly readings: ReadonlyMap<string, ReadingView>;
  readonly actions: ReadonlyMap<string, string>;
}

/** Returns the call of one of the device's actions, such as `turn_on`. Returns undefined if the person may not use it. */
export function callOf({ device, actions }: TileSource, action: string, params: JsonObject = {}): TileCall | undefined {
  const tool = actions.get(action);
  return tool === undefined ? undefined : { tool, params, label: actionLabel(action, device.name) };
}

/** Returns an action with its device, such as `Unlock Front door`. */
export function actionLabel(action: string, name: string): string {
  const key = `tiles.do_${action}`;
  return hasText(key) ? text(key, { name }) : `${capital(humanWords(action))} ${name}`;
}

/** Returns an action as the text of a button, such as `Unlock`. */
export function actionText(action: string): string {
  const key = `tiles.short_${action}`;
  return hasText(key) ? text(key) : capital(humanWords(action));
}

/** Returns a button for one of the device's actions. Returns undefined if the person may not use it. */
export function buttonOf(source: TileSource, action: string, icon: IconName): TileButton | undefined {
  const call = callOf(source, action);
  return call && { icon, text: actionText(action), call };
}

/** Returns a row of buttons without the actions that the person may not use; undefined if no button is left. */
export function buttonRow(buttons: readonly (TileButton | undefined)[]): ButtonsControl | undefined {
  const usable = buttons.filter((button) => button !== undefined);
  return usable.length === 0 ? undefined : { kind: 'buttons', buttons: usable };
}

/** Returns a row whose first button is the main action of the tile, and whose second stands beside the name. */
export function mainRow(main: TileButton | undefined, second?: TileButton): ButtonsControl | undefined {
  return buttonRow([main && { ...main, place: 'main' }, second && { ...second, place: 'second' }]);
}

/** Returns the call with the parameter that the device decides, taken from its tool. Throws NOT_SUPPORTED if no value there fits. */
export function filledCall(call: TileCall, parameters: JsonSchema): TileCall {
  if (!call.fill) return call;
  const { name, words } = call.fill;
  const value = fittingValue(objectOf(objectOf(parameters.properties)[name]), words);
  if (value === undefined) throw new AtmoError('NOT_SUPPORTED', text('tiles.no_fitting_mode', { label: call.label }));
  return { ...call, params: { ...call.params, [name]: value } };
}

function fittingValue(field: JsonObject, words: FilledParameter['words']): Json | undefined {
  if (words === 'maximum') return typeof field.maximum === 'number' ? field.maximum : undefined;
  const choices = textsOf(field.enum);
  return words.map((word) => choices.find((choice) => choice.includes(word))).find((found) => found !== undefined);
}
