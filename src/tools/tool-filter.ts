import { AtmoError } from '../core/errors.ts';
import type { Category, RegisteredTool } from './definition/tool-definition.ts';

/** Which tools a list shows; all given conditions hold. */
export interface ToolFilter {
  readonly capability?: string;
  readonly category?: Category;
  readonly device?: string;
  /** True for the areas that are meant; what is in no area is in none of these. */
  readonly isInArea?: (area: string) => boolean;
  /** Every word has to occur in the name, title, description or tags. */
  readonly text?: string;
  readonly createdBy?: 'system' | 'agent';
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  /** Default 0. */
  readonly offset?: number;
  /** 1 to 1,000; default 100. */
  readonly limit?: number;
}

/** One page of a list of tools. */
export interface ToolPage {
  readonly tools: readonly RegisteredTool[];
  /** How many there are without paging. */
  readonly total: number;
  /** Offset of the next page; absent on the last. */
  readonly nextOffset?: number;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** One page of those tools that pass the filter, in the order given. */
export function filterTools(tools: readonly RegisteredTool[], filter: ToolFilter): ToolPage {
  const offset = requireWithin('offset', filter.offset ?? 0, [0, Number.MAX_SAFE_INTEGER]);
  const limit = requireWithin('limit', filter.limit ?? DEFAULT_LIMIT, [1, MAX_LIMIT]);
  const conditions = conditionsOf(filter);
  const passing = conditions.length === 0 ? tools : tools.filter(allOf(conditions));
  const end = offset + limit;
  return { tools: passing.slice(offset, end), total: passing.length, ...(end < passing.length && { nextOffset: end }) };
}

/** Whether a tool passes the filter, paging aside. */
export function passes(filter: ToolFilter): (tool: RegisteredTool) => boolean {
  return allOf(conditionsOf(filter));
}

type Condition = (tool: RegisteredTool) => boolean;

function allOf(conditions: readonly Condition[]): Condition {
  return (tool) => conditions.every((condition) => condition(tool));
}

function conditionsOf(filter: ToolFilter): readonly Condition[] {
  const { capability, category, device, isInArea, text, createdBy, isVisible } = filter;
  const conditions: (Condition | undefined)[] = [
    wants(category, (tool) => tool.definition.metadata.category === category),
    wants(device, (tool) => tool.definition.metadata.device === device),
    isInArea && (({ definition: { metadata } }) => metadata.area !== undefined && isInArea(metadata.area)),
    wants(createdBy, (tool) => tool.definition.metadata.createdBy === createdBy),
    wants(capability, (tool) => tool.definition.requires.capabilities.some((own) => own === capability)),
    wants(text, hasWords(text ?? '')),
    isVisible,
  ];
  return conditions.filter((condition) => condition !== undefined);
}

function wants(value: string | undefined, condition: Condition): Condition | undefined {
  return value === undefined || value === '' ? undefined : condition;
}

function hasWords(text: string): Condition {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (tool) => {
    const haystack = searchText(tool);
    return words.every((word) => haystack.includes(word));
  };
}

const searchTexts = new WeakMap<RegisteredTool, string>();

function searchText(tool: RegisteredTool): string {
  const known = searchTexts.get(tool);
  if (known !== undefined) return known;
  const { name, namespace, description, metadata } = tool.definition;
  const text = [namespace, name, metadata.title, description, ...metadata.tags].join(' ').toLowerCase();
  searchTexts.set(tool, text);
  return text;
}

function requireWithin(name: string, value: number, [low, high]: readonly [number, number]): number {
  if (Number.isSafeInteger(value) && value >= low && value <= high) return value;
  throw new AtmoError('VALIDATION_ERROR', `${name} has to be a whole number from ${low} to ${high}`);
}
