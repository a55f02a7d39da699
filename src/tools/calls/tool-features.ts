import type { Principal } from '../../core/access/principal.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { allNamesOf } from '../definition/tool-name.ts';

/** Tools that need more than a permission (source 002 §2.7, `toolToSubscriptionFeatures`). */
export interface ToolFeatures {
  /** Features by canonical id, `namespace:name` or bare name, present or former, of the tool that needs them. */
  readonly required: Readonly<Record<string, readonly string[]>>;
  /** What a caller has. */
  readonly granted: (principal: Principal) => readonly string[];
}

/** The features that the tool needs and the caller has not. */
export function missingFeatures(features: ToolFeatures, tool: RegisteredTool, principal: Principal): readonly string[] {
  // The owner gives features to others, and cannot lock himself out.
  if (principal.kind === 'owner' || Object.keys(features.required).length === 0) return [];
  const required = allNamesOf(tool).flatMap((key) => featuresFor(features.required, key));
  if (required.length === 0) return [];
  const granted = features.granted(principal);
  return [...new Set(required)].filter((feature) => !granted.includes(feature));
}

function featuresFor(required: ToolFeatures['required'], key: string): readonly string[] {
  return Object.hasOwn(required, key) ? (required[key] ?? []) : [];
}
