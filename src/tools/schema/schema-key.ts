import type { JsonSchema } from '../../core/json.ts';
import { canonicalJson } from '../../wire/canonical-json.ts';
import { sha256Hex } from '../../wire/hashes.ts';
import { copyJson } from './plain-json.ts';
import { ALSO, mapSchema } from './schema-walk.ts';

const ANNOTATIONS = new Set(['$schema', '$id', '$comment', 'title', 'description', 'examples', 'deprecated', 'readOnly', 'writeOnly']);

/**
 * A schema without what only people read: titles, descriptions, examples and `x-` keywords. It accepts the same values, those of `x-also`
 * included.
 */
export function withoutAnnotations(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (child) => {
    const { default: fallback, ...rules } = Object.fromEntries(
      Object.entries(child).filter(([keyword]) => !ANNOTATIONS.has(keyword) && !keyword.startsWith('x-')),
    );
    const also: unknown = child[ALSO];
    return { ...(Array.isArray(also) ? { anyOf: [rules, ...also] } : rules), ...(fallback !== undefined && { default: fallback }) };
  });
}

/** SHA-256, hex, of the RFC 8785 form of a schema: equal for schemas that differ in annotations or member order only. */
export function schemaKey(schema: JsonSchema): string {
  return sha256Hex(canonicalJson(copyJson(withoutAnnotations(schema), { maxSize: 1_000_000, maxDepth: 64 })));
}
