import { RECIPES } from '../recipes/recipe-table.ts';
import type { ToolEntry } from './capability-file.ts';

/** Commands and attributes that a tool of a capability file may touch. */
export function elementsOf(tool: ToolEntry): readonly string[] {
  if (tool.command !== undefined) return [tool.command];
  return tool.recipe === undefined ? (tool.write ?? []) : RECIPES[tool.recipe].elements;
}
