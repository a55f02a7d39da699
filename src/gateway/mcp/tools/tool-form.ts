import type { JsonObject, JsonSchema } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import { toMcp } from '../../../tools/forms/tool-export.ts';
import { NEEDS_APPROVAL } from '../../../tools/registration/composed-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../../tools/schema/plain-json.ts';
import { mapSchema } from '../../../tools/schema/schema-walk.ts';
import { iconsOf } from './tool-icons.ts';

/** Definitions never change, so that each is turned into its form once. */
const forms = new WeakMap<RegisteredTool, JsonObject>();

/** A tool as MCP lists it: units and an example in words, all four annotations, an icon. `name` is the model-facing one. */
export function toolForm(tool: RegisteredTool, name: string): JsonObject {
  const known = forms.get(tool);
  if (known?.name === name) return known;
  const { definition } = tool;
  const parameters = withUnitsInWords(definition.parameters);
  const { annotations, ...form } = toMcp({ ...definition, description: descriptionOf(tool), parameters }, name);
  // The title stands beside them already.
  const { title: _, ...declared } = annotations;
  // What waits for people by one of its steps is as destructive as that step.
  const hints = { ...declared, destructiveHint: declared.destructiveHint || definition.metadata.tags.includes(NEEDS_APPROVAL) };
  const made = copyJsonObject({ ...form, annotations: hints, icons: iconsOf(definition.metadata.category) }, RESULT_LIMITS);
  forms.set(tool, made);
  return made;
}

/** The same in few tokens: without icons, and without the schema of an answer that explains itself. */
export function shortToolForm(tool: RegisteredTool, name: string): JsonObject {
  const { icons: _, outputSchema: __, ...form } = toolForm(tool, name);
  return form;
}

/** The description with an example of the arguments where it gives none yet. */
function descriptionOf({ definition }: RegisteredTool): string {
  const [example] = definition.metadata.examples;
  if (!example || Object.keys(example.params).length === 0) return definition.description;
  return `${definition.description} Example: ${JSON.stringify(example.params)}`;
}

/** `x-unit` is ours: a model learns the unit from the description. */
function withUnitsInWords(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (child) => {
    const { 'x-unit': unit, description = '' } = child;
    if (typeof unit !== 'string' || typeof description !== 'string' || saysUnit(description, unit)) return child;
    return { ...child, description: `${description}${description === '' ? 'In' : ', in'} ${unit}` };
  });
}

const WORDS: Readonly<Record<string, string>> = { '%': 'percent', s: 'second', K: 'kelvin', '°': 'degree', '°C': 'celsius' };

/** By itself, as in `0 to 100 %`, or as a word. */
function saysUnit(description: string, unit: string): boolean {
  const word = WORDS[unit];
  const parts = description.split(/[\s,;().]+/);
  return parts.includes(unit) || (word !== undefined && description.toLowerCase().includes(word));
}
