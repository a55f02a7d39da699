import { optionalSection } from '../../core/config/config-section.ts';

/** Settings that apply if the configuration has no `connectors.collections`. */
export const COLLECTIONS_DEFAULT = { maxParts: 20_000 } as const;

/** JSON Schema of `connectors.collections`. */
export const COLLECTIONS_SECTION = optionalSection({
  max_parts: {
    type: 'integer',
    minimum: 1,
    maximum: 500_000,
    default: COLLECTIONS_DEFAULT.maxParts,
    description: 'Parts of documents in all collections, each about a thousand characters; a search looks at all of a collection',
  },
});
